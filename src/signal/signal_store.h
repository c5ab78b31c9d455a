// Stores the signals of engines, metrics endpoints and queues. Triggers that use the same source
// share one set of readings.
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
#include "base/lease_set.h"
#include "base/mutex.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"
#include "model/signal_source.h"
#include "signal/signal_counts.h"
#include "signal/source_needs.h"
#include "signal/stored_source.h"

namespace gpuscaler {

// A source that a poller must read.
struct LeasedSource {
  SignalSource source;
  bool needs_histograms = false;  // engines only
  absl::Duration look_back;       // how far back the queries look
  absl::Time since;               // earlier readings are dropped
};

// A source is stored while a lease on it is active, and only as much of it as the leases need.
// Updates of other sources are dropped. Tenants choose the sources, so each namespace has a quota.
// A source beyond the quota is refused. When memory runs out, the store evicts the largest source
// and reads it again once there is room. Pollers write, evaluators read. Thread-safe. All times
// must come from one clock.
class SignalStore {
 public:
  struct Limits {
    absl::Duration max_gap;  // the time between readings farther apart does not count
    size_t max_sources = 5000;
    size_t max_sources_per_namespace = 1000;
    // Memory. 300 engines of a profile that looks back 5 min take 25 MiB, 1,000 engines of a
    // latency profile about 100 MiB. The chart gives the whole aggregator 1 GiB.
    size_t max_bytes = size_t{256} << 20;
    size_t max_bytes_per_namespace = size_t{64} << 20;
  };
  // `on_new_source` is called, without a lock held, when a source was added that no poller reads
  // yet.
  SignalStore(const Limits& limits, std::function<void()> on_new_source);

  // Leases the source until `until`. While the lease is active, the source is read and its history
  // is kept as far back as `query` looks. Never shortens a longer lease. For metrics endpoints
  // and queues only the times of `query` matter. Returns RESOURCE_EXHAUSTED if the store or the
  // namespace has too many sources, or no memory for another query. A source that is not stored
  // yet is then refused, and HistoryOf() returns the same error.
  absl::Status Lease(const SignalSource& source, const EngineQuery& query, absl::Time now,
                     absl::Time until);

  // Removes expired leases, and sources without a lease.
  std::vector<LeasedSource> LeasedSources(absl::Time now);

  // As EngineGroup::SetEngines() and EngineGroup::AddReading().
  void SetEngines(const SignalSource& source,
                  const absl::StatusOr<std::vector<EngineAddress>>& engines, absl::Time at,
                  std::shared_ptr<const std::vector<MissingEngine>> missing_engines = nullptr,
                  const CapacityRecords& capacity_records = {});
  void AddReading(const SignalSource& source, const EngineAddress& engine_address,
                  const EngineUpdate& update);

  // As ScrapedGroup::SetAddresses() and ScrapedGroup::AddSample(). A point is the number at one
  // address, or for a rate the growth of its counters there (SeriesGrowth).
  void SetEndpointAddresses(const SignalSource& source,
                            const absl::StatusOr<std::vector<std::string>>& addresses);
  void AddSample(const SignalSource& source, const std::string& address,
                 const absl::StatusOr<CounterPoint>& point);

  // As NumberTimeline::AddPoint(), for a queue.
  void AddQueueLength(const SignalSource& source, const absl::StatusOr<CounterPoint>& point,
                      const std::string& note = "");

  // Returns true for the engines that a caller uses.
  using EngineFilter = absl::FunctionRef<bool(const EngineAddress&)>;
  static bool AllEngines(const EngineAddress&) { return true; }

  // UNAVAILABLE: the source has no lease, or has not been read yet. RESOURCE_EXHAUSTED: there is no
  // room for it or for its history.
  SignalHistory HistoryOf(const SignalSource& source, const EngineQuery& query, absl::Time now,
                          EngineFilter includes = AllEngines) const;

  // Returns the generation that HistoryOf() would return, without copying the history.
  SignalVersion VersionOf(const SignalSource& source, EngineFilter includes = AllEngines) const;

  // Counts updates of stored sources only.
  SignalCountsByKind Counts() const;

  int64_t Generation() const;  // increases with each update; not a history's generation
  std::vector<SignalSource> ChangedSince(int64_t generation) const;

 private:
  struct Entry {
    LeaseSet<SourceNeeds> leases;  // one for each different query
    SourceNeeds needs;             // the union of their needs
    std::shared_ptr<StoredSource> history;
    absl::Time read_at;  // last success, or when it was added
    size_t bytes = 0;    // counted in its namespace's usage
    bool is_evicted = false;
    size_t evicted_bytes = 0;        // its bytes when it was evicted; 0: it needs less by now
    int64_t changed_generation = 0;  // Generation() of its last update
  };
  using Sources = std::map<SignalSource, Entry>;  // the sources of a namespace are adjacent
  struct Usage {
    size_t sources = 0;
    size_t bytes = 0;
  };

  bool HasRoomFor(const std::string& namespace_name, size_t bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // An error names the reason why the namespace may not add a source or grow.
  absl::Status CheckQuota(const std::string& namespace_name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OverMemoryQuota(const std::string& namespace_name) const;

  // Starts an empty history.
  void ResetHistory(const SignalSource& source, Entry& entry, absl::Time read_since)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Entry& Add(const SignalSource& source, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Renew(const SignalSource& source, Entry& entry, const EngineQuery& query,
                     absl::Time until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes expired leases, and sources without a lease.
  void RemoveExpired(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Updates the memory usage. Evicts the largest source, possibly this one, if it is over a limit.
  void EnforceLimits(const SignalSource& source, Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UpdateUsage(const SignalSource& source, Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EvictLargest(const std::string& namespace_name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Readmit(const SignalSource& source, Entry& entry, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Calls StoredSource::Update() if the source is stored.
  template <typename Observed>
  void Record(const SignalSource& source, const SignalAttempt& attempt,
              absl::FunctionRef<bool(Observed&, absl::Duration look_back)> apply);
  void Count(const SignalSource& source, const SignalAttempt& attempt, Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const std::function<void()> on_new_source_;
  mutable Mutex mutex_;
  Sources sources_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Usage> usage_ ABSL_GUARDED_BY(mutex_);  // key: namespace
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;                    // sum over all namespaces
  SignalCountsByKind counts_ ABSL_GUARDED_BY(mutex_);           // only `read` and `failed` are used
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Makes the history UNAVAILABLE if a node for which `concerns` returns true has not reported yet.
// Other missing nodes are ignored.
void MarkAwaited(absl::FunctionRef<bool(const std::string& node)> concerns, SignalHistory& history);

}  // namespace gpuscaler
