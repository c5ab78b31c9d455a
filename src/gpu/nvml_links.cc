#include "gpu/nvml_links.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gpu/nvml_error.h"

namespace gpuscaler::nvml {
namespace {

// Returns "12345678-9abc-...", as nvidia-smi prints it.
std::string UuidText(const uint8_t (&bytes)[16]) {
  const std::string hex = absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes), sizeof(bytes)));
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
                      hex.substr(16, 4), "-", hex.substr(20));
}

// Returns "" if the GPU is in no clique of several nodes. GPUs of a single machine with switches
// complete their registration too, with a UUID of zeros.
std::string CliqueOf(const NvmlFunctions& calls, Device device, bool& is_complete) {
  FabricInfo fabric{.version = FabricInfo::kVersion};
  const Return result = Call(calls.fabric_info, device, &fabric);
  if (result != kSuccess) {
    is_complete = is_complete && IsUnsupported(result);
    return "";
  }
  const bool is_pending = fabric.state == kFabricNotStarted || fabric.state == kFabricInProgress;
  is_complete = is_complete && !is_pending;
  if (fabric.state != kFabricCompleted || fabric.status != kSuccess) return "";
  const bool has_uuid =
      std::ranges::any_of(fabric.cluster_uuid, [](uint8_t byte) { return byte != 0; });
  return has_uuid ? absl::StrCat(UuidText(fabric.cluster_uuid), ".", fabric.clique) : "";
}

bool AreLinked(const NvmlFunctions& calls, Device one, Device other, bool& is_complete) {
  int status = 0;
  const Return result = Call(calls.p2p_status, one, other, kP2pNvlink, &status);
  if (result != kSuccess && !IsUnsupported(result)) is_complete = false;
  return result == kSuccess && status == kP2pOk;
}

// Returns for each device the first one that it is linked to, directly or through others.
std::vector<size_t> FirstLinked(const NvmlFunctions& calls, const std::vector<Device>& devices,
                                bool& is_complete) {
  std::vector<size_t> first(devices.size());
  std::iota(first.begin(), first.end(), size_t{0});
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t j = i + 1; j < devices.size(); ++j) {
      if (!AreLinked(calls, devices[i], devices[j], is_complete)) continue;
      const size_t joined = std::min(first[i], first[j]);
      const size_t replaced = std::max(first[i], first[j]);
      std::ranges::replace(first, replaced, joined);
    }
  }
  return first;
}

}  // namespace

LinkGroups ReadLinkGroups(const NvmlFunctions& calls, const std::vector<Device>& devices) {
  LinkGroups groups;
  const std::vector<size_t> first = FirstLinked(calls, devices, groups.is_complete);
  std::map<size_t, int> numbers;  // key: the first device of a group with several
  for (size_t i = 0; i < devices.size(); ++i) {
    std::string name = CliqueOf(calls, devices[i], groups.is_complete);
    if (name.empty() && std::ranges::count(first, first[i]) > 1) {
      const int next = static_cast<int>(numbers.size());
      name = absl::StrCat("nvlink-", numbers.try_emplace(first[i], next).first->second);
    }
    groups.names.push_back(std::move(name));
  }
  return groups;
}

}  // namespace gpuscaler::nvml
