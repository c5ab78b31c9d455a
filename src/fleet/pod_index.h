// Which nodes a decision needs, so that none of them scans the fleet, nor its own namespace.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "model/node_history.h"
#include "model/pod_interest.h"

namespace gpuscaler {

// Not thread-safe.
class PodIndex {
 public:
  // `node` stays with whom its history tells of, for `horizon` after a reading had none of their
  // pods any more: they count in windows for so long. It is the histories' own.
  explicit PodIndex(absl::Duration horizon) : horizon_(horizon) {}

  // `node` has changed, at `generation`: all of its history that is new since the last call counts,
  // as an agent tells minutes at once.
  void Changed(const std::string& node, const NodeHistory& history, int64_t generation);
  void Removed(const std::string& node, int64_t generation);

  // Whether time alone makes it a change: the history, which was extended, tells less than it did.
  bool IsDue(const std::string& node, const NodeHistory& history) const;

  struct Nodes {
    std::set<std::string> names;
    // Where the owner that is wanted has none: some of those with others' pods of its namespaces.
    std::set<std::string> others;
    // Of their last change, counting those that have left: equal means that nothing has changed.
    int64_t generation = 0;
  };
  // Of these pods, of those that may be theirs (HasUnresolvedOwner), and those whose pods nobody
  // can name.
  Nodes Of(const PodInterest& wanted) const;

  // Whether those of the owner that is wanted are enough (PodInterest::or_whoevers).
  bool Knows(const PodInterest& wanted) const;

  // Of the pods that are, or were, on the node; null: nobody can name them.
  const std::set<std::string>* NamespacesOn(const std::string& node) const;

  // Some node asks its kubelet who holds its GPUs, whether that answers or not.
  bool AnyAsksKubelet() const { return !asking_.empty(); }

  // Whose last change was behind `generation`.
  std::vector<PodsOf> ChangedSince(int64_t generation) const;
  // Whether something was that concerns all: nodes whose pods nobody can name, or whether any node
  // asks its kubelet.
  bool AllChangedSince(int64_t generation) const {
    return unattributed_.generation > generation || forgotten_ > generation;
  }

 private:
  struct Key {
    PodsOf pods;
    // Of those only whose names may tell another owner (IsAmbiguous).
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
    bool left = false;  // in left_
  };
  using Entries = std::list<Entry>;

  // What a node has of an entry.
  struct Stay {
    Entries::iterator entry;
    absl::Time until;       // a reading had none of its pods any more
    bool here = false;      // one is there, as far as is known
    bool reported = false;  // by the history that the node has now
  };
  struct OnNode {
    // When it changed last.
    std::shared_ptr<const NodeLayout> newest;
    std::shared_ptr<const NodeLayout> attributed;
    std::set<std::string> namespaces;
    std::vector<Stay> stays;
    absl::Time due = absl::InfiniteFuture();  // the first of them ends
  };
  struct Unattributed {
    std::set<std::string> nodes;
    int64_t generation = 0;
  };

  // A node whose history is read, and where its stays stand: an agent may name thousands.
  struct Visit {
    const std::string& node;
    OnNode& on;
    absl::flat_hash_map<const Entry*, size_t> places;  // in on.stays
  };

  // Who came and went on the node.
  void Read(const std::string& node, const NodeHistory& history, OnNode& on);
  // Pods of the layout were on the node until then, or are.
  void Seen(const NodeLayout& layout, absl::Time until, bool here, Visit& visit);
  Entries::iterator EntryOf(const Key& key);
  Stay& StayOf(const Key& key, Visit& visit);
  void EndStays(const std::string& node, absl::Time now, OnNode& on);
  // `same`: the layouts are those of its last change.
  void SetUnattributed(const std::string& node, const NodeLayout& newest, bool same,
                       int64_t generation);
  // The first that asks, and the last, change what a node says that does not.
  void SetAsking(const std::string& node, bool asks, int64_t generation);
  void Touch(Entries::iterator entry, int64_t generation);
  // Of the names that nobody bears those that left first, where they are many. No stay has one.
  void ForgetNames();
  const Entry* Find(const PodsOf& pods, bool ambiguous = false) const;
  bool HasNodes(const PodsOf& pods, bool ambiguous) const;
  void AddOthers(const PodInterest& wanted, Nodes& found) const;

  const absl::Duration horizon_;
  absl::flat_hash_map<Key, Entries::iterator> entries_;
  // The last changed comes last: those with nodes, and those without, of which some are kept so
  // that who asks learns that they have left.
  Entries held_;
  Entries left_;
  int64_t forgotten_ = 0;  // the newest generation of those that are kept no more
  std::map<std::string, OnNode> on_node_;
  Unattributed unattributed_;
  std::set<std::string> asking_;  // nodes
};

}  // namespace gpuscaler
