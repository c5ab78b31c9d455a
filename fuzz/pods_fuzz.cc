// Pods in a kubelet's list, their owners, and the GPUs that their annotations and labels name.
// Tenants choose names, labels, annotations and references.
#include <algorithm>
#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"
#include "fuzz_assert.h"
#include "kubelet/kubelet_pods.h"
#include "message_mutator.h"
#include "model/pod.h"
#include "name_hash.h"
#include "pod.pb.h"
#include "podsapi.pb.h"
#include "workload/owner_references.h"
#include "workload/reserved_gpus.h"
#include "workload/vgpu_annotation.h"

namespace gpuscaler {
namespace {

constexpr char kGpu[] = "GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b5a";
constexpr char kVirtualGpu[] = "GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b5a-3";

PodDevice Gpu(const char* container, const char* id) {
  return {.container = container, .resource = "nvidia.com/gpu", .id = id};
}

// Two containers with a virtual GPU each and one with a whole GPU. An annotation must not change
// the last one.
void CheckAllocatedGpus(const KubeletPod& pod) {
  const PodDevice whole = Gpu("c", kGpu);
  const std::vector<PodDevice> devices = {Gpu("a", kVirtualGpu), Gpu("b", kVirtualGpu), whole};
  const std::vector<PodDevice> allocated = WithAllocatedGpus(devices, pod);
  if (allocated == devices) return;
  FUZZ_ASSERT(std::ranges::count(allocated, whole) == 1);
  for (const PodDevice& device : allocated) {
    FUZZ_ASSERT(device == whole || device.id.ends_with("::0"));
  }
  for (const char* const container : {"a", "b"}) {
    FUZZ_ASSERT(std::ranges::find(allocated, container, &PodDevice::container) != allocated.end());
  }
}

void CheckPod(const KubeletPod& pod) {
  FUZZ_ASSERT(!pod.is_in_node_network || !pod.address.empty());
  for (const OwnerReference& owner : pod.owner_references) {
    FUZZ_ASSERT(owner.kind.size() <= kLongestLabel && owner.name.size() <= kLongestObjectName);
    FUZZ_ASSERT(std::ranges::none_of(owner.name, [](unsigned char c) { return c < ' '; }));
  }
  const std::vector<PodOwner> owners = OwnersByReference(pod);
  for (const PodOwner& owner : owners) FUZZ_ASSERT(!owner.kind.empty() && !owner.name.empty());
  OwnerNames({.namespace_name = pod.namespace_name, .name = pod.name, .owners = owners});
  CheckAllocatedGpus(pod);
  const GpuRequest request = GpuRequestOf(pod);
  FUZZ_ASSERT(!request.fraction || (*request.fraction > 0 && *request.fraction <= 1));
  FUZZ_ASSERT(!request.memory_mib || *request.memory_mib > 0);
}

// Half of the pods are listed with a GPU. The GPUs of those with a group may be reserved for the
// others.
void CheckReservedGpus(const std::vector<KubeletPod>& pods) {
  KubeletPodsByName reported;
  for (const KubeletPod& pod : pods) reported[{pod.namespace_name, pod.name}] = pod;
  reported.erase({"shop", "unknown"});
  std::vector<PodDevices> before = {{"shop", "unknown", {Gpu("main", kGpu)}}};
  for (const auto& [name, pod] : reported) {
    if (HashOf(pod.name) % 2 == 0) continue;
    before.push_back({name.first, name.second, {Gpu("main", kGpu)}});
  }
  std::vector<PodDevices> given = before;
  GiveReservedGpus(reported, {"kai-resource-reservation"}, given);
  FUZZ_ASSERT(given[0] == before[0]);
  std::set<std::pair<std::string, std::string>> names;
  for (const PodDevices& pod : given) {
    FUZZ_ASSERT(names.emplace(pod.namespace_name, pod.name).second);
    if (std::ranges::find(before, pod) != before.end()) continue;
    const auto sharing = reported.find({pod.namespace_name, pod.name});
    FUZZ_ASSERT(sharing != reported.end() && !sharing->second.has_ended && !pod.devices.empty());
    FUZZ_ASSERT(pod.namespace_name != "kai-resource-reservation");
    for (const PodDevice& device : pod.devices) FUZZ_ASSERT(device.id == absl::StrCat(kGpu, "::0"));
  }
}

void CheckAnswer(const std::vector<kubernetes::Pod>& pods) {
  v1alpha1::ListPodsResponse response;
  for (const kubernetes::Pod& pod : pods) response.add_pods(pod.SerializeAsString());
  const auto listed = PodsIn(response);
  FUZZ_ASSERT(listed.ok() && listed->size() == pods.size());
  for (size_t i = 0; i < pods.size(); ++i) {
    const kubernetes::ObjectMeta& sent = pods[i].metadata();
    FUZZ_ASSERT((*listed)[i].name == sent.name() && (*listed)[i].uid == sent.uid());
    CheckPod((*listed)[i]);
  }
  CheckReservedGpus(*listed);
}

// A response with one pod that may be malformed.
void CheckBytes(std::string bytes) {
  v1alpha1::ListPodsResponse response;
  response.add_pods(std::move(bytes));
  const auto listed = PodsIn(response);
  FUZZ_ASSERT(listed.ok() || absl::IsInternal(listed.status()));
  if (listed.ok()) CheckPod(listed->front());
}

void CheckMalformed(const kubernetes::Pod& pod) {
  std::string bytes = pod.SerializeAsString();
  if (bytes.empty()) return;
  const uint32_t hash = HashOf(bytes);
  const size_t at = hash % bytes.size();
  CheckBytes(bytes.substr(0, at));
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << (hash >> 29)));
  CheckBytes(std::move(bytes));
}

}  // namespace
}  // namespace gpuscaler

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return gpuscaler::MutateMessages<gpuscaler::kubernetes::Pod>(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto pods = gpuscaler::MessagesIn<gpuscaler::kubernetes::Pod>(
      {reinterpret_cast<const char*>(data), size});
  gpuscaler::CheckAnswer(pods);
  for (const auto& pod : pods) gpuscaler::CheckMalformed(pod);
  return 0;
}
