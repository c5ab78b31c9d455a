// The engines that were found on nodes, brought to the sources that want them.
#pragma once

#include <map>
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

// Where the engines of one node are.
struct NodeEngines {
  // That were looked in; of each, all that there is. Of others nothing is said.
  std::vector<std::string> namespaces;
  std::vector<EnginePlace> places;     // with namespace and pod
  std::vector<WithoutEngine> without;  // of pods in which none is found
  CapacityRecords left;                // within the last day
  // What they said before is still to come: until a list without this the node has not told of
  // those namespaces that are new.
  bool past_follows = false;

  friend bool operator==(const NodeEngines&, const NodeEngines&) = default;
};

// An agent that is asked answers within milliseconds, once it is connected to.
inline constexpr absl::Duration kFoundWithin = absl::Seconds(3);

// Who decides which nodes there are calls Expect(), who looks for engines List() and Take().
// Thread-safe. All times are of one clock.
//
//   const EngineSubscription wanted = found.Subscription(now);
//   found.Expect(wanted, {node}, now);                 // each second, and when the store wakes
//   if (!wanted.namespaces.empty()) found.List(node, Look(wanted), now);
class FoundEngines {
 public:
  // The store outlives it.
  explicit FoundEngines(SignalStore& store, AllowedNamespaces allowed = {});

  // Empty: nothing is to be looked for, nor read.
  EngineSubscription Subscription(absl::Time now);

  // All nodes that may have some of what is wanted; what others told is forgotten. Each is awaited
  // until it has told of the source's namespaces, for kFoundWithin: workloads on other nodes need
  // not wait for one that hangs.
  void Expect(const EngineSubscription& wanted, const std::set<std::string>& nodes, absl::Time now);

  // All that there are on the node in the namespaces that were looked in; what was told of others
  // stands. An error: why none can be found there, for people; those that
  // are known stay, and those of other nodes count. Of a node that is not expected it is dropped.
  void List(const std::string& node, const absl::StatusOr<NodeEngines>& found, absl::Time at);

  // Of an engine that the node does not list it is dropped.
  void Take(const std::string& node, const EnginePlace& place, const EngineUpdate& update);

 private:
  struct Reported {
    bool has_reported = false;
    absl::Status status;
    std::set<std::string> namespaces;
    std::map<std::string, std::set<EnginePlace>> places;        // by namespace
    std::map<std::string, std::vector<WithoutEngine>> without;  // by namespace
    std::map<std::string, CapacityRecords> left;                // key: namespace

    // Of namespaces that nobody wants nothing is kept, whatever an agent says of them.
    void Replace(const NodeEngines& found, const std::set<std::string>& wanted);
    void KeepOnly(const EngineSubscription& wanted);
    bool HasReported(const std::set<std::string>& wanted) const;  // namespaces, each of them
    bool HasAnyIn(const std::set<std::string>& wanted) const;     // an engine

    friend bool operator==(const Reported&, const Reported&) = default;
  };
  struct Listed {
    absl::Time subscribed_since;
    std::set<std::string> namespaces;
    bool is_complete = false;  // no node is awaited, nor will one be that comes later
    bool is_due = false;       // what nodes without engines say is another by now
    std::string awaited;       // a node that had not told of them when that was looked at last
  };

  std::set<std::string> NamespacesOf(const SignalSource& source) const;
  bool HaveAllReported(Listed& source) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FollowSources(const EngineSubscription& wanted, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ListAll(const SignalSource& source, Listed& listed, absl::Time at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SignalStore& store_;
  const AllowedNamespaces allowed_;
  Mutex mutex_;
  std::map<std::string, Reported> nodes_ ABSL_GUARDED_BY(mutex_);  // that are expected
  // Namespaces that Expect() was last told of: of others nothing is kept.
  std::set<std::string> wanted_ ABSL_GUARDED_BY(mutex_);
  std::map<SignalSource, Listed> sources_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
