#include "signal/found_engines.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace gpuscaler {
namespace {

// If agents do not discover the source's engines, the trigger names what to read.
bool UsesDiscovery(const LeasedSource& leased) {
  return std::holds_alternative<DiscoveredEngines>(leased.source.target);
}

bool HasAny(const std::set<std::string>& all, const std::map<std::string, NamespaceEngines>& some) {
  return std::ranges::any_of(some, [&](const auto& one) { return all.contains(one.first); });
}

void Append(const auto& some, auto& all) { all.insert(all.end(), some.begin(), some.end()); }

}  // namespace

void NodeEngines::Add(const EngineAddress& engine_address) {
  const auto of = namespaces.find(engine_address.namespace_name);
  if (of != namespaces.end()) of->second.engines.insert(engine_address);
}

void NodeEngines::Add(const MissingEngine& pod) {
  const auto of = namespaces.find(pod.namespace_name);
  if (of != namespaces.end()) of->second.missing_engines.push_back(pod);
}

void NodeEngines::Add(const std::shared_ptr<const SignalSeries>& record) {
  namespaces_of_records.insert(record->namespace_name);
  const auto of = namespaces.find(record->namespace_name);
  if (of != namespaces.end()) of->second.capacity_records.push_back(record);
}

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
  for (const LeasedSource& leased : store_.LeasedSources(now)) {
    if (!UsesDiscovery(leased)) continue;
    for (const std::string& name : NamespacesOf(leased.source)) {
      all.namespaces[name].Add(
          {.histograms = leased.needs_histograms, .look_back = leased.look_back});
    }
  }
  return all;
}

void FoundEngines::SetNodes(const EngineSubscription& subscribed,
                            const std::set<std::string>& nodes, absl::Time now) {
  MutexLock lock(mutex_);
  UpdateSources(subscribed, now);
  subscribed_ = subscribed;
  const size_t gone =
      std::erase_if(nodes_, [&](const auto& node) { return !nodes.contains(node.first); });
  for (const std::string& node : nodes) nodes_[node].KeepOnly(subscribed);
  for (auto& [source, state] : sources_) {
    if (gone > 0 || state.is_due || !state.is_complete) ListAll(source, state, now);
  }
}

// Leaves out a source with a namespace that is not in `subscribed`: `nodes` was chosen without it.
// The next SetNodes() adds the source.
void FoundEngines::UpdateSources(const EngineSubscription& subscribed, absl::Time now) {
  std::map<SignalSource, SourceState> before = std::exchange(sources_, {});
  for (const LeasedSource& each : store_.LeasedSources(now)) {
    if (!UsesDiscovery(each)) continue;
    SourceState state{.subscribed_since = each.since, .namespaces = NamespacesOf(each.source)};
    if (!std::ranges::all_of(state.namespaces, [&](const std::string& name) {
          return subscribed.namespaces.contains(name);
        })) {
      continue;
    }
    const auto known = before.find(each.source);
    const bool is_same = known != before.end() && known->second.subscribed_since == each.since;
    sources_.emplace(each.source, is_same ? std::move(known->second) : std::move(state));
  }
}

// Starts at the node that was missing last time. In a large fleet nodes report one after another,
// so the nodes before it have most likely reported, and are not checked again each time.
bool FoundEngines::HaveAllReported(SourceState& source) const {
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

void FoundEngines::SetEngines(const std::string& node, const absl::StatusOr<NodeEngines>& found,
                              absl::Time at) {
  MutexLock lock(mutex_);
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  NodeReport& reported = known->second;
  const NodeReport before = reported;
  reported.has_reported = true;
  reported.status = found.status();
  if (found.ok()) reported.Replace(*found, subscribed_);
  if (reported == before) return;
  for (auto& [source, state] : sources_) {
    const bool concerns =
        !before.status.ok() || !found.ok() || HasAny(state.namespaces, found->namespaces);
    if (!concerns) continue;
    // In a fleet many nodes report that they have no engine. The report of the last missing node
    // updates the list at once; any other waits for the next SetNodes().
    const bool has_engines =
        before.HasAnyIn(state.namespaces) || reported.HasAnyIn(state.namespaces);
    if (has_engines || (!state.is_complete && HaveAllReported(state))) {
      ListAll(source, state, at);
    } else {
      state.is_due = true;
    }
  }
}

bool FoundEngines::NodeReport::HasReported(const std::set<std::string>& subscribed) const {
  return has_reported && (!status.ok() || std::ranges::includes(reported, subscribed));
}

bool FoundEngines::NodeReport::HasAnyIn(const std::set<std::string>& subscribed) const {
  return std::ranges::any_of(namespaces, [&](const auto& of) {
    return !of.second.engines.empty() && subscribed.contains(of.first);
  });
}

void FoundEngines::NodeReport::Replace(const NodeEngines& found,
                                       const EngineSubscription& subscribed) {
  for (const auto& [name, of] : found.namespaces) {
    if (!subscribed.namespaces.contains(name)) continue;
    if (!found.past_readings_pending) reported.insert(name);
    if (of == NamespaceEngines()) {
      namespaces.erase(name);
    } else {
      namespaces.insert_or_assign(name, of);
    }
  }
}

void FoundEngines::NodeReport::KeepOnly(const EngineSubscription& subscribed) {
  const auto is_unsubscribed = [&](const std::string& name) {
    return !subscribed.namespaces.contains(name);
  };
  std::erase_if(reported, is_unsubscribed);
  std::erase_if(namespaces, [&](const auto& of) { return is_unsubscribed(of.first); });
}

void FoundEngines::ListAll(const SignalSource& source, SourceState& state, absl::Time at) {
  std::vector<EngineAddress> engines;
  std::vector<MissingEngine> missing_engines;
  CapacityRecords capacity_records;
  const bool may_wait = !state.is_complete && at - state.subscribed_since < kEngineListTimeout;
  state.is_complete = true;
  state.is_due = false;
  for (const auto& [node, reported] : nodes_) {
    const bool is_awaited = may_wait && !reported.HasReported(state.namespaces);
    if (is_awaited) state.is_complete = false;
    const absl::Status why = reported.has_reported && !is_awaited
                                 ? reported.status
                                 : absl::UnavailableError("no agent has looked there yet");
    if (!why.ok()) {
      missing_engines.push_back(
          {.node = node, .why = std::string(why.message()), .is_awaited = is_awaited});
    }
    for (const std::string& name : state.namespaces) {
      const auto of = reported.namespaces.find(name);
      if (of == reported.namespaces.end()) continue;
      Append(of->second.engines, engines);
      Append(of->second.missing_engines, missing_engines);
      Append(of->second.capacity_records, capacity_records);
    }
  }
  if (missing_engines_ == nullptr || *missing_engines_ != missing_engines) {
    missing_engines_ =
        std::make_shared<const std::vector<MissingEngine>>(std::move(missing_engines));
  }
  store_.SetEngines(source, engines, at, missing_engines_, capacity_records);
}

void FoundEngines::AddReading(const std::string& node, const EngineAddress& engine_address,
                              const EngineUpdate& update) {
  MutexLock lock(mutex_);
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  const auto& namespaces = known->second.namespaces;
  const auto of = namespaces.find(engine_address.namespace_name);
  if (of == namespaces.end() || !of->second.engines.contains(engine_address)) return;
  for (const auto& [source, state] : sources_) {
    if (state.namespaces.contains(engine_address.namespace_name))
      store_.AddReading(source, engine_address, update);
  }
}

}  // namespace gpuscaler
