// Routes engines that agents discovered to the sources of the triggers that use them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "engine/engine_group.h"
#include "model/allowed_namespaces.h"
#include "model/signal_history.h"
#include "signal/engine_subscription.h"
#include "signal/signal_store.h"

namespace gpuscaler {

// The engines of one node in one namespace.
struct NamespaceEngines {
  std::set<EngineAddress> engines;             // namespace and pod are set
  std::vector<MissingEngine> missing_engines;  // pods without a discovered engine
  CapacityRecords capacity_records;            // records of departed engines

  friend bool operator==(const NamespaceEngines&, const NamespaceEngines&) = default;
};

// The engines of one node.
struct NodeEngines {
  std::map<std::string, NamespaceEngines> namespaces;  // those that were searched completely
  std::set<std::string> namespaces_of_records;         // searched or not
  // The past readings of the engines have not arrived yet. Until a list without this flag, newly
  // listed namespaces count as not reported.
  bool past_readings_pending = false;

  // Ignored if its namespace was not searched.
  void Add(const EngineAddress& engine_address);
  void Add(const MissingEngine& pod);
  // The same. Its namespace is one of `namespaces_of_records` in any case.
  void Add(const std::shared_ptr<const SignalSeries>& record);

  friend bool operator==(const NodeEngines&, const NodeEngines&) = default;
};

// How long a source waits for a node's list of engines, and a list for the probes of a new pod. A
// connected agent sends its list within milliseconds.
inline constexpr absl::Duration kEngineListTimeout = absl::Seconds(3);

// The owner of the node list calls SetNodes(); discovery calls SetEngines() and AddReading().
// Thread-safe. All times must come from one clock.
//
//   const EngineSubscription subscribed = found.Subscription(now);
//   found.SetNodes(subscribed, {node}, now);             // each second, and when the store wakes
//   if (!subscribed.namespaces.empty()) found.SetEngines(node, Search(subscribed), now);
class FoundEngines {
 public:
  // The store must outlive this object.
  explicit FoundEngines(SignalStore& store, AllowedNamespaces allowed = {});

  // Empty: there is nothing to discover or to read.
  EngineSubscription Subscription(absl::Time now);

  // Sets all nodes that may have subscribed engines and forgets the other nodes. A source waits up
  // to kEngineListTimeout for each node to report its namespaces. Workloads on other nodes do not
  // wait for a node that hangs.
  void SetNodes(const EngineSubscription& subscribed, const std::set<std::string>& nodes,
                absl::Time now);

  // Replaces the node's engines in the searched namespaces; other namespaces keep theirs. An error
  // is the human-readable reason why the node finds none; its known engines and those of other
  // nodes stay. Ignored if SetNodes() did not list the node.
  void SetEngines(const std::string& node, const absl::StatusOr<NodeEngines>& found, absl::Time at);

  // Ignored if the node does not list the engine.
  void AddReading(const std::string& node, const EngineAddress& engine_address,
                  const EngineUpdate& update);

 private:
  struct NodeReport {
    bool has_reported = false;
    absl::Status status;
    std::set<std::string> reported;                      // namespaces without pending readings
    std::map<std::string, NamespaceEngines> namespaces;  // those that are not empty

    // Keeps only the namespaces in `subscribed`, whatever the agent sends.
    void Replace(const NodeEngines& found, const EngineSubscription& subscribed);
    void KeepOnly(const EngineSubscription& subscribed);
    bool HasReported(const std::set<std::string>& subscribed) const;  // all of these namespaces
    bool HasAnyIn(const std::set<std::string>& subscribed) const;     // at least one engine

    friend bool operator==(const NodeReport&, const NodeReport&) = default;
  };
  struct SourceState {
    absl::Time subscribed_since;
    std::set<std::string> namespaces;
    bool is_complete = false;  // no node is awaited, nor one that joins later
    bool is_due = false;       // the reasons of nodes without engines have changed
    std::string awaited;       // a node that had not reported at the last check
  };

  std::set<std::string> NamespacesOf(const SignalSource& source) const;
  bool HaveAllReported(SourceState& source) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UpdateSources(const EngineSubscription& subscribed, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ListAll(const SignalSource& source, SourceState& state, absl::Time at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SignalStore& store_;
  const AllowedNamespaces allowed_;
  Mutex mutex_;
  std::map<std::string, NodeReport> nodes_ ABSL_GUARDED_BY(mutex_);  // those of SetNodes()
  // That of the last SetNodes(): no other namespace is stored.
  EngineSubscription subscribed_ ABSL_GUARDED_BY(mutex_);
  std::map<SignalSource, SourceState> sources_ ABSL_GUARDED_BY(mutex_);
  // The last list that a source got. Most get the same: nodes without discovery are in all of them.
  std::shared_ptr<const std::vector<MissingEngine>> missing_engines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
