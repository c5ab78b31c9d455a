// The engine that runs in the pods of a trigger without a profile, and when to look for one.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "trigger/suited_profile.h"

namespace gpuscaler {

// Looks are a minute long. The pauses between them double, from one minute to an hour, so that
// workloads without an engine cost their agents next to nothing. Thread-safe.
class ProfileSuggestion {
 public:
  // Returns the end of the look that is under way or begins now. Returns nothing during a pause,
  // and once an engine was found.
  std::optional<absl::Time> Look(absl::Time now);

  // Returns true if Look() would return an end.
  bool IsDue(absl::Time now) const;

  // Returns true the first time.
  bool Found(const SuitedProfile& suited);

  // Returns "engines of vLLM found in this workload's pods: profile vllm-inference ...", or "" if
  // no engine was found.
  std::string Note() const;

 private:
  bool IsDueLocked(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::Time until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // the end of the newest look
  absl::Time next_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_) = absl::Minutes(1);
  const SuitedProfile* suited_ ABSL_GUARDED_BY(mutex_) = nullptr;  // null: no engine was found
};

}  // namespace gpuscaler
