#include "workload/unread_gpus.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "workload/device_id.h"

namespace gpuscaler {

void AddUnreadGpus(absl::Span<const PodAllocation> pods, NodeSnapshot& snapshot) {
  std::map<std::string, std::string> unread;  // names of GPUs; key: UUID
  for (const PodAllocation& pod : pods) {
    for (const PodDevice& device : pod.devices) {
      for (const DeviceId& id : IdsOf(device)) {
        if (VendorOf(id) != GpuVendor::kIntel) continue;
        unread.emplace(IntelUuid(id), absl::StrCat("Intel ", id.text, ", which is not read"));
      }
    }
  }
  int index = 0;
  for (const GpuSample& gpu : snapshot.gpus) index = std::max(index, gpu.index + 1);
  for (const auto& [uuid, name] : unread) {
    GpuSample gpu;
    gpu.uuid = uuid;
    gpu.name = name;
    gpu.index = index++;
    snapshot.gpus.push_back(std::move(gpu));
  }
}

}  // namespace gpuscaler
