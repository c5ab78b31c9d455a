// An index from pods to nodes: which nodes a decision needs, without a scan of the fleet or of a
// namespace.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/time/time.h"
#include "model/node_history.h"
#include "model/pod_interest.h"

namespace gpuscaler {

// Not thread-safe.
class PodIndex {
 public:
  // A node stays in the index for `horizon` after the first reading without a pod of the namespace
  // and owner: windows still cover it. Must be the horizon of the histories.
  explicit PodIndex(absl::Duration horizon) : horizon_(horizon) {}

  // Updates the node at `generation` from all that is new in its history since the last call: one
  // update may hold minutes.
  void Changed(const std::string& node, const NodeHistory& history, int64_t generation);
  void Removed(const std::string& node, int64_t generation);

  // Returns true if a pod that left the node is now beyond the horizon, so that Changed() would
  // remove it.
  bool IsDue(const std::string& node, const NodeHistory& history) const;

  struct Nodes {
    std::vector<std::string> names;  // sorted, each once
    // Some nodes with pods of other owners in the namespaces, for messages. Empty unless the owner
    // has no pods.
    std::set<std::string> others;
    // The last change of these nodes and of those that left the result. Equal numbers mean that
    // nothing has changed.
    int64_t generation = 0;
  };
  // Includes the nodes of pods with an unresolved owner (HasUnresolvedOwner), and all nodes without
  // known pods.
  Nodes NodesOf(const PodInterest& wanted) const;

  // Returns true if the pods of the owner alone are enough (PodInterest::or_any_owner).
  bool IsOwnerKnown(const PodInterest& wanted) const;

  // Includes pods that left within the horizon. Null: the node's pods are not known.
  const std::set<std::string>* NamespacesOn(const std::string& node) const;

  // Returns true if any agent queries its kubelet, whether the kubelet answers or not.
  bool AnyUsesKubelet() const { return !kubelet_users_.empty(); }

  std::vector<OwnerKey> ChangedSince(int64_t generation) const;
  // Returns true if any decision may have changed since `generation`: nodes without known pods
  // changed, the first agent with a kubelet came or the last one left, or an entry that changed
  // since then was evicted.
  bool AllChangedSince(int64_t generation) const {
    return unattributed_generation_ > generation || evicted_ > generation;
  }

 private:
  struct Key {
    OwnerKey pods;
    // true: only pods with a name that fits several owners (IsAmbiguous).
    bool ambiguous = false;

    auto operator<=>(const Key&) const = default;
    template <typename Hash>
    friend Hash AbslHashValue(Hash hash, const Key& key) {
      return Hash::combine(std::move(hash), key.pods, key.ambiguous);
    }
  };
  struct Entry {
    Key key;
    std::set<std::string> nodes;
    int64_t generation = 0;
    bool is_unused = false;  // in unused_
  };
  using Entries = std::list<Entry>;

  // The pods of an entry on one node.
  struct NodePods {
    Entries::iterator entry;
    // The first reading without them, or the newest one with them.
    absl::Time on_node_until;
    bool present = false;     // the last known layout has one
    bool in_history = false;  // the node's present history has one
  };
  struct NodeEntry {
    // The layouts of its last change.
    std::shared_ptr<const NodeLayout> newest;
    std::shared_ptr<const NodeLayout> attributed;
    std::set<std::string> namespaces;
    std::vector<NodePods> presences;
    absl::Time due = absl::InfiniteFuture();  // when the first of them expires
  };

  // A scan of one node's history. A map finds its presences, because an agent may name thousands of
  // pods.
  struct Scan {
    const std::string& node;
    NodeEntry& node_entry;
    absl::flat_hash_map<const Entry*, size_t> indexes;  // in node_entry.presences
  };

  // Updates the presences from the node's history.
  void ReadHistory(const std::string& node, const NodeHistory& history, NodeEntry& node_entry);
  // Adds the pods of the layout. They were on the node until `until`, or still are (`present`).
  void AddLayout(const NodeLayout& layout, absl::Time until, bool present, Scan& scan);
  Entries::iterator EntryOf(const Key& key);
  NodePods& PresenceOf(const Key& key, Scan& scan);
  // Marks all presences of the node as changed, and removes those that are over.
  void SetPresencesChanged(const std::string& node, absl::Time now, int64_t generation,
                           NodeEntry& node_entry);
  void SetUnattributed(const std::string& node, bool is, int64_t generation);
  // The first and the last node with a kubelet change how nodes without one count.
  void SetUsesKubelet(const std::string& node, bool uses, int64_t generation);
  void SetChanged(Entries::iterator entry, int64_t generation);
  // Drops the least recently changed entries without nodes, above a limit. No presence refers to
  // them.
  void EvictUnused();
  const Entry* Find(const OwnerKey& pods, bool ambiguous = false) const;
  bool HasNodes(const OwnerKey& pods, bool ambiguous) const;
  void AddOthers(const PodInterest& wanted, Nodes& found) const;

  const absl::Duration horizon_;
  absl::flat_hash_map<Key, Entries::iterator> entries_;
  // In the order of their last change. Entries without nodes are kept for a while so that readers
  // notice the removal.
  Entries used_;
  Entries unused_;
  int64_t evicted_ = 0;  // the newest generation of the evicted entries
  absl::node_hash_map<std::string, NodeEntry> by_node_;
  std::set<std::string> unattributed_;   // nodes without known pods
  int64_t unattributed_generation_ = 0;  // as of their last change
  std::set<std::string> kubelet_users_;  // nodes with an agent that queries its kubelet
};

}  // namespace gpuscaler
