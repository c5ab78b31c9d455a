// A kubelet's list of pods and devices, and the resulting GPU holders. Tenants choose the names of
// pods and containers.
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "fuzz_assert.h"
#include "kubelet/pod_resources.h"
#include "message_mutator.h"
#include "podresources.pb.h"
#include "workload/device_id.h"
#include "workload/gpu_holders.h"

namespace gpuscaler {
namespace {

// Two GPUs, one of them partitioned; a process runs on the first.
NodeSnapshot Node() {
  NodeSnapshot node;
  node.gpus = {{.uuid = "GPU-0", .index = 0, .minor_number = 0},
               {.uuid = "GPU-1", .index = 1, .minor_number = 1},
               {.uuid = "MIG-2", .parent_uuid = "GPU-1", .index = 1, .gpu_instance = 3}};
  node.gpus[0].processes = {{{.pid = 1, .utilization_percent = 50}}};
  return node;
}

void CheckDevice(const PodDevice& device, absl::Span<const GpuSample> gpus) {
  const auto id = ParseDeviceId(device.resource, device.id);
  if (!id) return;
  for (const std::vector<int>& places : {FindGpus(*id, gpus), FindPossibleGpus(*id, gpus)}) {
    for (const int place : places) {
      FUZZ_ASSERT(place >= 0 && static_cast<size_t>(place) < gpus.size());
    }
  }
}

void CheckHolders(const NodeSnapshot& node, size_t listed) {
  FUZZ_ASSERT(node.pods.size() <= listed);
  for (const GpuSample& gpu : node.gpus) {
    double shares = 0;
    for (const GpuHolder& holder : gpu.holders) {
      FUZZ_ASSERT(holder.pod >= 0 && static_cast<size_t>(holder.pod) < node.pods.size());
      FUZZ_ASSERT(holder.share >= 0);
      shares += holder.share;
    }
    FUZZ_ASSERT(gpu.holders.empty() || (shares > 0.999 && shares < 1.001));
  }
}

void CheckAnswer(const v1::ListPodResourcesResponse& response) {
  NodeSnapshot node = Node();
  std::vector<PodAllocation> pods;
  for (const PodDevices& listed : PodDevicesIn(response)) {
    for (const PodDevice& device : listed.devices) CheckDevice(device, node.gpus.get());
    pods.push_back({.pod = {.namespace_name = listed.namespace_name, .name = listed.name},
                    .devices = listed.devices});
  }
  const std::string first = pods.empty() ? "" : NameOf(pods[0].pod);
  const auto ambiguous = FillHolders(
      pods, [&](int64_t) { return first; }, node);
  for (const AmbiguousDevice& device : ambiguous) FUZZ_ASSERT(!device.pod.empty());
  CheckHolders(node, pods.size());
}

}  // namespace
}  // namespace gpuscaler

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return gpuscaler::MutateMessages<v1::ListPodResourcesResponse>(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const auto& response : gpuscaler::MessagesIn<v1::ListPodResourcesResponse>(
           {reinterpret_cast<const char*>(data), size})) {
    gpuscaler::CheckAnswer(response);
  }
  return 0;
}
