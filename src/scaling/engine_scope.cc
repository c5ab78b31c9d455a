#include "scaling/engine_scope.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "scaling/workload_pods.h"

namespace gpuscaler {
namespace {

bool HasBeenReady(const Pod& pod) { return pod.ready.value_or(false) || pod.was_ready; }

}  // namespace

bool IsInPod(const SignalSeries& engine, const Pod& pod) {
  return !engine.pod.empty() && engine.pod == pod.name &&
         engine.namespace_name == pod.namespace_name;
}

EngineScope::EngineScope(const DecisionInputs& decision_inputs, const Replicas& replicas)
    : inputs(decision_inputs),
      workload_replicas(replicas),
      engines_of_(by_owner ? replicas.replicas.size() : 0),
      records_(Records()) {
  for (const NodeState& state : inputs.fleet.nodes) {
    if (state.history->attributed == nullptr) continue;
    for (const Pod& pod : state.history->attributed->pods) {
      pods_[{pod.namespace_name, pod.name}] = &pod;
    }
  }
  Join();
}

void EngineScope::Join() {
  for (const SignalSeries& engine : signals.series) {
    const std::optional<size_t> owner = OwnerOf(engine);
    (owner ? engines_of_[*owner] : unmatched_).push_back(&engine);
  }
  // A single address of a single pod is its own, or leads to it.
  const bool one_each = endpoint_is_named && by_owner && signals.series.size() == 1 &&
                        unmatched_.size() == 1 && Present() == 1;
  if (!one_each) return;
  const auto present = std::ranges::find_if(workload_replicas.replicas, &Replica::present);
  engines_of_[static_cast<size_t>(present - workload_replicas.replicas.begin())] =
      std::move(unmatched_);
  unmatched_.clear();
}

EngineScope::Engines EngineScope::Records() const {
  Engines found;
  const CapacityRecords& all = signals.capacity_records;
  if (all.empty()) return found;
  if (!by_owner || endpoint_is_named) {
    for (const auto& record : all) found.push_back(record.get());
    return found;
  }
  PodsWithGpus seen;
  for (const Replica& replica : workload_replicas.replicas) {
    seen.holding.insert(seen.holding.end(), replica.pods.begin(), replica.pods.end());
  }
  for (const auto& record : all) seen.past.push_back(record->pod_with_owners.get());
  const absl::StatusOr<PodSelection> selection = SelectPods(trigger, inputs.scaled_object, seen);
  if (!selection.ok()) return found;
  for (const auto& record : all) {
    if (selection->Has(*record->pod_with_owners)) found.push_back(record.get());
  }
  return found;
}

EngineScope::Engines EngineScope::All() const {
  Engines all = CountsUnmatched() ? unmatched_ : Engines();
  for (const Engines& engines : engines_of_) all.insert(all.end(), engines.begin(), engines.end());
  return all;
}

EngineScope::Engines EngineScope::PresentEngines() const {
  Engines engines = CountsUnmatched() ? unmatched_ : Engines();
  for (size_t i = 0; i < engines_of_.size(); ++i) {
    if (workload_replicas.replicas[i].present)
      engines.insert(engines.end(), engines_of_[i].begin(), engines_of_[i].end());
  }
  return engines;
}

std::optional<size_t> EngineScope::OwnerOf(const SignalSeries& engine) const {
  if (!by_owner) return std::nullopt;
  const auto owner = std::ranges::find_if(
      workload_replicas.replicas, [&](const Replica& replica) { return IsOf(engine, replica); });
  if (owner == workload_replicas.replicas.end()) return std::nullopt;
  return static_cast<size_t>(owner - workload_replicas.replicas.begin());
}

bool EngineScope::IsOf(const SignalSeries& engine, const Replica& replica) const {
  return std::ranges::any_of(replica.pods, [&](const Pod* pod) {
    return IsInPod(engine, *pod) || (!engine.address.empty() && engine.address == AddressOf(*pod));
  });
}

bool EngineScope::IsOneAddressOfSeveral() const {
  return endpoint_is_named && by_owner && signals.series.size() == 1 && !unmatched_.empty() &&
         Present() >= 2;
}

bool EngineScope::HasAddress(const Replica& replica) const {
  return std::ranges::any_of(replica.pods,
                             [this](const Pod* pod) { return !AddressOf(*pod).empty(); });
}

bool EngineScope::HasNoEngineOrAddress(size_t replica) const {
  return workload_replicas.replicas[replica].present && engines_of_[replica].empty() &&
         !HasAddress(workload_replicas.replicas[replica]);
}

bool EngineScope::WasReady(const Replica& replica) const {
  return !replica.pods.empty() && std::ranges::all_of(replica.pods, [this](const Pod* pod) {
    return HasBeenReady(NewestOf(*pod));
  });
}

bool EngineScope::IsReadyAndNotEnding(const Replica& replica) const {
  return !replica.pods.empty() && std::ranges::all_of(replica.pods, [this](const Pod* pod) {
    const Pod& newest = NewestOf(*pod);
    return HasBeenReady(newest) && newest.is_terminating == false;
  });
}

int64_t EngineScope::Present() const {
  return std::ranges::count_if(workload_replicas.replicas, &Replica::present);
}

const Pod& EngineScope::NewestOf(const Pod& pod) const {
  const auto found = pods_.find({pod.namespace_name, pod.name});
  return found == pods_.end() ? pod : *found->second;
}

const std::string& EngineScope::AddressOf(const Pod& pod) const {
  const std::string& known = NewestOf(pod).address;
  return known.empty() ? pod.address : known;
}

}  // namespace gpuscaler
