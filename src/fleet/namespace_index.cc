#include "fleet/namespace_index.h"

#include <algorithm>

namespace gpuscaler {

namespace {

// Who was there, and until when: from the newest back to those of `known`, who may have stayed on.
template <typename Visit>
void WalkBack(const NodeHistory& history, const NodeLayout* known, Visit visit) {
  const NodeLayout* visited = nullptr;
  for (auto stretch = history.stretches.rbegin(); stretch != history.stretches.rend(); ++stretch) {
    if (stretch->layout.get() == visited) continue;
    visited = stretch->layout.get();
    visit(*visited, stretch->last);
    if (visited == known) return;
  }
  absl::Time until = history.stretches.front().first;
  for (auto past = history.past_layouts.rbegin(); past != history.past_layouts.rend(); ++past) {
    visit(*past->layout, until);
    if (past->layout.get() == known) return;
    until = past->first;
  }
}

}  // namespace

void NamespaceIndex::Changed(const std::string& node, const NodeHistory& history,
                             int64_t generation) {
  OnNode& on = on_node_[node];
  WalkBack(history, on.newest.get(),
           [&](const NodeLayout& layout, absl::Time until) { Seen(node, layout, until); });
  on.newest = history.stretches.back().layout;
  const absl::Time now = history.NewestAt();
  for (auto each = on.namespaces.begin(); each != on.namespaces.end();) {
    Touch(*each, generation);
    Entry& entry = namespaces_[*each];
    if (now - entry.nodes[node] > horizon_) {
      entry.nodes.erase(node);
      each = on.namespaces.erase(each);
    } else {
      ++each;
    }
  }
  const bool known = on.newest->attribution.state == Attribution::State::kKnown;
  if (known ? unattributed_.nodes.erase(node) > 0 : true) unattributed_.generation = generation;
  if (!known) unattributed_.nodes[node] = now;
  SetAsking(node, on.newest->attribution.state != Attribution::State::kNone, generation);
}

void NamespaceIndex::SetAsking(const std::string& node, bool asks, int64_t generation) {
  const bool any = AnyAsksKubelet();
  if (asks) {
    asking_.insert(node);
  } else {
    asking_.erase(node);
  }
  if (AnyAsksKubelet() != any) unattributed_.generation = generation;
}

void NamespaceIndex::Seen(const std::string& node, const NodeLayout& layout, absl::Time until) {
  for (const Pod& pod : layout.pods) {
    auto& nodes = namespaces_[pod.namespace_name].nodes;
    absl::Time& seen = nodes.try_emplace(node, until).first->second;
    seen = std::max(seen, until);
    on_node_[node].namespaces.insert(pod.namespace_name);
  }
}

void NamespaceIndex::Removed(const std::string& node, int64_t generation) {
  for (const std::string& namespace_name : on_node_[node].namespaces) {
    namespaces_[namespace_name].nodes.erase(node);
    Touch(namespace_name, generation);
  }
  on_node_.erase(node);
  SetAsking(node, false, generation);
  if (unattributed_.nodes.erase(node) > 0) unattributed_.generation = generation;
}

void NamespaceIndex::Touch(const std::string& namespace_name, int64_t generation) {
  Entry& entry = namespaces_[namespace_name];
  by_change_.erase({entry.generation, namespace_name});
  by_change_.emplace(generation, namespace_name);
  entry.generation = generation;
}

const std::set<std::string>* NamespaceIndex::On(const std::string& node) const {
  const auto found = on_node_.find(node);
  const bool unknown = unattributed_.nodes.contains(node) || found == on_node_.end();
  return unknown ? nullptr : &found->second.namespaces;
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
