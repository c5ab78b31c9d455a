#include "signal/found_engines.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace gpuscaler {
namespace {

bool IsFound(const SubscribedSignal& wanted) {
  return std::holds_alternative<DiscoveredEngines>(wanted.source.place);
}

bool HasAny(const std::set<std::string>& all, const std::vector<std::string>& some) {
  return std::ranges::any_of(some, [&](const std::string& one) { return all.contains(one); });
}

}  // namespace

FoundEngines::FoundEngines(SignalStore& store, AllowedNamespaces allowed)
    : store_(store), allowed_(std::move(allowed)) {}

std::set<std::string> FoundEngines::NamespacesOf(const SignalSource& source) const {
  std::set<std::string> namespaces = {source.namespace_name};
  const auto [first, last] = allowed_.equal_range(source.namespace_name);
  for (auto pair = first; pair != last; ++pair) namespaces.insert(pair->second);
  return namespaces;
}

EngineSubscription FoundEngines::Subscription(absl::Time now) {
  EngineSubscription all;
  for (const SubscribedSignal& wanted : store_.AllSubscribed(now)) {
    if (!IsFound(wanted)) continue;
    for (const std::string& name : NamespacesOf(wanted.source)) {
      all.namespaces[name].Add({.histograms = wanted.histograms, .look_back = wanted.look_back});
    }
  }
  return all;
}

void FoundEngines::Expect(const EngineSubscription& wanted, const std::set<std::string>& nodes,
                          absl::Time now) {
  MutexLock lock(mutex_);
  FollowSources(wanted, now);
  wanted_.clear();
  for (const auto& [name, interest] : wanted.namespaces) wanted_.insert(name);
  const size_t gone =
      std::erase_if(nodes_, [&](const auto& node) { return !nodes.contains(node.first); });
  for (const std::string& node : nodes) nodes_[node].KeepOnly(wanted);
  for (auto& [source, listed] : sources_) {
    if (gone > 0 || listed.is_due || !listed.is_complete) ListAll(source, listed, now);
  }
}

// Those of namespaces that were not wanted yet when the nodes were chosen have to wait.
void FoundEngines::FollowSources(const EngineSubscription& wanted, absl::Time now) {
  std::map<SignalSource, Listed> before = std::exchange(sources_, {});
  for (const SubscribedSignal& each : store_.AllSubscribed(now)) {
    if (!IsFound(each)) continue;
    Listed listed{.subscribed_since = each.since, .namespaces = NamespacesOf(each.source)};
    if (!std::ranges::all_of(listed.namespaces, [&](const std::string& name) {
          return wanted.namespaces.contains(name);
        })) {
      continue;
    }
    const auto known = before.find(each.source);
    const bool is_same = known != before.end() && known->second.subscribed_since == each.since;
    sources_.emplace(each.source, is_same ? std::move(known->second) : std::move(listed));
  }
}

// From the node on that was missing the last time: all of a large fleet tell one after another.
bool FoundEngines::HaveAllReported(Listed& source) const {
  const auto is_missing = [&](const auto& node) {
    return !node.second.HasReported(source.namespaces);
  };
  const auto from = nodes_.lower_bound(source.awaited);
  auto missing = std::find_if(from, nodes_.end(), is_missing);
  if (missing == nodes_.end()) {
    missing = std::find_if(nodes_.begin(), from, is_missing);
    if (missing == from) return true;
  }
  source.awaited = missing->first;
  return false;
}

void FoundEngines::List(const std::string& node, const absl::StatusOr<NodeEngines>& found,
                        absl::Time at) {
  MutexLock lock(mutex_);
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  Reported& reported = known->second;
  const Reported before = reported;
  reported.has_reported = true;
  reported.status = found.status();
  if (found.ok()) reported.Replace(*found, wanted_);
  if (reported == before) return;
  for (auto& [source, listed] : sources_) {
    const bool concerns =
        !before.status.ok() || !found.ok() || HasAny(listed.namespaces, found->namespaces);
    if (!concerns) continue;
    // Of a whole fleet each node that has none says so: for the last that is missing the list is
    // made at once, for any other the next Expect() is early enough.
    const bool has_engines =
        before.HasAnyIn(listed.namespaces) || reported.HasAnyIn(listed.namespaces);
    if (has_engines || (!listed.is_complete && HaveAllReported(listed))) {
      ListAll(source, listed, at);
    } else {
      listed.is_due = true;
    }
  }
}

