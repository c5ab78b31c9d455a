#include "fleet/pod_index.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {

namespace {

// Names come and go, of Jobs above all. Whose name was forgotten is decided on anew once.
constexpr size_t kMostLeft = 1000;

// More others than on so many nodes nobody wants to read of.
constexpr size_t kMostOthers = 8;

// Who was there, and until a reading had others: from the newest back to those of `known`, who may
// have stayed on. Whether these were found: all that was read before is told by this history too.
template <typename Visit>
bool VisitBackwards(const NodeHistory& history, const NodeLayout* known, Visit visit) {
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
  OnNode& on = on_node_[node];
  const NodeLayout& newest = *history.runs.back().layout();
  const bool same = on.newest.get() == &newest && on.attributed == history.attributed;
  if (!same) Read(node, history, on);
  EndStays(node, history.NewestAt(), on);
  for (const Stay& stay : on.stays) Touch(stay.entry, generation);
  std::erase_if(on.stays, [&](const Stay& stay) { return !stay.entry->nodes.contains(node); });
  ForgetNames();
  SetAsking(node, newest.attribution.state != Attribution::State::kNone, generation);
  SetUnattributed(node, newest, same, generation);
}

void PodIndex::Read(const std::string& node, const NodeHistory& history, OnNode& on) {
  Visit visit{.node = node, .on = on, .places = {}};
  for (Stay& stay : on.stays) {
    visit.places.emplace(&*stay.entry, visit.places.size());
    stay.here = stay.reported = false;
  }
  const auto see = [&](const NodeLayout& layout, absl::Time until) {
    Seen(layout, until, false, visit);
  };
  const bool continued = VisitBackwards(history, on.newest.get(), see);
  on.newest = history.runs.back().layout();
  on.attributed = history.attributed;
  Seen(*on.newest, history.NewestAt(), true, visit);
  // While owners are not known the last known ones stand.
  if (on.attributed != nullptr) Seen(*on.attributed, absl::InfinitePast(), true, visit);
  if (continued) return;
  for (Stay& stay : on.stays) {
    if (!stay.reported) stay.until = absl::InfinitePast();
  }
}

void PodIndex::Seen(const NodeLayout& layout, absl::Time until, bool here, Visit& visit) {
  const auto see = [&](const Key& key) {
    Stay& stay = StayOf(key, visit);
    stay.until = std::max(stay.until, until);
    stay.here |= here;
    stay.reported = true;
  };
  for (const Pod& pod : layout.pods) {
    see({.pods = {pod.namespace_name, ""}});
    if (HasUnresolvedOwner(pod)) see({.pods = {pod.namespace_name, kUnresolvedOwner}});
    const bool ambiguous = IsAmbiguous(pod);
    for (std::string& name : OwnerNames(pod)) {
      if (ambiguous) see({.pods = {pod.namespace_name, name}, .ambiguous = true});
      see({.pods = {pod.namespace_name, std::move(name)}});
    }
  }
}

PodIndex::Entries::iterator PodIndex::EntryOf(const Key& key) {
  const auto known = entries_.find(key);
  if (known != entries_.end()) return known->second;
  held_.push_back({.key = key});
  return entries_.emplace(key, std::prev(held_.end())).first->second;
}

PodIndex::Stay& PodIndex::StayOf(const Key& key, Visit& visit) {
  const auto entry = EntryOf(key);
  OnNode& on = visit.on;
  const auto [place, is_new] = visit.places.emplace(&*entry, on.stays.size());
  if (!is_new) return on.stays[place->second];
  entry->nodes.insert(visit.node);
  if (key.pods.owner.empty()) on.namespaces.insert(key.pods.namespace_name);
  on.stays.push_back({.entry = entry, .until = absl::InfinitePast()});
  return on.stays.back();
}

void PodIndex::EndStays(const std::string& node, absl::Time now, OnNode& on) {
  on.due = absl::InfiniteFuture();
  for (Stay& stay : on.stays) {
    if (stay.here) continue;
    if (now - stay.until > horizon_) {
      stay.entry->nodes.erase(node);
      const PodsOf& pods = stay.entry->key.pods;
      if (pods.owner.empty()) on.namespaces.erase(pods.namespace_name);
    } else {
      on.due = std::min(on.due, stay.until + horizon_);
    }
  }
}

bool PodIndex::IsDue(const std::string& node, const NodeHistory& history) const {
  const auto found = on_node_.find(node);
  return found != on_node_.end() && history.NewestAt() > found->second.due;
}

void PodIndex::SetUnattributed(const std::string& node, const NodeLayout& newest, bool same,
                               int64_t generation) {
  const bool known = newest.attribution.state == Attribution::State::kKnown;
  const bool was = unattributed_.nodes.erase(node) > 0;
  if (!known) unattributed_.nodes.insert(node);
  // Whatever it reads, its GPUs count for nobody, but where none asks and those in use do.
  const bool as_before = known == !was && (known || (same && AnyAsksKubelet()));
  if (!as_before) unattributed_.generation = generation;
}

void PodIndex::SetAsking(const std::string& node, bool asks, int64_t generation) {
  const bool any = AnyAsksKubelet();
  if (asks) {
    asking_.insert(node);
  } else {
    asking_.erase(node);
  }
  if (AnyAsksKubelet() != any) unattributed_.generation = generation;
}

void PodIndex::Removed(const std::string& node, int64_t generation) {
  for (const Stay& stay : on_node_[node].stays) {
    stay.entry->nodes.erase(node);
    Touch(stay.entry, generation);
  }
  on_node_.erase(node);
  ForgetNames();
  SetAsking(node, false, generation);
  if (unattributed_.nodes.erase(node) > 0) unattributed_.generation = generation;
}

void PodIndex::Touch(Entries::iterator entry, int64_t generation) {
  Entries& from = entry->left ? left_ : held_;
  entry->left = entry->nodes.empty();
  Entries& to = entry->left ? left_ : held_;
  entry->generation = generation;
  to.splice(to.end(), from, entry);
}

void PodIndex::ForgetNames() {
  while (left_.size() > kMostLeft) {
    forgotten_ = left_.front().generation;
    entries_.erase(left_.front().key);
    left_.pop_front();
  }
}

const PodIndex::Entry* PodIndex::Find(const PodsOf& pods, bool ambiguous) const {
  const auto found = entries_.find(Key{.pods = pods, .ambiguous = ambiguous});
  return found == entries_.end() ? nullptr : &*found->second;
}

bool PodIndex::HasNodes(const PodsOf& pods, bool ambiguous) const {
  const Entry* const entry = Find(pods, ambiguous);
  return entry != nullptr && !entry->nodes.empty();
}

const std::set<std::string>* PodIndex::NamespacesOn(const std::string& node) const {
  const auto found = on_node_.find(node);
  const bool unknown = unattributed_.nodes.contains(node) || found == on_node_.end();
  return unknown ? nullptr : &found->second.namespaces;
}

std::vector<PodsOf> PodIndex::ChangedSince(int64_t generation) const {
  std::vector<PodsOf> changed;
  for (const Entries* entries : {&held_, &left_}) {
    for (auto each = entries->rbegin(); each != entries->rend(); ++each) {
      if (each->generation <= generation) break;
      if (!each->key.ambiguous) changed.push_back(each->key.pods);
    }
  }
  return changed;
}

bool PodIndex::Knows(const PodInterest& wanted) const {
  if (wanted.owner.empty()) return false;
  if (!wanted.or_whoevers) return true;
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
      if (found.others.size() >= kMostOthers) return;
      if (!found.names.contains(node)) found.others.insert(node);
    }
  }
}

PodIndex::Nodes PodIndex::Of(const PodInterest& wanted) const {
  Nodes found{.names = unattributed_.nodes, .generation = unattributed_.generation};
  const std::string owner = Knows(wanted) ? wanted.owner : "";
  const auto add = [&](const PodsOf& pods) {
    const Entry* const entry = Find(pods);
    found.generation =
        std::max(found.generation, entry == nullptr ? forgotten_ : entry->generation);
    if (entry != nullptr) found.names.insert(entry->nodes.begin(), entry->nodes.end());
  };
  for (const std::string& name : wanted.namespaces) {
    add({name, owner});
    if (!owner.empty()) add({name, kUnresolvedOwner});
  }
  if (!owner.empty() && found.names.size() == unattributed_.nodes.size()) AddOthers(wanted, found);
  return found;
}

}  // namespace gpuscaler
