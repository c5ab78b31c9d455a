// Finds the inference engines in this node's GPU pods, and reads them, while somebody wants them.
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
#include "base/stop_all.h"
#include "discovery/engine_search.h"
#include "engine/capacity_records.h"
#include "engine/engine_poller.h"
#include "signal/engine_subscription.h"
#include "signal/found_engines.h"
#include "store/snapshot_store.h"
#include "workload/node_folders.h"

namespace gpuscaler {

// Who wants engines and is told of them, on one thread. Must not block.
class EnginesListener {
 public:
  virtual ~EnginesListener() = default;
  virtual EngineSubscription Subscription(absl::Time now) = 0;
  // When it changes, or what is wanted does. An error: why none can be found on this node.
  virtual void List(const absl::StatusOr<NodeEngines>& found, absl::Time at) = 0;
  // Of an engine that was listed.
  virtual void Take(const EnginePlace& place, const EngineUpdate& update) = 0;
};

// Without anybody who wants engines its thread asks for that once a second, and has never loaded
// libcurl. Thread-safe.
class EngineDiscovery {
 public:
  struct Options {
    absl::Duration interval = absl::Seconds(1);  // how often each engine is read
    NodeFolders folders;
    // Returns no engine, with the reason, if the kubelet has no Pods API.
    bool needs_pods_api = false;
  };
  struct Counts {
    std::map<std::string, int> answering;  // engines now, by name
    int64_t read = 0;                      // readings of engines
    int64_t failed = 0;
    int64_t of_others = 0;  // answers, or none, of servers that are no engine
  };

  // All references outlive it. Logs what it lacks to see all of the node.
  EngineDiscovery(Options options, const Clock& clock, const SnapshotStore& snapshots,
                  EnginesListener& listener);
  ~EngineDiscovery();

  // Something new may be wanted.
  void Wake() { ticking_.Wake(); }

  // To be stopped at the end: a look at /proc may hang.
  NamedThread Thread() { return {&ticking_, "engine search"}; }

  Counts counts() const;

 private:
  void Tick();
  void Rest();
  void TakeUpdate();
  // OK: the engines are as of now.
  absl::Status Look();
  void Ask();
  void ListAndTell();
  void List(absl::StatusOr<NodeEngines> found);
  void Deliver(const EngineTarget& target, const EngineUpdate& update);

  const Options options_;
  const Clock& clock_;
  const SnapshotStore& snapshots_;
  EnginesListener& listener_;

  // The thread's own.
  EngineSearch search_;
  NodeCapacityRecords capacity_records_;  // stays while no client wants engines
  EngineSubscription wanted_;
  absl::Time subscribed_since_;
  int64_t generation_ = 0;  // of the snapshot that was looked at
  absl::Time looked_at_ = absl::InfinitePast();
  std::optional<absl::StatusOr<NodeEngines>> listed_;  // empty: nothing was
  std::map<EnginePlace, EngineUpdate> unreported_;     // the newest of engines
  std::unique_ptr<EnginePoller> poller_;               // null: nobody was asked yet

  mutable Mutex mutex_;
  std::map<EngineTarget, EnginePlace> places_ ABSL_GUARDED_BY(mutex_);  // that are asked
  // The newest of each place: the thread may hang while engines go on answering.
  std::map<EnginePlace, EngineUpdate> inbox_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  PeriodicThread ticking_;
};

}  // namespace gpuscaler