bool FoundEngines::Reported::HasReported(const std::set<std::string>& wanted) const {
  return has_reported && (!status.ok() || std::ranges::includes(namespaces, wanted));
}

bool FoundEngines::Reported::HasAnyIn(const std::set<std::string>& wanted) const {
  return std::ranges::any_of(places, [&](const auto& of) { return wanted.contains(of.first); });
}

void FoundEngines::Reported::Replace(const NodeEngines& found,
                                     const std::set<std::string>& wanted) {
  std::set<std::string> looked_in;
  for (const std::string& name : found.namespaces) {
    if (wanted.contains(name)) looked_in.insert(name);
  }
  for (const std::string& name : looked_in) {
    if (!found.past_follows) namespaces.insert(name);
    places.erase(name);
    without.erase(name);
    left.erase(name);
  }
  for (const EnginePlace& place : found.places) {
    if (looked_in.contains(place.namespace_name)) places[place.namespace_name].insert(place);
  }
  for (const WithoutEngine& pod : found.without) {
    if (looked_in.contains(pod.namespace_name)) without[pod.namespace_name].push_back(pod);
  }
  for (const auto& engine : found.left) {
    if (looked_in.contains(engine->namespace_name)) left[engine->namespace_name].push_back(engine);
  }
}

void FoundEngines::Reported::KeepOnly(const EngineSubscription& wanted) {
  const auto is_unsubscribed = [&](const std::string& name) {
    return !wanted.namespaces.contains(name);
  };
  std::erase_if(namespaces, is_unsubscribed);
  std::erase_if(places, [&](const auto& each) { return is_unsubscribed(each.first); });
  std::erase_if(without, [&](const auto& each) { return is_unsubscribed(each.first); });
  std::erase_if(left, [&](const auto& each) { return is_unsubscribed(each.first); });
}

void FoundEngines::ListAll(const SignalSource& source, Listed& listed, absl::Time at) {
  std::vector<EnginePlace> places;
  std::vector<WithoutEngine> without;
  CapacityRecords left;
  const bool may_await = !listed.is_complete && at - listed.subscribed_since < kFoundWithin;
  listed.is_complete = true;
  listed.is_due = false;
  for (const auto& [node, reported] : nodes_) {
    const bool is_awaited = may_await && !reported.HasReported(listed.namespaces);
    if (is_awaited) listed.is_complete = false;
    const absl::Status why = reported.has_reported && !is_awaited
                                 ? reported.status
                                 : absl::UnavailableError("nobody has looked there yet");
    if (!why.ok()) {
      without.push_back(
          {.node = node, .why = std::string(why.message()), .is_awaited = is_awaited});
    }
    for (const std::string& name : listed.namespaces) {
      const auto of_places = reported.places.find(name);
      if (of_places != reported.places.end()) {
        places.insert(places.end(), of_places->second.begin(), of_places->second.end());
      }
      const auto of_pods = reported.without.find(name);
      if (of_pods != reported.without.end()) {
        without.insert(without.end(), of_pods->second.begin(), of_pods->second.end());
      }
      const auto of_left = reported.left.find(name);
      if (of_left != reported.left.end()) {
        left.insert(left.end(), of_left->second.begin(), of_left->second.end());
      }
    }
  }
  store_.ListEngines(source, places, at, without, left);
}

void FoundEngines::Take(const std::string& node, const EnginePlace& place,
                        const EngineUpdate& update) {
  MutexLock lock(mutex_);
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  const auto places = known->second.places.find(place.namespace_name);
  if (places == known->second.places.end() || !places->second.contains(place)) return;
  for (const auto& [source, listed] : sources_) {
    if (listed.namespaces.contains(place.namespace_name)) store_.TakeEngine(source, place, update);
  }
}

}  // namespace gpuscaler
