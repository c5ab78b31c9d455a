// What engines, pages of metrics and queues said: the signals that triggers want, each read once
// for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"
#include "model/signal_source.h"
#include "signal/engine_group.h"
#include "signal/number_timeline.h"

namespace gpuscaler {

// A source that is to be read.
struct WantedSignal {
  SignalSource source;
  bool histograms = false;  // of its engines' pages
};

// A source is kept while somebody wants it, and forgotten with all that it said when nobody does;
// what is told of others is dropped. Who reads them tells what they found, who decides asks.
// Thread-safe. All times are of one clock.
class SignalStore {
 public:
  struct Limits {
    absl::Duration every;        // how often a source is read
    absl::Duration longest_gap;  // readings farther apart say nothing of the time between them
    size_t most_sources = 5000;  // tenants name them
  };
  // Called without a lock held.
  struct Listener {
    std::function<void()> wanted;   // there is a source more to read
    std::function<void()> changed;  // there is news
  };
  SignalStore(const Limits& limits, Listener listener);

  // A lease: the source is read until then, and what it says kept as far as the question looks
  // back. Never shortens a longer one. Of pages and queues the question's times alone count.
  // RESOURCE_EXHAUSTED: there are too many.
  absl::Status Want(const SignalSource& source, const EngineQuestion& question, absl::Time now,
                    absl::Time until);

  // All that is wanted now; leases that ended are forgotten.
  std::vector<WantedSignal> AllWanted(absl::Time now);

  // EngineGroup::List() and Take().
  void ListEngines(const SignalSource& source,
                   const absl::StatusOr<std::vector<EnginePlace>>& places);
  void TakeEngine(const SignalSource& source, const EnginePlace& place, const EngineNews& news);

  // Of a page or a queue: its number, or what the counter of a rate stands at (SeriesGrowth).
  void TakeNumber(const SignalSource& source, const absl::StatusOr<CounterPoint>& point);

  // What the source said; of engines, those that `counts` is true for. UNAVAILABLE: it is not
  // wanted, or not read yet.
  SignalHistory Of(
      const SignalSource& source, const EngineQuestion& question, absl::Time now,
      absl::FunctionRef<bool(const EnginePlace&)> counts = [](const EnginePlace&) {
        return true;
      }) const;

  int64_t Generation() const;  // counts up with all news
  // Those that had news behind `generation`.
  std::vector<SignalSource> ChangedSince(int64_t generation) const;

 private:
  struct Kept {
    absl::Time until = absl::InfinitePast();
    absl::Time read_since;
    absl::Duration look_back;
    bool histograms = false;
    int64_t changed_at = 0;  // its newest generation
    std::variant<EngineGroup, NumberTimeline> said;
  };
  using Sources = std::map<SignalSource, Kept>;

  static Kept KeptFor(const SignalSource& source, absl::Time now);
  static void Renew(const EngineQuestion& question, absl::Time until, Kept& kept);
  void Sweep(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What `tell` has to say of the source, while it is wanted; true: it is news.
  void Tell(const SignalSource& source, absl::FunctionRef<bool(Kept& kept)> tell);

  const Limits limits_;
  const Listener listener_;
  mutable Mutex mutex_;
  Sources sources_ ABSL_GUARDED_BY(mutex_);
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gpuscaler
