// What one source has said, for as long as questions look back on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "engine/engine_group.h"
#include "model/signal_history.h"
#include "model/signal_source.h"
#include "series/number_timeline.h"
#include "series/scraped_group.h"
#include "signal/source_leases.h"

namespace gpuscaler {

// What has changed of a source, without what it said.
struct SignalVersion {
  int64_t generation = 0;  // SignalHistory's
  bool is_none = false;    // it is of engines, and there are none
};

// Thread-safe: a long answer of one source holds up no other.
class StoredSource {
 public:
  // What it counts as news begins behind `generation`.
  StoredSource(SignalSource source, absl::Time read_since, int64_t generation);

  // As EngineGroup's, ScrapedGroup's and NumberTimeline's; true: it is news.
  bool ListEngines(const absl::StatusOr<std::vector<EnginePlace>>& places, absl::Time at,
                   const std::vector<WithoutEngine>& without,
                   const CapacityRecords& capacity_records);
  bool TakeEngine(const EnginePlace& place, const EngineUpdate& update);
  bool ListPages(const absl::StatusOr<std::vector<std::string>>& addresses);
  bool TakePage(const std::string& address, const absl::StatusOr<CounterPoint>& point);
  bool TakeNumber(const absl::StatusOr<CounterPoint>& point, const std::string& note);

  // From now on no more is kept than what these take.
  void KeepFor(const SourceLeases& leases);

  SignalHistory Answer(const EngineQuestion& question, absl::Time now, absl::Duration longest_gap,
                       absl::FunctionRef<bool(const EnginePlace&)> counts) const;

  // Answer()'s generation, without what was said.
  SignalVersion Updates(absl::FunctionRef<bool(const EnginePlace&)> counts) const;

  absl::Time read_since() const { return read_since_; }

  // Of memory, about: what was said, and what it takes to have it read.
  size_t Bytes() const { return bytes_; }

 private:
  void Weigh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t GenerationOf(absl::FunctionRef<bool(const EnginePlace&)> counts) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SignalSource source_;
  const absl::Time read_since_;
  const int64_t first_generation_;
  std::atomic<size_t> bytes_ = 0;
  mutable Mutex mutex_;
  absl::Duration look_back_ ABSL_GUARDED_BY(mutex_);
  std::variant<EngineGroup, ScrapedGroup, NumberTimeline> observed_ ABSL_GUARDED_BY(mutex_);
  int64_t update_ ABSL_GUARDED_BY(mutex_) = 0;  // of a page or a queue; engines count their own
};

}  // namespace gpuscaler
