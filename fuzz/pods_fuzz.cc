// Pods in a kubelet's list, and their owners. Tenants choose names, labels and references.
#include <algorithm>
#include <cstdint>

#include "fuzz_assert.h"
#include "kubelet/kubelet_pods.h"
#include "message_mutator.h"
#include "model/pod.h"
#include "pod.pb.h"
#include "podsapi.pb.h"
#include "workload/owner_references.h"
#include "workload/vgpu_annotation.h"

namespace gpuscaler {
namespace {

// Two containers with a virtual GPU each and one with a whole GPU. An annotation must not change
// the last one.
void CheckAllocatedGpus(const KubeletPod& pod) {
  const PodDevice whole = {.container = "c", .resource = "nvidia.com/gpu", .id = "GPU-c"};
  const std::vector<PodDevice> devices = {
      {.container = "a", .resource = "nvidia.com/gpu", .id = "GPU-a-1"},
      {.container = "b", .resource = "nvidia.com/gpu", .id = "GPU-b-2"},
      whole};
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

void CheckPod(const KubeletPod& pod, const kubernetes::Pod& message) {
  FUZZ_ASSERT(pod.name == message.metadata().name() && pod.uid == message.metadata().uid());
  FUZZ_ASSERT(!pod.is_in_node_network || !pod.address.empty());
  for (const OwnerReference& owner : pod.owner_references) {
    FUZZ_ASSERT(owner.kind.size() <= kLongestLabel && owner.name.size() <= kLongestObjectName);
    FUZZ_ASSERT(std::ranges::none_of(owner.name, [](unsigned char c) { return c < ' '; }));
  }
  const std::vector<PodOwner> owners = OwnersByReference(pod);
  for (const PodOwner& owner : owners) FUZZ_ASSERT(!owner.kind.empty() && !owner.name.empty());
  OwnerNames({.namespace_name = pod.namespace_name, .name = pod.name, .owners = owners});
  CheckAllocatedGpus(pod);
}

void CheckAnswer(const std::vector<kubernetes::Pod>& pods) {
  v1alpha1::ListPodsResponse response;
  for (const kubernetes::Pod& pod : pods) response.add_pods(pod.SerializeAsString());
  const auto listed = PodsIn(response);
  FUZZ_ASSERT(listed.ok() && listed->size() == pods.size());
  for (size_t i = 0; i < pods.size(); ++i) CheckPod((*listed)[i], pods[i]);
}

// A response with one pod that may be malformed.
void CheckBytes(absl::string_view bytes) {
  v1alpha1::ListPodsResponse response;
  response.add_pods(std::string(bytes));
  const auto listed = PodsIn(response);
  FUZZ_ASSERT(listed.ok() || absl::IsInternal(listed.status()));
}

}  // namespace
}  // namespace gpuscaler

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return gpuscaler::MutateMessages<gpuscaler::kubernetes::Pod>(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  gpuscaler::CheckBytes(input);
  gpuscaler::CheckAnswer(gpuscaler::MessagesIn<gpuscaler::kubernetes::Pod>(input));
  return 0;
}
