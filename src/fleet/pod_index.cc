#include "fleet/pod_index.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {

namespace {

// The limit of entries without nodes. Owners come and go, those of Jobs above all. A reader that is
// behind an evicted entry reevaluates everything once (AllChangedSince()).
constexpr size_t kMaxUnused = 1000;

// The list of other holders is for people, so it is short.
constexpr size_t kMaxOthers = 8;

// Visits the layouts from the newest back to `known`, each with the time until which it held.
// Returns false if `known` was not found: then the history was replaced, and has everything.
template <typename Visitor>
bool VisitBackwards(const NodeHistory& history, const NodeLayout* known, Visitor visit) {
  const NodeLayout* visited = nullptr;
  absl::Time until = history.NewestAt();
  absl::Time first = until;
  for (auto run = history.runs.rbegin(); run != history.runs.rend(); ++run) {
    if (run->layout().get() != visited) {
      until = visited == nullptr ? until : first;
      visited = run->layout().get();
      visit(*visited, until);
      if (visited == known) return true;
    }
    first = run->first;
  }
  for (auto past = history.past_layouts.rbegin(); past != history.past_layouts.rend(); ++past) {
    visit(*past->layout, first);
    if (past->layout.get() == known) return true;
    first = past->first;
  }
  return false;
}

}  // namespace

void PodIndex::Changed(const std::string& node, const NodeHistory& history, int64_t generation) {
  NodeEntry& node_entry = by_node_[node];
  const NodeLayout& newest = *history.runs.back().layout();
  const bool same =
      node_entry.newest.get() == &newest && node_entry.attributed == history.attributed;
  if (!same) ReadHistory(node, history, node_entry);
  SetPresencesChanged(node, history.NewestAt(), generation, node_entry);
  EvictUnused();
  const bool is_known = newest.attribution.state == Attribution::State::kKnown;
  if (!same) {
    SetUsesKubelet(node, newest.attribution.state != Attribution::State::kNone, generation);
    SetUnattributed(node, !is_known, generation);
  } else if (!is_known && !AnyUsesKubelet()) {
    unattributed_generation_ = generation;  // all GPUs in use count
  }
}

void PodIndex::ReadHistory(const std::string& node, const NodeHistory& history,
                           NodeEntry& node_entry) {
  Scan scan{.node = node, .node_entry = node_entry, .indexes = {}};
  for (NodePods& presence : node_entry.presences) {
    scan.indexes.emplace(&*presence.entry, scan.indexes.size());
    presence.present = presence.in_history = false;
  }
  const auto add = [&](const NodeLayout& layout, absl::Time until) {
    AddLayout(layout, until, false, scan);
  };
  const bool continued = VisitBackwards(history, node_entry.newest.get(), add);
  node_entry.newest = history.runs.back().layout();
  node_entry.attributed = history.attributed;
  AddLayout(*node_entry.newest, history.NewestAt(), true, scan);
  // The last known owners count until the kubelet answers again.
  if (node_entry.attributed != nullptr)
    AddLayout(*node_entry.attributed, absl::InfinitePast(), true, scan);
  if (continued) return;
  for (NodePods& presence : node_entry.presences) {
    if (!presence.in_history) presence.on_node_until = absl::InfinitePast();
  }
}

void PodIndex::AddLayout(const NodeLayout& layout, absl::Time until, bool present, Scan& scan) {
  const auto add = [&](const Key& key) {
    NodePods& presence = PresenceOf(key, scan);
    presence.on_node_until = std::max(presence.on_node_until, until);
    presence.present |= present;
    presence.in_history = true;
  };
  for (const Pod& pod : layout.pods) {
    add({.pods = {pod.namespace_name, ""}});
    if (HasUnresolvedOwner(pod)) add({.pods = {pod.namespace_name, kUnresolvedOwner}});
    const bool ambiguous = IsAmbiguous(pod);
    for (std::string& name : OwnerNames(pod)) {
      if (ambiguous) add({.pods = {pod.namespace_name, name}, .ambiguous = true});
      add({.pods = {pod.namespace_name, std::move(name)}});
    }
  }
}

PodIndex::Entries::iterator PodIndex::EntryOf(const Key& key) {
  const auto known = entries_.find(key);
  if (known != entries_.end()) return known->second;
  used_.push_back({.key = key});
  return entries_.emplace(key, std::prev(used_.end())).first->second;
}

PodIndex::NodePods& PodIndex::PresenceOf(const Key& key, Scan& scan) {
  const auto entry = EntryOf(key);
  NodeEntry& node_entry = scan.node_entry;
  const auto [index, is_new] = scan.indexes.emplace(&*entry, node_entry.presences.size());
  if (!is_new) return node_entry.presences[index->second];
  entry->nodes.insert(scan.node);
  if (key.pods.owner.empty()) node_entry.namespaces.insert(key.pods.namespace_name);
  node_entry.presences.push_back({.entry = entry, .on_node_until = absl::InfinitePast()});
  return node_entry.presences.back();
}

