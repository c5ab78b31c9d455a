#include "workload/claim_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file_text.h"
#include "base/log.h"
#include "workload/device_id.h"

namespace gpuscaler {
namespace {

constexpr char kDriver[] = "gpu.nvidia.com";
constexpr size_t kMaxBytesOfSpec = size_t{1} << 20;
constexpr size_t kMaxBytesOfCheckpoint = size_t{8} << 20;
constexpr size_t kMaxBytesOfAccess = 4096;

// The version changes with the file. Empty: the file does not exist.
std::string VersionOf(const std::string& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0) {
    const bool is_absent = errno == ENOENT || errno == ENOTDIR;
    return is_absent ? "" : absl::StrCat("error ", errno);
  }
  return absl::StrCat(file.st_ino, " ", file.st_size, " ", file.st_mtim.tv_sec, " ",
                      file.st_mtim.tv_nsec);
}

template <typename File, typename Parse>
void ReadAgain(const std::string& path, size_t max_bytes, Parse parse, File& file) {
  const std::string version = VersionOf(path);
  if (version == file.version) return;
  file.version = version;
  if (version.empty()) {
    file.content = {};
    return;
  }
  const auto text = ReadFileText(path, max_bytes);
  auto content = text.ok() ? parse(*text) : text.status();
  if (content.ok()) {
    file.content = *std::move(content);
  } else {
    LogWarn("claim_file_unreadable", {{"path", path}, {"why", content.status().message()}});
  }
}

std::string CheckpointIn(const NodeFolders& folders) {
  return absl::StrCat(folders.dra_plugin, "/checkpoint.json");
}

std::optional<int> NumberBehind(absl::string_view prefix, absl::string_view text) {
  int number = 0;
  if (!absl::ConsumePrefix(&text, prefix) || text.empty() ||
      !std::ranges::all_of(text, absl::ascii_isdigit) || !absl::SimpleAtoi(text, &number)) {
    return std::nullopt;
  }
  return number;
}

// "k8s.gpu.nvidia.com/claim=dab5ab50-gpu-0".
struct CdiName {
  absl::string_view vendor;
  absl::string_view kind;
  absl::string_view device;
};

// Returns nothing for a name with further slashes: its parts become parts of paths.
std::optional<CdiName> ParseCdiName(absl::string_view name) {
  const size_t slash = name.find('/');
  const size_t equals = name.find('=');
  if (slash == absl::string_view::npos || equals == absl::string_view::npos || equals < slash) {
    return std::nullopt;
  }
  const CdiName parts = {.vendor = name.substr(0, slash),
                         .kind = name.substr(slash + 1, equals - slash - 1),
                         .device = name.substr(equals + 1)};
  if (absl::StrContains(parts.kind, '/') || absl::StrContains(parts.device, '/')) {
    return std::nullopt;
  }
  return parts;
}

// Empty: the name has no UID, like those of drivers until v25.8 for a GPU that is not shared.
std::string ClaimUidIn(const CdiName& name, const std::string& device) {
  absl::string_view uid = name.device;
  const bool is_of_claim =
      name.kind == "claim" && absl::ConsumeSuffix(&uid, device) && absl::ConsumeSuffix(&uid, "-");
  return is_of_claim ? std::string(uid) : "";
}

std::vector<CdiName> CdiNamesOf(const PodDevice& device) {
  std::vector<CdiName> names;
  for (const std::string& name : device.cdi_names) {
    if (const auto parsed = ParseCdiName(name)) names.push_back(*parsed);
  }
  return names;
}

// Returns the minor number in /proc/driver/nvidia/capabilities/gpu0/mig/gi1/access.
std::optional<int> CapabilityIn(const std::string& path) {
  const auto text = ReadFileText(path, kMaxBytesOfAccess);
  if (!text.ok()) return std::nullopt;
  absl::string_view line = absl::string_view(*text).substr(0, text->find('\n'));
  if (!absl::ConsumePrefix(&line, "DeviceFileMinor:")) return std::nullopt;
  return NumberBehind("", absl::StripAsciiWhitespace(line));
}

}  // namespace

ClaimFiles::ClaimFiles(const NodeFolders& folders) : folders_(folders) {}

