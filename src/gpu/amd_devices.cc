#include "gpu/amd_devices.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gpu/sysfs_file.h"

namespace gpuscaler {
namespace {

constexpr char kDriver[] = "/module/amdgpu/drivers/pci:amdgpu";
constexpr char kPlatformDevices[] = "/devices/platform";

// Returns true for "0000:c1:00.0". A driver's folder has files too, such as "bind".
bool IsPciAddress(absl::string_view name) {
  return name.size() == 12 && name[4] == ':' && name[7] == ':' && name[10] == '.';
}

std::vector<std::string> PciAddresses(const std::string& sysfs_root) {
  std::vector<std::string> addresses = NamesInSysfs(sysfs_root + kDriver);
  std::erase_if(addresses, [](const std::string& name) { return !IsPciAddress(name); });
  return addresses;
}

std::string TextOf(const std::string& path) { return ReadSysfs(path).value_or(""); }

// All partitions have a render node, and only whole GPUs a card.
std::optional<int> RenderMinorIn(const std::string& device) {
  for (const std::string& name : NamesInSysfs(device + "/drm")) {
    absl::string_view rest = name;
    int minor_number = 0;
    if (absl::ConsumePrefix(&rest, "renderD") && absl::SimpleAtoi(rest, &minor_number)) {
      return minor_number;
    }
  }
  return std::nullopt;
}

// Connectors are in the folder too: "card1-DP-1".
std::string CardIn(const std::string& device) {
  for (const std::string& name : NamesInSysfs(device + "/drm")) {
    absl::string_view rest = name;
    int number = 0;
    if (absl::ConsumePrefix(&rest, "card") && absl::SimpleAtoi(rest, &number)) return name;
  }
  return "";
}

// Cards without an id in their firmware show 0.
std::string UniqueIdIn(const std::string& device) {
  const std::string id = TextOf(device + "/unique_id");
  return absl::string_view(id).find_first_not_of('0') == absl::string_view::npos ? "" : id;
}

// Server cards have a product's name, from their FRU chip.
std::string NameIn(const std::string& device) {
  std::string product = TextOf(device + "/product_name");
  if (!product.empty()) return product;
  const std::string id = TextOf(device + "/device");
  return absl::StrCat("AMD GPU ", absl::StripPrefix(id, "0x"));
}

std::optional<std::string> ModeIn(const std::string& device) {
  const auto compute = ReadSysfs(device + "/current_compute_partition");
  const auto memory = ReadSysfs(device + "/current_memory_partition");
  if (absl::IsNotFound(compute.status())) return "";
  if (!compute.ok() || absl::IsUnavailable(memory.status())) return std::nullopt;
  return memory.ok() ? absl::StrCat(*compute, " ", *memory) : *compute;
}

AmdGpu ReadGpu(const std::string& folder, const std::string& address) {
  return {.folder = folder,
          .whole = {.id = address, .render_minor = RenderMinorIn(folder)},
          .card = CardIn(folder),
          .unique_id = UniqueIdIn(folder),
          .name = NameIn(folder),
          .mode = ModeIn(folder)};
}

// Virtual functions of one GPU may share its id.
void DropSharedIds(std::vector<AmdGpu>& gpus) {
  std::vector<std::string> ids;
  for (const AmdGpu& gpu : gpus) ids.push_back(gpu.unique_id);
  for (AmdGpu& gpu : gpus) {
    if (std::ranges::count(ids, gpu.unique_id) > 1) gpu.unique_id.clear();
  }
}

AmdGpu* GpuOf(const AmdRenderDevice& device, const std::vector<KfdNode>& nodes,
              std::vector<AmdGpu>& gpus) {
  const KfdNode* const node = NodeOf(device, nodes);
  AmdGpu* nearest = nullptr;
  for (AmdGpu& gpu : gpus) {
    if (node != nullptr && absl::StartsWith(gpu.whole.id, node->pci_place)) return &gpu;
    if (gpu.mode == "" || !gpu.whole.render_minor) continue;
    const bool is_lower = *gpu.whole.render_minor < *device.render_minor;
    if (!is_lower) continue;
    if (nearest == nullptr || *gpu.whole.render_minor > *nearest->whole.render_minor) {
      nearest = &gpu;
    }
  }
  return nearest;
}

void AddPartitionDevices(const std::string& sysfs_root, const std::vector<KfdNode>& nodes,
                         std::vector<AmdGpu>& gpus) {
  const std::string folder = sysfs_root + kPlatformDevices;
  for (const std::string& name : NamesInSysfs(folder)) {
    if (!absl::StartsWith(name, "amdgpu_xcp_")) continue;
    const AmdRenderDevice device = {.id = name,
                                    .render_minor = RenderMinorIn(absl::StrCat(folder, "/", name))};
    if (!device.render_minor) continue;
    if (AmdGpu* const gpu = GpuOf(device, nodes, gpus)) gpu->others.push_back(device);
  }
  for (AmdGpu& gpu : gpus) {
    std::ranges::sort(gpu.others, {},
                      [](const AmdRenderDevice& device) { return *device.render_minor; });
  }
}

size_t CountNodes(const AmdGpu& gpu, const std::vector<KfdNode>& nodes) {
  return static_cast<size_t>(std::ranges::count_if(
      nodes, [&](const KfdNode& node) { return absl::StartsWith(gpu.whole.id, node.pci_place); }));
}

// The devices of partitions that do not exist stay, so the mode decides. CPX is as many partitions
// as the GPU has compute dies: 8 in MI300X, 6 in MI300A.
size_t CountPartitions(const AmdGpu& gpu, const AmdGpuMetrics& metrics,
                       const std::vector<KfdNode>& nodes) {
  const std::string mode = gpu.mode.value_or("");
  if (mode.empty()) return 1;
  if (!metrics.partitions.empty()) return metrics.partitions.size();
  if (absl::StartsWith(mode, "DPX")) return 2;
  if (absl::StartsWith(mode, "TPX")) return 3;
  if (absl::StartsWith(mode, "QPX")) return 4;
  if (!absl::StartsWith(mode, "CPX")) return 1;
  const size_t seen = CountNodes(gpu, nodes);
  return seen > 1 ? seen : 1 + gpu.others.size();
}

}  // namespace

bool HasAmdGpus(const std::string& sysfs_root) { return !PciAddresses(sysfs_root).empty(); }

absl::StatusOr<std::vector<AmdGpu>> FindAmdGpus(const std::string& sysfs_root,
                                                const std::vector<KfdNode>& nodes) {
  const std::string driver = sysfs_root + kDriver;
  std::vector<AmdGpu> gpus;
  for (const std::string& address : PciAddresses(sysfs_root)) {
    gpus.push_back(ReadGpu(absl::StrCat(driver, "/", address), address));
  }
  if (gpus.empty()) return absl::UnavailableError(absl::StrCat("no AMD GPU is in ", driver));
  DropSharedIds(gpus);
  AddPartitionDevices(sysfs_root, nodes, gpus);
  return gpus;
}

std::vector<AmdRenderDevice> PartitionsOf(const AmdGpu& gpu, const AmdGpuMetrics& metrics,
                                          const std::vector<KfdNode>& nodes) {
  const size_t count = CountPartitions(gpu, metrics, nodes);
  if (count < 2) return {};
  const bool shows_all = CountNodes(gpu, nodes) == count;
  std::vector<AmdRenderDevice> partitions = {gpu.whole};
  for (const AmdRenderDevice& device : gpu.others) {
    if (partitions.size() == count) break;
    if (!shows_all || NodeOf(device, nodes) != nullptr) partitions.push_back(device);
  }
  return partitions;
}

const KfdNode* NodeOf(const AmdRenderDevice& device, const std::vector<KfdNode>& nodes) {
  const auto found = std::ranges::find_if(
      nodes, [&](const KfdNode& node) { return node.render_minor == device.render_minor; });
  return found == nodes.end() ? nullptr : &*found;
}

}  // namespace gpuscaler
