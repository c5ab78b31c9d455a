// Which nodes a namespace's decisions need, so that none of them scans the fleet.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "model/node_history.h"

namespace gpuscaler {

// Not thread-safe.
class NamespaceIndex {
 public:
  // `node` stays with a namespace for `horizon` after its last pod there held a GPU: it counts in
  // windows for so long.
  explicit NamespaceIndex(absl::Duration horizon) : horizon_(horizon) {}

  // `node` has changed, at `generation`: all of its history that is new since the last call counts,
  // as an agent tells minutes at once.
  void Changed(const std::string& node, const NodeHistory& history, int64_t generation);
  void Removed(const std::string& node, int64_t generation);

  struct Nodes {
    std::set<std::string> names;
    // Of their last change, counting those that have left: equal means that nothing has changed.
    int64_t generation = 0;
  };
  // Of these namespaces, and those whose pods nobody can name.
  Nodes Of(const std::vector<std::string>& namespaces) const;

  // Of the pods that are, or were, on the node; null: nobody can name them.
  const std::set<std::string>* On(const std::string& node) const;

  // Some node asks its kubelet who holds its GPUs, whether that answers or not.
  bool AnyAsksKubelet() const { return !asking_.empty(); }

  // Whose last change was behind `generation`.
  std::vector<std::string> ChangedSince(int64_t generation) const;
  // Whether that of the nodes whose pods nobody can name was, or whether any node asks its kubelet.
  bool UnattributedChangedSince(int64_t generation) const {
    return unattributed_.generation > generation;
  }

 private:
  struct Entry {
    int64_t generation = 0;
    std::map<std::string, absl::Time> nodes;  // and when a pod of it was last seen there
  };

  struct OnNode {
    std::shared_ptr<const NodeLayout> newest;  // when it changed last
    std::set<std::string> namespaces;
  };

  // Pods of the layout were on the node until then.
  void Seen(const std::string& node, const NodeLayout& layout, absl::Time until);
  // The first that asks, and the last, change what a node says that does not.
  void SetAsking(const std::string& node, bool asks, int64_t generation);
  void Touch(const std::string& namespace_name, int64_t generation);

  const absl::Duration horizon_;
  std::map<std::string, Entry> namespaces_;
  std::set<std::pair<int64_t, std::string>> by_change_;  // each namespace at its last one
  std::map<std::string, OnNode> on_node_;
  Entry unattributed_;
  std::set<std::string> asking_;  // nodes
};

}  // namespace gpuscaler
