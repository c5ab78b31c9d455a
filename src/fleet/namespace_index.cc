#include "fleet/namespace_index.h"

#include <algorithm>

namespace gpuscaler {

void NamespaceIndex::Changed(const std::string& node, const NodeSnapshot& newest,
                             int64_t generation) {
  std::set<std::string>& namespaces = of_node_[node];
  for (const Pod& pod : newest.pods) {
    namespaces_[pod.namespace_name].nodes[node] = newest.taken_at;
    namespaces.insert(pod.namespace_name);
  }
  for (auto each = namespaces.begin(); each != namespaces.end();) {
    Touch(*each, generation);
    Entry& entry = namespaces_[*each];
    if (newest.taken_at - entry.nodes[node] > horizon_) {
      entry.nodes.erase(node);
      each = namespaces.erase(each);
    } else {
      ++each;
    }
  }
  const bool known = newest.attribution.state == Attribution::State::kKnown;
  if (known ? unattributed_.nodes.erase(node) > 0 : true) unattributed_.generation = generation;
  if (!known) unattributed_.nodes[node] = newest.taken_at;
}

void NamespaceIndex::Removed(const std::string& node, int64_t generation) {
  for (const std::string& namespace_name : of_node_[node]) {
    namespaces_[namespace_name].nodes.erase(node);
    Touch(namespace_name, generation);
  }
  of_node_.erase(node);
  if (unattributed_.nodes.erase(node) > 0) unattributed_.generation = generation;
}

void NamespaceIndex::Touch(const std::string& namespace_name, int64_t generation) {
  Entry& entry = namespaces_[namespace_name];
  by_change_.erase({entry.generation, namespace_name});
  by_change_.emplace(generation, namespace_name);
  entry.generation = generation;
}

const std::set<std::string>* NamespaceIndex::On(const std::string& node) const {
  const auto found = of_node_.find(node);
  const bool unknown = unattributed_.nodes.contains(node) || found == of_node_.end();
  return unknown ? nullptr : &found->second;
}

std::vector<std::string> NamespaceIndex::ChangedSince(int64_t generation) const {
  std::vector<std::string> changed;
  for (auto each = by_change_.lower_bound({generation + 1, ""}); each != by_change_.end(); ++each) {
    changed.push_back(each->second);
  }
  return changed;
}

NamespaceIndex::Nodes NamespaceIndex::Of(const std::vector<std::string>& namespaces) const {
  Nodes found;
  const auto add = [&found](const Entry& entry) {
    found.generation = std::max(found.generation, entry.generation);
    for (const auto& node : entry.nodes) found.names.insert(node.first);
  };
  add(unattributed_);
  for (const std::string& namespace_name : namespaces) {
    const auto entry = namespaces_.find(namespace_name);
    if (entry != namespaces_.end()) add(entry->second);
  }
  return found;
}

}  // namespace gpuscaler