// Returns nullptr if the checkpoint does not have the device.
const PreparedDevice* ClaimFiles::Find(const std::string& pod, const PodDevice& device) const {
  if (device.resource != kDriver) return nullptr;
  for (const CdiName& name : CdiNamesOf(device)) {
    const std::string uid = ClaimUidIn(name, device.id);
    const PreparedDevices& prepared = checkpoint_.content;
    const auto& devices = uid.empty() ? prepared.by_pod : prepared.by_claim;
    const auto found = devices.find({uid.empty() ? pod : uid, device.id});
    if (found != devices.end()) return &found->second;
  }
  return nullptr;
}

const CdiDevices& ClaimFiles::Spec(const std::string& path) {
  used_.insert(path);
  File<CdiDevices>& file = specs_[path];
  ReadAgain(path, kMaxBytesOfSpec, ParseCdiSpec, file);
  return file.content;
}

// Returns "nvidia0", or "nvidia0/gi3" for an instance: the forms of ParseDeviceId(). Empty: the
// nodes are not those of one GPU, or the kernel does not show which instance has the capability.
std::string ClaimFiles::IdByNodes(const std::vector<std::string>& paths) const {
  std::set<int> minors;
  std::set<int> capabilities;
  for (const std::string& path : paths) {
    if (const auto minor = NumberBehind("/dev/nvidia", path)) minors.insert(*minor);
    const auto capability = NumberBehind("/dev/nvidia-caps/nvidia-cap", path);
    if (capability) capabilities.insert(*capability);
  }
  if (minors.size() != 1) return "";
  const int minor_number = *minors.begin();
  if (!capabilities.empty()) return InstanceIdOf(minor_number, capabilities);
  return absl::StrCat("nvidia", minor_number);
}

std::string ClaimFiles::InstanceIdOf(int minor_number, const std::set<int>& capabilities) const {
  const std::string folder =
      absl::StrCat(folders_.proc, "/driver/nvidia/capabilities/gpu", minor_number, "/mig");
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    const auto capability = CapabilityIn(absl::StrCat(folder, "/", name, "/access"));
    if (NumberBehind("gi", name) && capability && capabilities.contains(*capability)) {
      return absl::StrCat("nvidia", minor_number, "/", name);
    }
  }
  return "";
}

std::vector<std::string> ClaimFiles::CdiIdsOf(const PodDevice& device) {
  std::vector<std::string> ids;
  for (const CdiName& name : CdiNamesOf(device)) {
    const std::string uid = ClaimUidIn(name, device.id);
    const CdiDevices& spec = Spec(absl::StrCat(folders_.cdi, "/", name.vendor, "-", name.kind, "_",
                                               uid.empty() ? "base" : uid, ".yaml"));
    const auto nodes = spec.find(std::string(name.device));
    if (nodes != spec.end()) ids.push_back(IdByNodes(nodes->second));
  }
  std::erase(ids, "");
  return ids;
}

void ClaimFiles::LogAbsence(const std::vector<PodDevices>& pods) {
  const bool any_claim = std::ranges::any_of(pods, [](const PodDevices& pod) {
    return std::ranges::find(pod.devices, kDriver, &PodDevice::resource) != pod.devices.end();
  });
  const bool lacks =
      any_claim && checkpoint_.version.empty() && !VersionOf(folders_.dra_plugin).empty();
  if (lacks && !lacks_checkpoint_) {
    LogWarn("dra_checkpoint_absent", {{"path", CheckpointIn(folders_)}});
  }
  lacks_checkpoint_ = lacks;
}

void ClaimFiles::AddTo(std::vector<PodDevices>& pods) {
  used_.clear();
  ReadAgain(CheckpointIn(folders_), kMaxBytesOfCheckpoint, ParseDraCheckpoint, checkpoint_);
  LogAbsence(pods);
  for (PodDevices& pod : pods) {
    std::erase_if(pod.devices, [&](const PodDevice& device) {
      const PreparedDevice* const prepared = Find(pod.name, device);
      return prepared != nullptr && prepared->has_admin_access;
    });
    for (PodDevice& device : pod.devices) {
      if (!IsDraDriver(device.resource)) continue;
      const PreparedDevice* const prepared = Find(pod.name, device);
      device.is_held = prepared != nullptr;
      device.other_ids = CdiIdsOf(device);
      if (prepared != nullptr && !prepared->uuid.empty()) {
        device.other_ids.push_back(prepared->uuid);
      }
    }
  }
  std::erase_if(specs_, [this](const auto& entry) { return !used_.contains(entry.first); });
}

}  // namespace gpuscaler
