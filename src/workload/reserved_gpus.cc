#include "workload/reserved_gpus.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "workload/gpu_holders.h"

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

void GiveReservedGpus(const KubeletPodsByName& reported, const std::set<std::string>& namespaces,
                      std::vector<PodDevices>& listed) {
  std::set<std::pair<std::string, std::string>> with_gpu;
  for (const PodDevices& pod : listed) {
    if (HasGpu(pod.devices)) with_gpu.emplace(pod.namespace_name, pod.name);
  }
  std::map<std::string, std::vector<const KubeletPod*>> sharing;  // key: the group
  for (const auto& [name, pod] : reported) {
    if (namespaces.contains(pod.namespace_name) || with_gpu.contains(name) || pod.has_ended) {
      continue;
    }
    for (const std::string& group : GroupsOf(pod)) sharing[group].push_back(&pod);
  }
  std::map<std::string, std::vector<PodDevice>> reserved;  // key: the group
  std::erase_if(listed, [&](const PodDevices& pod) {
    const std::pair<std::string, std::string> name = {pod.namespace_name, pod.name};
    const auto known = reported.find(name);
    if (known == reported.end() || !with_gpu.contains(name)) return false;
    const std::set<std::string> groups = GroupsOf(known->second);
    const bool is_shared = std::ranges::any_of(
        groups, [&](const std::string& group) { return sharing.contains(group); });
    if (groups.empty() || !(is_shared || namespaces.contains(pod.namespace_name))) return false;
    for (const std::string& group : groups) {
      std::ranges::copy(pod.devices, std::back_inserter(reserved[group]));
    }
    return true;
  });
  for (const auto& [group, devices] : reserved) {
    for (const KubeletPod* const pod : sharing[group]) {
      for (PodDevice device : devices) {
        device.container = Annotation(*pod, "gpu-fraction-container-name");
        device.id = absl::StrCat(device.id, "::0");  // a share, as with time slicing
        ListingOf(*pod, listed).devices.push_back(std::move(device));
      }
    }
  }
}

GpuRequest GpuRequestOf(const KubeletPod& pod) {
  GpuRequest request = {.fraction = PositiveNumber(Annotation(pod, "gpu-fraction")),
                        .memory_mib = PositiveNumber(Annotation(pod, "gpu-memory"))};
  if (request.fraction > 1) request.fraction.reset();
  return request;
}

}  // namespace gpuscaler
