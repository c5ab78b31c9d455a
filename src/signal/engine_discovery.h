// Discovers and reads the inference engines in this node's GPU pods while a client subscribes to
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "engine/capacity_records.h"
#include "engine/engine_poller.h"
#include "model/snapshot_store.h"
#include "signal/engine_search.h"
#include "signal/engine_subscription.h"
#include "signal/found_engines.h"
#include "workload/node_folders.h"

namespace gpuscaler {

// The subscriber, called on one thread. Must not block.
class EngineSubscriber {
 public:
  virtual ~EngineSubscriber() = default;
  virtual EngineSubscription Subscription(absl::Time now) = 0;
  // Called when the list or the subscription has changed. An error is the reason why no engine can
  // be found on this node.
  virtual void SetEngines(const absl::StatusOr<NodeEngines>& found, absl::Time at) = 0;
  // Called with a reading of a listed engine.
  virtual void AddReading(const EngineAddress& engine_address, const EngineUpdate& update) = 0;
};

// Without a subscription its thread only checks for one each second, and does not load libcurl.
// Thread-safe.
class EngineDiscovery {
 public:
  struct Options {
    absl::Duration interval = absl::Seconds(1);  // between two reads of an engine
    NodeFolders folders;
    // If the kubelet has no Pods API, list no engine but the reason.
    bool needs_pods_api = false;
  };
  struct Counts {
    std::map<std::string, int> answering;  // engines that answer now, by name
    int64_t read = 0;                      // readings of engines
    int64_t failed = 0;
    int64_t of_others = 0;  // requests to servers that are no engine
  };

  // All references must outlive this object. Logs the rights that it lacks.
  EngineDiscovery(Options options, const Clock& clock, const SnapshotStore& snapshots,
                  EngineSubscriber& subscriber);
  ~EngineDiscovery();

  // Call it when the subscription may have changed.
  void Wake() { ticking_.Wake(); }

  // Must be stopped at shutdown: reading /proc may hang.
  PeriodicThread& thread() { return ticking_; }

  Counts counts() const;

 private:
  void Tick();
  void Pause();
  void TakeUpdates();
  // Returns OK if the search is up to date.
  absl::Status Search();
  void PollEngines();
  void Publish();
  void DeliverList(absl::StatusOr<NodeEngines> found);
  void Deliver(const EngineTarget& target, const EngineUpdate& update);

  const Options options_;
  const Clock& clock_;
  const SnapshotStore& snapshots_;
  EngineSubscriber& subscriber_;

  // Used only by the thread.
  EngineSearch search_;
  NodeCapacityRecords capacity_records_;  // kept while there is no subscription
  EngineSubscription subscription_;
  absl::Time subscribed_since_;
  int64_t generation_ = 0;  // the last snapshot's
  absl::Time searched_at_ = absl::InfinitePast();
  std::optional<absl::StatusOr<NodeEngines>> listed_;  // the last list delivered; empty: none
  std::map<EngineAddress, EngineUpdate> unreported_;   // latest update of each engine, not yet
                                                       // delivered
  std::unique_ptr<EnginePoller> poller_;               // null until the first engine is probed

  mutable Mutex mutex_;
  std::map<EngineTarget, EngineAddress> polled_ ABSL_GUARDED_BY(mutex_);  // being polled
  // Only the latest update of each engine: the thread may hang while engines go on answering.
  std::map<EngineAddress, EngineUpdate> inbox_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  PeriodicThread ticking_;
};

}  // namespace gpuscaler
