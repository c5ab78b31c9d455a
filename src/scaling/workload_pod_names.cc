#include "scaling/workload_pod_names.h"

#include "scaling/pod_replicas.h"
#include "scaling/replicas.h"

namespace gpuscaler {
namespace {

void AddSelected(const PodSelection& selection, const NodeLayout& layout, WorkloadPodNames& own) {
  for (const Pod& pod : layout.pods) {
    if (selection.Has(pod)) own.Add(pod.name, pod.address);
  }
}

// Includes all pods that are kept: the look-back of a trigger is a part of these.
void AddAll(const PodSelection& selection, const NodeHistory& history, WorkloadPodNames& own) {
  const NodeLayout* seen = history.attributed.get();
  if (seen != nullptr) AddSelected(selection, *seen, own);
  for (const NodeRun& run : history.runs) {
    const NodeLayout* const layout = run.layout().get();
    if (layout != seen) AddSelected(selection, *layout, own);
    seen = layout;
  }
}

// A pod is identified by its name, whichever node reports its address
// (as EngineScope::AddressOf()).
void AddAddresses(const NodeHistory& history, WorkloadPodNames& own) {
  if (history.attributed == nullptr) return;
  for (const Pod& pod : history.attributed->pods) {
    if (own.MayHave(pod.name, "")) own.Add(pod.name, pod.address);
  }
}

}  // namespace

void WorkloadPodNames::Add(absl::string_view pod, absl::string_view address) {
  if (!pod.empty()) pods_.emplace(pod);
  if (!address.empty()) addresses_.emplace(address);
}

size_t WorkloadPodNames::size_bytes() const {
  constexpr size_t kOfEntry = 64;  // a node of a set, and its text on the heap
  return sizeof(*this) + (pods_.size() + addresses_.size()) * (sizeof(std::string) + kOfEntry);
}

std::shared_ptr<const WorkloadPodNames> WorkloadPodNamesOf(const Trigger& trigger,
                                                           const ScaledObjectRef& scaled_object,
                                                           const FleetHistory& fleet) {
  if (!trigger.engine_endpoint.url.empty() || !IsByOwner(trigger, fleet)) return nullptr;
  auto own = std::make_shared<WorkloadPodNames>();
  const auto selection = SelectionOf(trigger, scaled_object, fleet);
  if (!selection.ok()) return own;  // this error is the decision, whatever engines report
  for (const NodeState& state : fleet.nodes) AddAll(*selection, *state.history, *own);
  for (const NodeState& state : fleet.nodes) AddAddresses(*state.history, *own);
  return own;
}

}  // namespace gpuscaler
