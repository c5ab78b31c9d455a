// A kubelet's list of pods and devices, and the resulting GPU holders. Tenants choose the names of
// pods and containers.
#include <algorithm>
#include <cstdint>
#include <set>

#include "fuzz_assert.h"
#include "kubelet/pod_resources.h"
#include "message_mutator.h"
#include "name_hash.h"
#include "podresources.pb.h"
#include "workload/device_id.h"
#include "workload/gpu_holders.h"

namespace gpuscaler {
namespace {

constexpr char kGpu0[] = "GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b50";
constexpr char kGpu1[] = "GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b51";
constexpr char kMig[] = "MIG-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b52";
constexpr char kReservations[] = "kai-resource-reservation";  // a namespace

// Bits of `variant` decide which GPUs have known processes, and whether there is only one GPU.
NodeSnapshot Node(uint32_t variant) {
  NodeSnapshot node;
  std::vector<GpuSample>& gpus = node.gpus.Own();
  gpus = {{.uuid = kGpu0, .index = 0, .minor_number = 0},
          {.uuid = UnknownGpuUuid(1), .index = 1},
          {.uuid = kGpu1, .index = 2, .minor_number = 2},
          {.uuid = kMig, .parent_uuid = kGpu1, .index = 2, .gpu_instance = 3},
          {.uuid = "1901e6b24a7a4ae6",
           .index = 3,
           .device_ids = {"card1", "0000:19:00.0", "renderD128"}},
          {.uuid = "e3a9716b4cd5ab71/1",
           .parent_uuid = "e3a9716b4cd5ab71",
           .index = 4,
           .device_ids = {"amdgpu_xcp_0", "renderD130"}},
          {.uuid = "Intel-card0", .index = 5}};
  if (variant % 8 == 0) gpus.resize(1);
  for (size_t i = 0; i < gpus.size(); ++i) {
    GpuSample& gpu = gpus[i];
    if ((variant >> (4 + i)) % 2 == 0) continue;
    gpu.memory_total_bytes = int64_t{80} << 30;
    gpu.processes = {{{.pid = 0, .utilization_percent = 30}, {.pid = static_cast<int64_t>(i)}}};
    if ((variant >> (11 + i)) % 2 == 0) gpu.processes->pop_back();
  }
  return node;
}

// Adds what comes from the Pods API and from the drivers' files.
PodAllocation AllocationOf(const PodDevices& listed) {
  constexpr double kFractions[] = {0.2, 1, 5e-324};
  constexpr double kMebibytes[] = {40960, 1e-308, 1e308};
  const uint32_t hash = HashOf(listed.name);
  PodAllocation pod = {.pod = {.namespace_name = listed.namespace_name, .name = listed.name},
                       .devices = listed.devices};
  if (hash % 2 == 0) pod.request.fraction = kFractions[(hash >> 1) % 3];
  if ((hash >> 4) % 2 == 0) pod.request.memory_mib = kMebibytes[(hash >> 5) % 3];
  if ((hash >> 8) % 2 == 0) pod.pod.listed_since = absl::FromUnixSeconds((hash >> 9) % 4);
  if ((hash >> 12) % 2 == 0) pod.pod.owners_from = Pod::OwnersFrom::kReferences;
  if ((hash >> 13) % 4 == 0) pod.pod.owners = {{.kind = "DaemonSet", .name = "monitoring"}};
  for (PodDevice& device : pod.devices) {
    if (device.claim.empty()) continue;
    device.is_held = (hash >> 16) % 2 == 0;
    if ((hash >> 17) % 4 == 0) device.other_ids = {kGpu0};
  }
  pod.is_reservation = pod.pod.namespace_name == kReservations && HasGpu(pod.devices);
  return pod;
}

void CheckDevice(const PodDevice& device, const NodeSnapshot& node) {
  const auto id = ParseDeviceId(device.resource, device.id);
  if (!id) return;
  const std::vector<int> found = FindGpus(*id, node.gpus.get());
  FUZZ_ASSERT(found.size() <= 1 || id->form == DeviceId::Form::kAllGpus);
  for (const int place : found) {
    FUZZ_ASSERT(place >= 0 && static_cast<size_t>(place) < node.gpus.size());
  }
  for (const int place : FindPossibleGpus(*id, node.gpus.get())) {
    FUZZ_ASSERT(place >= 0 && static_cast<size_t>(place) < node.gpus.size());
    FUZZ_ASSERT(VendorOf(*id) == VendorOf(node.gpus.get()[static_cast<size_t>(place)]));
  }
}

void CheckHolders(const NodeSnapshot& node) {
  std::set<int> pods;
  for (const GpuSample& gpu : node.gpus) {
    double shares = 0;
    std::set<std::pair<int, std::string>> containers;
    for (const GpuHolder& holder : gpu.holders) {
      FUZZ_ASSERT(holder.pod >= 0 && static_cast<size_t>(holder.pod) < node.pods.size());
      FUZZ_ASSERT(containers.emplace(holder.pod, holder.container).second);
      FUZZ_ASSERT(holder.share >= 0);
      FUZZ_ASSERT(!holder.is_possible || gpu.holders[0].is_possible || holder.share == 0);
      pods.insert(holder.pod);
      shares += holder.share;
    }
    FUZZ_ASSERT(gpu.holders.empty() || (shares > 0.999 && shares < 1.001));
    FUZZ_ASSERT(std::ranges::is_sorted(gpu.holders, {}, &GpuHolder::is_possible));
  }
  FUZZ_ASSERT(pods.size() == node.pods.size());
}

void CheckAnswer(const v1::ListPodResourcesResponse& response) {
  std::vector<PodAllocation> pods;
  for (const PodDevices& listed : PodDevicesIn(response)) pods.push_back(AllocationOf(listed));
  NodeSnapshot node = Node(pods.empty() ? 0 : HashOf(pods[0].pod.name));
  for (const PodAllocation& pod : pods) {
    for (const PodDevice& device : pod.devices) CheckDevice(device, node);
  }
  const auto pod_of_process = [&](int64_t pid) {
    const auto at = static_cast<size_t>(pid);
    return at < pods.size() ? NameOf(pods[at].pod) : "";
  };
  for (const AmbiguousDevice& device : FillHolders(pods, pod_of_process, node)) {
    FUZZ_ASSERT(!device.pod.empty());
    for (const int gpu : device.may_be) {
      FUZZ_ASSERT(gpu >= 0 && static_cast<size_t>(gpu) < node.gpus.size());
    }
  }
  CheckHolders(node);
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
