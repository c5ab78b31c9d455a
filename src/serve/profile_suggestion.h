// The engine that runs in the pods of a trigger without a profile, and when to search for one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "scaling/decision.h"
#include "trigger/recommended_profile.h"

namespace gpuscaler {

// A search lasts a minute. The pauses between searches double, from one minute to an hour, so that
// workloads without an engine cost their agents next to nothing. A new replica ends the pause, and
// the next one is a minute again. Thread-safe.
class ProfileSuggestion {
 public:
  // Returns the end of the search that is under way or begins now. Returns nothing for a second
  // after that, during a pause, and once an engine was found.
  std::optional<absl::Time> Search(absl::Time now);

  // Returns true if Search() would return an end.
  bool IsDue(absl::Time now) const;

  // Takes the replicas of a new decision. One that the last call did not have ends the pause.
  void Decided(const std::vector<Contribution>& replicas);

  // Takes the profile for an engine that was found, and ends all searches. Returns false if it has
  // one already, which stays.
  bool Found(const RecommendedProfile& recommended);

  // Returns "engines of vLLM found in this workload's pods: profile vllm-inference ...", or "" if
  // no engine was found.
  std::string Note() const;

 private:
  static constexpr absl::Duration kFirstPause = absl::Minutes(1);

  bool IsDueLocked(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::Time until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // the end of the newest search
  absl::Time next_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time searched_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_) = kFirstPause;
  // Sorted hashes of the replicas' names. Empty before the first decision.
  std::optional<std::vector<size_t>> replicas_ ABSL_GUARDED_BY(mutex_);
  const RecommendedProfile* recommended_ ABSL_GUARDED_BY(mutex_) =
      nullptr;  // null: no engine was found
};

}  // namespace gpuscaler
