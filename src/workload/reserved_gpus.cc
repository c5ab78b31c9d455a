#include "workload/reserved_gpus.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// KAI pkg/common/constants/constants.go and pkg/common/resources/gpu_sharing.go.
constexpr absl::string_view kGroupLabel = "runai-gpu-group";
constexpr absl::string_view kGroupPrefix = "runai-gpu-group/";  // pods with parts of several GPUs

std::set<std::string> GroupsOf(const KubeletPod& pod) {
  std::set<std::string> groups;
  for (const auto& [label, group] : pod.labels) {
    if (label == kGroupLabel || absl::StartsWith(label, kGroupPrefix)) groups.insert(group);
  }
  return groups;
}

std::string Annotation(const KubeletPod& pod, const char* key) {
  const auto found = pod.annotations.find(key);
  return found == pod.annotations.end() ? "" : found->second;
}

std::optional<double> PositiveNumber(const std::string& text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number) || number <= 0) return {};
  return number;
}

PodDevices& ListingOf(const KubeletPod& pod, std::vector<PodDevices>& listed) {
  const auto found = std::ranges::find_if(listed, [&](const PodDevices& other) {
    return other.namespace_name == pod.namespace_name && other.name == pod.name;
  });
  if (found != listed.end()) return *found;
  return listed.emplace_back(PodDevices{.namespace_name = pod.namespace_name, .name = pod.name});
}

}  // namespace

bool IsReservation(absl::string_view namespace_name) {
  return namespace_name == "kai-resource-reservation" || namespace_name == "runai-reservation";
}

void GiveReservedGpus(const KubeletPodsByName& reported, std::vector<PodDevices>& listed) {
  std::map<std::string, std::vector<PodDevice>> reserved;  // key: the group
  std::erase_if(listed, [&](const PodDevices& pod) {
    if (!IsReservation(pod.namespace_name)) return false;
    const auto known = reported.find({pod.namespace_name, pod.name});
    if (known == reported.end()) return false;
    const std::set<std::string> groups = GroupsOf(known->second);
    for (const std::string& group : groups) {
      std::ranges::copy(pod.devices, std::back_inserter(reserved[group]));
    }
    return !groups.empty();
  });
  if (reserved.empty()) return;
  for (const auto& [name, pod] : reported) {
    if (IsReservation(pod.namespace_name) || pod.has_ended) continue;
    for (const std::string& group : GroupsOf(pod)) {
      const auto devices = reserved.find(group);
      if (devices == reserved.end()) continue;
      for (PodDevice device : devices->second) {
        device.container = Annotation(pod, "gpu-fraction-container-name");
        device.id = absl::StrCat(device.id, "::0");  // a share, as of time slicing
        ListingOf(pod, listed).devices.push_back(std::move(device));
      }
    }
  }
}

GpuPart PartOf(const KubeletPod& pod) {
  GpuPart part = {.fraction = PositiveNumber(Annotation(pod, "gpu-fraction")),
                  .memory_mib = PositiveNumber(Annotation(pod, "gpu-memory"))};
  if (part.fraction > 1) part.fraction.reset();
  return part;
}

}  // namespace gpuscaler
