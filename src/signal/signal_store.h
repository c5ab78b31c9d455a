// What engines, pages of metrics and queues said: the signals that triggers want, each read once
// for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"
#include "model/signal_source.h"
#include "signal/signal_counts.h"
#include "signal/source_leases.h"
#include "signal/stored_source.h"

namespace gpuscaler {

// A source that is to be read.
struct SubscribedSignal {
  SignalSource source;
  bool histograms = false;   // of its engines' pages
  absl::Duration look_back;  // how much of the past is asked for
  absl::Time since;          // it said nothing before
};

// A source is kept while somebody wants it, and as much of it as those take; what is told of others
// is dropped. Tenants name them, so each namespace has a share of its own: a source more than that
// is refused, and when what is kept takes more memory the largest one is given up until there is
// room for it. Who reads them tells what they found, who decides asks. Thread-safe. All times are
// of one clock.
class SignalStore {
 public:
  struct Limits {
    absl::Duration longest_gap;  // readings farther apart say nothing of the time between them
    size_t most_sources = 5000;
    size_t most_sources_of_namespace = 1000;
    // Of memory. 300 engines of a profile that looks back 5 min take 25 MiB, and 1,000 of a latency
    // some 100 MiB; the chart lets an aggregator have 1 GiB for all that it does.
    size_t most_bytes = size_t{256} << 20;
    size_t most_bytes_of_namespace = size_t{64} << 20;
  };
  // `wanted` is called without a lock held when there is a source more to read.
  SignalStore(const Limits& limits, std::function<void()> wanted);

  // A lease: the source is read until then, and what it says kept as far as the question looks
  // back. Never shortens a longer one. Of pages and queues the question's times alone count.
  // RESOURCE_EXHAUSTED: there are too many, or its namespace has too many; Of() says so as well.
  absl::Status Want(const SignalSource& source, const EngineQuestion& question, absl::Time now,
                    absl::Time until);

  // All that is to be read now. What only leases took that have ended is forgotten.
  std::vector<SubscribedSignal> AllSubscribed(absl::Time now);

  // EngineGroup::List() and Take().
  void ListEngines(const SignalSource& source,
                   const absl::StatusOr<std::vector<EnginePlace>>& places, absl::Time at,
                   const std::vector<WithoutEngine>& without = {},
                   const CapacityRecords& capacity_records = {});
  void TakeEngine(const SignalSource& source, const EnginePlace& place, const EngineUpdate& update);

  // ScrapedGroup::List() and Take(): a page's number at one address, or of a rate what its counters
  // have grown by there (SeriesGrowth).
  void ListPages(const SignalSource& source,
                 const absl::StatusOr<std::vector<std::string>>& addresses);
  void TakePage(const SignalSource& source, const std::string& address,
                const absl::StatusOr<CounterPoint>& point);

  // NumberTimeline::Take() of a queue.
  void TakeNumber(const SignalSource& source, const absl::StatusOr<CounterPoint>& point,
                  const std::string& note = "");

  // Of engines, those that are asked about.
  using EngineFilter = absl::FunctionRef<bool(const EnginePlace&)>;
  static bool AllCount(const EnginePlace&) { return true; }

  // What the source said. UNAVAILABLE: it is not wanted, or not read yet. RESOURCE_EXHAUSTED: there
  // is no room for it, or for what it says.
  SignalHistory Of(const SignalSource& source, const EngineQuestion& question, absl::Time now,
                   EngineFilter counts = AllCount) const;

  // Of that the generation, for less: what was said is not copied.
  SignalVersion VersionOf(const SignalSource& source, EngineFilter counts = AllCount) const;

  // Of what was told of sources that were wanted, and could be kept.
  SignalCountsByKind Counts() const;

  int64_t Generation() const;  // counts up with all news; no history's
  // Those that had news behind such a one.
  std::vector<SignalSource> ChangedSince(int64_t generation) const;

 private:
  struct Kept {
    SourceLeases leases;
    std::shared_ptr<StoredSource> source;
    absl::Time read_at;      // it was last, or else first wanted
    size_t bytes = 0;        // counted in its namespace's share
    size_t given_up_at = 0;  // bytes; 0: there was room for it
    int64_t changed_at = 0;  // by Generation()
  };
  using Sources = std::map<SignalSource, Kept>;  // those of a namespace side by side
  struct Share {
    size_t sources = 0;
    size_t bytes = 0;
  };

  bool HasRoomFor(const std::string& namespace_name, size_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Why there is none for one more of this namespace, or for more of one.
  absl::Status RefusalOf(const std::string& namespace_name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NoMemoryFor(const std::string& namespace_name) const;

  // Nothing that it said before counts.
  void Begin(const SignalSource& source, Kept& kept, absl::Time read_since)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Kept& Add(const SignalSource& source, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Renew(const SignalSource& source, Kept& kept, const EngineQuestion& question,
                     absl::Time until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndLeases(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Counts what it takes by now, and gives others up, or itself, when that is too much.
  void Weigh(const SignalSource& source, Kept& kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountIn(const SignalSource& source, Kept& kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveUpLargest(const std::string& namespace_name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeBack(const SignalSource& source, Kept& kept, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // What `tell` has to say of the source, while it is wanted; true: it is news.
  void Tell(const SignalSource& source, const SignalAttempt& attempt,
            absl::FunctionRef<bool(StoredSource& kept)> tell);
  void Count(const SignalSource& source, const SignalAttempt& attempt, Kept& kept)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const std::function<void()> wanted_;
  mutable Mutex mutex_;
  Sources sources_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Share> shares_ ABSL_GUARDED_BY(mutex_);  // by namespace
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;                     // of all of them
  SignalCountsByKind counts_ ABSL_GUARDED_BY(mutex_);            // read and failed alone
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

// For who is concerned by these nodes alone: what they have not told yet is not known, and what
// others have not told holds nobody up.
void AwaitNodes(absl::FunctionRef<bool(const std::string& node)> concerns, SignalHistory& history);

}  // namespace gpuscaler
