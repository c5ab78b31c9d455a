#include "fleet/telemetry_bounds.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/status_macros.h"
#include "fleet/wire_text.h"
#include "model/pod.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// NVML_DEVICE_UUID_V2_BUFFER_SIZE; a pod's has 36 characters.
constexpr size_t kLongestUuid = 96;

// A fabric's UUID and a clique's number have 47 characters.
constexpr size_t kLongestLinkGroup = 96;

// A kubelet runs 110 pods by default. As many may share a GPU.
constexpr int kMaxPods = 4096;
constexpr int kMaxNamespacesOfEngines = 4096;

constexpr int kMaxIndex = 1024;

// Each run is shorter than the one before it, so there are a few dozen.
constexpr int kMaxRuns = 1024;

// Processes of one GPU. Contexts take hundreds of MiB each.
constexpr int kMaxProcesses = 4096;

constexpr int kMaxOwnersOfPod = 32;  // the nearest come first
constexpr int kMaxGaps = 64;         // one per field, with room for newer agents
constexpr int kMaxEmptied = 64;

template <typename List>
void Shorten(int most, List& list) {
  while (list.size() > most) list.RemoveLast();
}

bool IsText(const std::string& text) { return text.size() <= kLongestText && !HasControl(text); }

absl::Status BoundNode(wire::Node& node) {
  RETURN_IF_ERROR(CheckName("a node's name", node.name(), kLongestObjectName));
  RETURN_IF_ERROR(
      CheckCount("namespaces of engines", node.engine_namespaces_size(), kMaxNamespacesOfEngines));
  for (const std::string& name : node.engine_namespaces()) {
    RETURN_IF_ERROR(CheckName("a namespace's name", name, kLongestLabel));
  }
  if (!IsText(node.source())) CleanText(*node.mutable_source());
  if (!IsText(node.driver_version())) CleanText(*node.mutable_driver_version());
  if (!IsText(node.agent_version())) CleanText(*node.mutable_agent_version());
  return absl::OkStatus();
}

absl::Status BoundGpu(wire::Gpu& gpu) {
  RETURN_IF_ERROR(CheckName("a GPU's UUID", gpu.uuid(), kLongestUuid));
  RETURN_IF_ERROR(CheckName("a GPU's UUID", gpu.parent_uuid(), kLongestUuid));
  RETURN_IF_ERROR(CheckName("a GPU's link group", gpu.link_group(), kLongestLinkGroup));
  RETURN_IF_ERROR(CheckCount("as a GPU's index", gpu.index(), kMaxIndex));
  RETURN_IF_ERROR(CheckCount("holders of a GPU", gpu.holders().holders_size(), kMaxPods));
  RETURN_IF_ERROR(CheckCount("times of memory", gpu.steady_memory().past_size(), kMaxRuns));
  for (const wire::Holder& holder : gpu.holders().holders()) {
    RETURN_IF_ERROR(CheckName("a container's name", holder.container(), kLongestLabel));
  }
  if (!IsText(gpu.name())) CleanText(*gpu.mutable_name());
  if (gpu.has_processes()) Shorten(kMaxProcesses, *gpu.mutable_processes()->mutable_processes());
  Shorten(kMaxEmptied, *gpu.mutable_emptied());
  if (!gpu.has_gaps()) return absl::OkStatus();
  Shorten(kMaxGaps, *gpu.mutable_gaps()->mutable_gaps());
  for (wire::Gap& gap : *gpu.mutable_gaps()->mutable_gaps()) {
    if (!IsText(gap.detail())) CleanText(*gap.mutable_detail());
  }
  return absl::OkStatus();
}

bool IsPlausible(const wire::Owner& owner) {
  return !owner.kind().empty() && owner.kind().size() <= kLongestLabel && !owner.name().empty() &&
         owner.name().size() <= kLongestObjectName && owner.group().size() <= kLongestObjectName &&
         !HasControl(owner.kind()) && !HasControl(owner.name()) && !HasControl(owner.group());
}

absl::Status BoundReading(wire::Reading& reading) {
  RETURN_IF_ERROR(CheckCount("pods of a node", reading.pods().pods_size(), kMaxPods));
  for (wire::Gpu& gpu : *reading.mutable_gpus()) RETURN_IF_ERROR(BoundGpu(gpu));
  if (!IsText(reading.attribution().why()))
    CleanText(*reading.mutable_attribution()->mutable_why());
  if (!reading.has_pods()) return absl::OkStatus();
  for (wire::Pod& pod : *reading.mutable_pods()->mutable_pods()) RETURN_IF_ERROR(BoundPod(pod));
  return absl::OkStatus();
}

}  // namespace

absl::Status BoundPod(wire::Pod& pod) {
  RETURN_IF_ERROR(CheckName("a namespace's name", pod.namespace_name(), kLongestLabel));
  RETURN_IF_ERROR(CheckName("a pod's name", pod.name(), kLongestObjectName));
  RETURN_IF_ERROR(CheckName("a pod's UID", pod.uid(), kLongestUuid));
  if (pod.name().empty() || pod.namespace_name().empty()) {
    return absl::InvalidArgumentError("a pod without a name, or without a namespace");
  }
  if (pod.address().size() > kLongestAddress || HasControl(pod.address())) pod.clear_address();
  auto& owners = *pod.mutable_owners();
  owners.erase(std::remove_if(owners.begin(), owners.end(),
                              [](const wire::Owner& owner) { return !IsPlausible(owner); }),
               owners.end());
  Shorten(kMaxOwnersOfPod, owners);
  return absl::OkStatus();
}

absl::Status BoundMessage(wire::Telemetry& message) {
  if (message.has_node()) RETURN_IF_ERROR(BoundNode(*message.mutable_node()));
  if (!IsText(message.trouble())) CleanText(*message.mutable_trouble());
  for (wire::Reading& reading : *message.mutable_readings()) RETURN_IF_ERROR(BoundReading(reading));
  return absl::OkStatus();
}

}  // namespace gpuscaler
