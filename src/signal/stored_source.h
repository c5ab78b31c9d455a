// The history of one source, as far back as queries look.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "engine/engine_group.h"
#include "engine/number_timeline.h"
#include "engine/scraped_group.h"
#include "model/signal_history.h"
#include "model/signal_source.h"
#include "signal/source_needs.h"

namespace gpuscaler {

// The version of a source's history, without the history.
struct SignalVersion {
  int64_t generation = 0;       // SignalHistory's
  bool has_no_engines = false;  // a source of engines that has none
};

// Thread-safe. A long answer for one source blocks no other source.
class StoredSource {
 public:
  // Generations of this history start after `generation`.
  StoredSource(SignalSource source, absl::Time read_since, int64_t generation);

  // Calls `apply` with the history, which must be an `Observed`, and with how much of it is kept.
  // `apply` must return true if the history changed, and so does Update().
  template <typename Observed>
  bool Update(absl::FunctionRef<bool(Observed&, absl::Duration look_back)> apply) {
    MutexLock lock(mutex_);
    const bool has_changed = apply(std::get<Observed>(observed_), look_back_);
    if (has_changed) ++version_;
    UpdateBytes();
    return has_changed;
  }

  // From now on keeps only what is needed.
  void KeepFor(const SourceNeeds& needs);

  SignalHistory Answer(const EngineQuery& query, absl::Time now, absl::Duration max_gap,
                       absl::FunctionRef<bool(const EngineAddress&)> includes) const;

  // Returns the generation that Answer() would return, without the history.
  SignalVersion Version(absl::FunctionRef<bool(const EngineAddress&)> includes) const;

  absl::Time read_since() const { return read_since_; }

  // Returns the approximate memory of the history and of reading it.
  size_t Bytes() const { return bytes_; }

 private:
  void UpdateBytes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t GenerationOf(absl::FunctionRef<bool(const EngineAddress&)> includes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SignalSource source_;
  const absl::Time read_since_;
  const int64_t first_generation_;
  std::atomic<size_t> bytes_ = 0;
  mutable Mutex mutex_;
  absl::Duration look_back_ ABSL_GUARDED_BY(mutex_);
  std::variant<EngineGroup, ScrapedGroup, NumberTimeline> observed_ ABSL_GUARDED_BY(mutex_);
  int64_t version_ ABSL_GUARDED_BY(mutex_) = 0;  // unused for engines, which count their own
};

}  // namespace gpuscaler