void PodIndex::SetPresencesChanged(const std::string& node, absl::Time now, int64_t generation,
                                   NodeEntry& node_entry) {
  node_entry.due = absl::InfiniteFuture();
  std::erase_if(node_entry.presences, [&](const NodePods& presence) {
    const absl::Time ends_at =
        presence.present ? absl::InfiniteFuture() : presence.on_node_until + horizon_;
    const bool has_ended = now > ends_at;
    if (has_ended) {
      presence.entry->nodes.erase(node);
      const OwnerKey& pods = presence.entry->key.pods;
      if (pods.owner.empty()) node_entry.namespaces.erase(pods.namespace_name);
    } else {
      node_entry.due = std::min(node_entry.due, ends_at);
    }
    SetChanged(presence.entry, generation);
    return has_ended;
  });
}

bool PodIndex::IsDue(const std::string& node, const NodeHistory& history) const {
  const auto found = by_node_.find(node);
  return found != by_node_.end() && history.NewestAt() > found->second.due;
}

void PodIndex::SetUnattributed(const std::string& node, bool is, int64_t generation) {
  const bool was = unattributed_.erase(node) > 0;
  if (is) unattributed_.insert(node);
  if (is || was) unattributed_generation_ = generation;
}

void PodIndex::SetUsesKubelet(const std::string& node, bool uses, int64_t generation) {
  const bool any = AnyUsesKubelet();
  if (uses) {
    kubelet_users_.insert(node);
  } else {
    kubelet_users_.erase(node);
  }
  if (AnyUsesKubelet() != any) unattributed_generation_ = generation;
}

void PodIndex::Removed(const std::string& node, int64_t generation) {
  for (const NodePods& presence : by_node_[node].presences) {
    presence.entry->nodes.erase(node);
    SetChanged(presence.entry, generation);
  }
  by_node_.erase(node);
  EvictUnused();
  SetUsesKubelet(node, false, generation);
  SetUnattributed(node, false, generation);
}

void PodIndex::SetChanged(Entries::iterator entry, int64_t generation) {
  Entries& from = entry->is_unused ? unused_ : used_;
  entry->is_unused = entry->nodes.empty();
  Entries& to = entry->is_unused ? unused_ : used_;
  entry->generation = generation;
  to.splice(to.end(), from, entry);
}

void PodIndex::EvictUnused() {
  while (unused_.size() > kMaxUnused) {
    evicted_ = unused_.front().generation;
    entries_.erase(unused_.front().key);
    unused_.pop_front();
  }
}

const PodIndex::Entry* PodIndex::Find(const OwnerKey& pods, bool ambiguous) const {
  const auto found = entries_.find(Key{.pods = pods, .ambiguous = ambiguous});
  return found == entries_.end() ? nullptr : &*found->second;
}

bool PodIndex::HasNodes(const OwnerKey& pods, bool ambiguous) const {
  const Entry* const entry = Find(pods, ambiguous);
  return entry != nullptr && !entry->nodes.empty();
}

const std::set<std::string>* PodIndex::NamespacesOn(const std::string& node) const {
  const auto found = by_node_.find(node);
  const bool unknown = unattributed_.contains(node) || found == by_node_.end();
  return unknown ? nullptr : &found->second.namespaces;
}

std::vector<OwnerKey> PodIndex::ChangedSince(int64_t generation) const {
  std::vector<OwnerKey> changed;
  for (const Entries* entries : {&used_, &unused_}) {
    for (auto each = entries->rbegin(); each != entries->rend(); ++each) {
      if (each->generation <= generation) break;
      if (!each->key.ambiguous) changed.push_back(each->key.pods);
    }
  }
  return changed;
}

bool PodIndex::IsOwnerKnown(const PodInterest& wanted) const {
  if (wanted.owner.empty()) return false;
  if (!wanted.or_any_owner) return true;
  bool any = false;
  for (const std::string& name : wanted.namespaces) {
    if (HasNodes({name, wanted.owner}, true)) return false;
    any |= HasNodes({name, wanted.owner}, false);
  }
  return any;
}

void PodIndex::AddOthers(const PodInterest& wanted, Nodes& found) const {
  for (const std::string& name : wanted.namespaces) {
    const Entry* const entry = Find({name, ""});
    if (entry == nullptr) continue;
    for (const std::string& node : entry->nodes) {
      if (found.others.size() >= kMaxOthers) return;
      if (!std::ranges::binary_search(found.names, node)) found.others.insert(node);
    }
  }
}

PodIndex::Nodes PodIndex::NodesOf(const PodInterest& wanted) const {
  Nodes found{.names = {unattributed_.begin(), unattributed_.end()},
              .generation = unattributed_generation_};
  const std::string owner = IsOwnerKnown(wanted) ? wanted.owner : "";
  const auto add = [&](const OwnerKey& pods) {
    const Entry* const entry = Find(pods);
    found.generation = std::max(found.generation, entry == nullptr ? evicted_ : entry->generation);
    if (entry == nullptr || entry->nodes.empty()) return;
    const auto old_end = static_cast<std::ptrdiff_t>(found.names.size());
    found.names.insert(found.names.end(), entry->nodes.begin(), entry->nodes.end());
    if (old_end == 0) return;
    std::inplace_merge(found.names.begin(), found.names.begin() + old_end, found.names.end());
    found.names.erase(std::unique(found.names.begin(), found.names.end()), found.names.end());
  };
  for (const std::string& name : wanted.namespaces) {
    add({name, owner});
    if (!owner.empty()) add({name, kUnresolvedOwner});
  }
  if (!owner.empty() && found.names.size() == unattributed_.size()) AddOthers(wanted, found);
  return found;
}

}  // namespace gpuscaler
