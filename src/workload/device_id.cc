#include "workload/device_id.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gpuscaler {
namespace {

constexpr size_t kUuidSize = 36;  // 8-4-4-4-12
constexpr absl::string_view kIntelUuid = "Intel-";

bool IsUuid(absl::string_view text) {
  if (text.size() != kUuidSize) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? text[i] != '-' : !absl::ascii_isxdigit(text[i])) return false;
  }
  return true;
}

// Parses a number as the plugins write it: no sign, no leading zero.
std::optional<int> Number(absl::string_view text) {
  int number = 0;
  if (text.empty() || !std::ranges::all_of(text, absl::ascii_isdigit)) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

std::optional<int> NumberAfter(absl::string_view prefix, absl::string_view text) {
  if (!absl::ConsumePrefix(&text, prefix)) return std::nullopt;
  return Number(text);
}

// Cuts the "::3" of NVIDIA's time slicing and MPS.
bool CutReplica(absl::string_view& id) {
  const size_t at = id.rfind("::");
  if (at == absl::string_view::npos || !Number(id.substr(at + 2))) return false;
  id = id.substr(0, at);
  return true;
}

// Parses "GPU-<uuid>" and "MIG-<uuid>". With "-3" behind it, the kubelet chose the id and a
// scheduler such as HAMi the GPU, independently.
std::optional<DeviceId> ParseUuid(absl::string_view id) {
  absl::string_view rest = id;
  if (!absl::ConsumePrefix(&rest, "GPU-") && !absl::ConsumePrefix(&rest, "MIG-")) {
    return std::nullopt;
  }
  if (!IsUuid(rest.substr(0, kUuidSize))) return std::nullopt;
  const absl::string_view behind = rest.substr(kUuidSize);
  if (behind.empty()) return DeviceId{.form = DeviceId::Form::kUuid, .text = std::string(id)};
  if (!NumberAfter("-", behind)) return std::nullopt;
  return DeviceId{.form = DeviceId::Form::kVirtual, .text = std::string(id), .is_replica = true};
}

std::optional<DeviceId> ParseLegacyMigUuid(absl::string_view id) {
  const std::vector<absl::string_view> parts = absl::StrSplit(id, '/');
  if (parts.size() != 3 || !absl::StartsWith(id, "MIG-GPU-")) return std::nullopt;
  const auto parent = ParseUuid(parts[0].substr(4));
  const auto instance = Number(parts[1]);
  if (!parent || !instance || !Number(parts[2])) return std::nullopt;
  return DeviceId{.form = DeviceId::Form::kLegacyMigUuid,
                  .text = std::string(id),
                  .parent_uuid = parent->text,
                  .instance = instance};
}

// Parses "nvidia0", "nvidia0/gi3", "nvidia0/vgpu1" and "nvidia0/gi3/vgpu1".
std::optional<DeviceId> ParseMinor(absl::string_view id) {
  std::vector<absl::string_view> parts = absl::StrSplit(id, '/');
  const auto minor = NumberAfter("nvidia", parts[0]);
  if (!minor || parts.size() > 3) return std::nullopt;
  DeviceId device = {.form = DeviceId::Form::kMinorNumber, .minor_number = *minor};
  if (parts.size() > 1 && NumberAfter("vgpu", parts.back())) {
    device.is_replica = true;
    parts.pop_back();
  }
  if (parts.size() == 2) {
    device.instance = NumberAfter("gi", parts[1]);
    if (!device.instance) return std::nullopt;
  }
  if (parts.size() > 2) return std::nullopt;
  device.text = absl::StrJoin(parts, "/");
  return device;
}

// Returns true for "0000:19:00.0".
bool IsPciAddress(absl::string_view id) {
  constexpr absl::string_view kShape = "xxxx:xx:xx.x";
  if (id.size() != kShape.size()) return false;
  for (size_t i = 0; i < id.size(); ++i) {
    if (kShape[i] == 'x' ? !absl::ascii_isxdigit(id[i]) : id[i] != kShape[i]) return false;
  }
  return true;
}

// Checks the resource, because a network card's id may be a PCI address too.
std::optional<DeviceId> ParseAmd(absl::string_view resource, absl::string_view id) {
  if (NumberAfter("amdgpu_xcp_", id)) {
    return DeviceId{.form = DeviceId::Form::kAmdPartition, .text = std::string(id)};
  }
  if (!absl::StartsWith(resource, "amd.com/") || !IsPciAddress(id)) return std::nullopt;
  return DeviceId{.form = DeviceId::Form::kPciAddress, .text = std::string(id)};
}

// Parses a device of AMD's DRA driver, "gpu-<card>-<render minor>"
// (cmd/gpu-kubeletplugin/discovery.go, parseDeviceName). The card does not count: partitions have
// none, and are named by that of another device.
std::optional<DeviceId> ParseAmdDraName(absl::string_view resource, absl::string_view id) {
  if (resource != "gpu.amd.com") return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(id, '-');
  if (parts.size() != 3 || parts[0] != "gpu" || !Number(parts[1]) || !Number(parts[2])) {
    return std::nullopt;
  }
  return DeviceId{.form = DeviceId::Form::kAmdRender, .text = absl::StrCat("renderD", parts[2])};
}

// Parses "card0-1": a card and the share of it. Monitoring resources mean all cards at once, and
// hold none. Intel's DRA driver names a device by PCI address and id, or by the card.
std::optional<DeviceId> ParseIntel(absl::string_view resource, absl::string_view id) {
  if (resource == "gpu.intel.com" && !id.empty()) {
    return DeviceId{.form = DeviceId::Form::kIntel, .text = std::string(id)};
  }
  if (!absl::StartsWith(resource, "gpu.intel.com/") || absl::EndsWith(resource, "monitoring")) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(id, '-');
  if (parts.size() != 2 || !NumberAfter("card", parts[0]) || !Number(parts[1])) {
    return std::nullopt;
  }
  return DeviceId{
      .form = DeviceId::Form::kIntel, .text = std::string(parts[0]), .is_replica = true};
}

// Parses a device of NVIDIA's DRA driver, named by the GPU's minor number since v25.3.0
// (cmd/gpu-kubelet-plugin/deviceinfo.go and mig.go, CanonicalName). "gpu-vfio-0" has no NVIDIA
// driver, so NVML does not list it. HAMi's driver is derived from NVIDIA's, and calls a GPU that
// claims share "hami-gpu-0" (cmd/hami-kubelet-plugin/hami_core.go).
std::optional<DeviceId> ParseDraName(absl::string_view resource, absl::string_view id) {
  if (!IsDraDriver(resource) || absl::StartsWith(id, "gpu-vfio-")) return std::nullopt;
  absl::string_view name = id;
  absl::ConsumePrefix(&name, "hami-");
  if (const auto minor = NumberAfter("gpu-", name)) {
    return DeviceId{
        .form = DeviceId::Form::kMinorNumber, .text = std::string(id), .minor_number = minor};
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(id, absl::MaxSplits("-mig-", 1));
  return DeviceId{.form = DeviceId::Form::kDraName,
                  .text = std::string(id),
                  .minor_number = parts.size() == 2 ? NumberAfter("gpu-", parts[0]) : std::nullopt};
}

std::optional<DeviceId> ParseByResource(absl::string_view resource, absl::string_view id) {
  if (!absl::StartsWith(resource, "nvidia.com/")) return std::nullopt;
  if (id == "tegra" || id == "all") {
    return DeviceId{.form = DeviceId::Form::kAllGpus, .text = std::string(id)};
  }
  // A simulated GPU has an id like "GPU-sim-0".
  if (!absl::StartsWith(id, "GPU-") && !absl::StartsWith(id, "MIG-")) return std::nullopt;
  return DeviceId{.form = DeviceId::Form::kUuid, .text = std::string(id)};
}

bool IsSameGpu(const DeviceId& device, const GpuSample& gpu) {
  if (absl::EqualsIgnoreCase(gpu.uuid, device.text)) return true;
  if (VendorOf(device) != VendorOf(gpu)) return false;
  switch (device.form) {
    case DeviceId::Form::kLegacyMigUuid:
      return gpu.gpu_instance && gpu.gpu_instance == device.instance &&
             absl::EqualsIgnoreCase(gpu.parent_uuid, device.parent_uuid);
    case DeviceId::Form::kMinorNumber:
      return gpu.minor_number == device.minor_number && gpu.gpu_instance == device.instance &&
             IsMig(gpu) == device.instance.has_value();
    case DeviceId::Form::kAllGpus:
      return !IsMig(gpu);
    case DeviceId::Form::kIntel:
      return gpu.uuid == IntelUuid(device);
    case DeviceId::Form::kPciAddress:
    case DeviceId::Form::kAmdPartition:
    case DeviceId::Form::kAmdRender:
      return std::ranges::find(gpu.device_ids, device.text) != gpu.device_ids.end();
    default:
      return false;
  }
}

// Returns true if the node has one GPU and the virtual id contains its UUID: no other GPU is
// possible.
bool IsVirtualOfOnlyGpu(const DeviceId& device, absl::Span<const GpuSample> gpus) {
  return device.form == DeviceId::Form::kVirtual && gpus.size() == 1 &&
         absl::StartsWithIgnoreCase(device.text, gpus[0].uuid);
}

bool HasNotAnswered(const GpuSample& gpu) { return gpu.uuid == UnknownGpuUuid(gpu.index); }

// Instances from dcgm-exporter's exposition have no UUIDs.
bool HasInstanceNumberAsUuid(const GpuSample& gpu) {
  return IsMig(gpu) && absl::StrContains(gpu.uuid, '/');
}

// Returns true if the whole GPU of the id is one of `gpus`.
bool IsSeen(const DeviceId& device, absl::Span<const GpuSample> gpus) {
  return std::ranges::any_of(gpus, [&](const GpuSample& gpu) {
    if (device.form == DeviceId::Form::kLegacyMigUuid) {
      return absl::EqualsIgnoreCase(gpu.uuid, device.parent_uuid);
    }
    return device.minor_number && gpu.minor_number == device.minor_number;
  });
}

bool MayBe(const DeviceId& device, bool is_seen, const GpuSample& gpu) {
  if (VendorOf(device) != VendorOf(gpu)) return false;
  const bool may_be_instance =
      !device.instance || !gpu.gpu_instance || gpu.gpu_instance == device.instance;
  const bool may_be_minor = gpu.minor_number ? gpu.minor_number == device.minor_number : !is_seen;
  const bool has_not_answered = !is_seen && HasNotAnswered(gpu);
  switch (device.form) {
    case DeviceId::Form::kUuid:
      return has_not_answered ||
             (absl::StartsWith(device.text, "MIG-") && HasInstanceNumberAsUuid(gpu));
    case DeviceId::Form::kLegacyMigUuid:
      return has_not_answered ||
             (absl::EqualsIgnoreCase(gpu.parent_uuid, device.parent_uuid) && may_be_instance);
    case DeviceId::Form::kMinorNumber:
      return has_not_answered ||
             (may_be_minor && may_be_instance && IsMig(gpu) == device.instance.has_value());
    case DeviceId::Form::kDraName:
      return has_not_answered || !device.minor_number || (may_be_minor && IsMig(gpu));
    case DeviceId::Form::kVirtual:
      return true;
    default:
      return false;
  }
}

// Returns true if the driver may hide the instance of the id on that GPU.
bool MayHide(const GpuSample& gpu, const DeviceId& device) {
  if (VendorOf(device) != VendorOf(gpu)) return false;
  if (IsMig(gpu) || !IsMigInstance(device)) return false;
  if (!device.parent_uuid.empty()) return absl::EqualsIgnoreCase(gpu.uuid, device.parent_uuid);
  return device.minor_number ? gpu.minor_number == device.minor_number : gpu.is_in_mig_mode;
}

}  // namespace

bool IsDraDriver(absl::string_view resource) {
  return resource == "gpu.nvidia.com" || resource == "hami-core-gpu.project-hami.io";
}

bool IsNvidiaResource(absl::string_view resource) {
  return absl::StartsWith(resource, "nvidia.com/") || IsDraDriver(resource);
}

GpuVendor VendorOf(const DeviceId& device) {
  switch (device.form) {
    case DeviceId::Form::kPciAddress:
    case DeviceId::Form::kAmdPartition:
    case DeviceId::Form::kAmdRender:
      return GpuVendor::kAmd;
    case DeviceId::Form::kIntel:
      return GpuVendor::kIntel;
    default:
      return GpuVendor::kNvidia;
  }
}

GpuVendor VendorOf(const GpuSample& gpu) {
  if (absl::StartsWith(gpu.uuid, kIntelUuid)) return GpuVendor::kIntel;
  return gpu.device_ids.empty() ? GpuVendor::kNvidia : GpuVendor::kAmd;
}

std::string IntelUuid(const DeviceId& device) { return absl::StrCat(kIntelUuid, device.text); }

std::optional<DeviceId> ParseDeviceId(absl::string_view resource, absl::string_view id) {
  const bool is_replica = CutReplica(id);
  std::optional<DeviceId> device = ParseUuid(id);
  if (!device) device = ParseLegacyMigUuid(id);
  if (!device) device = ParseMinor(id);
  if (!device) device = ParseAmd(resource, id);
  if (!device) device = ParseAmdDraName(resource, id);
  if (!device) device = ParseIntel(resource, id);
  if (!device) device = ParseDraName(resource, id);
  if (!device) device = ParseByResource(resource, id);
  if (device) device->is_replica = device->is_replica || is_replica;
  return device;
}

bool IsMigInstance(const DeviceId& device) {
  const bool is_dra_instance = device.form == DeviceId::Form::kDraName && device.minor_number;
  return is_dra_instance || device.instance || absl::StartsWith(device.text, "MIG-");
}

bool IsInMigMode(const GpuSample& gpu, absl::Span<const GpuSample> gpus) {
  return gpu.is_in_mig_mode ||
         std::ranges::find(gpus, gpu.uuid, &GpuSample::parent_uuid) != gpus.end();
}

std::vector<int> FindGpus(const DeviceId& device, absl::Span<const GpuSample> gpus) {
  if (IsVirtualOfOnlyGpu(device, gpus)) return {0};
  std::vector<int> found;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (IsSameGpu(device, gpus[i])) found.push_back(static_cast<int>(i));
  }
  // A GPU instance has several compute instances: the id names one, and the reading does not show
  // which.
  if (found.size() > 1 && device.form != DeviceId::Form::kAllGpus) return {};
  return found;
}

std::vector<int> FindPossibleGpus(const DeviceId& device, absl::Span<const GpuSample> gpus) {
  const bool is_seen = IsSeen(device, gpus);
  std::vector<int> possible;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (MayBe(device, is_seen, gpus[i])) possible.push_back(static_cast<int>(i));
  }
  if (!possible.empty()) return possible;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (MayHide(gpus[i], device)) possible.push_back(static_cast<int>(i));
  }
  return possible;
}

}  // namespace gpuscaler
