#include "gpu/kfd_nodes.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gpu/sysfs_file.h"

namespace gpuscaler {
namespace {

constexpr char kKfd[] = "/class/kfd/kfd";

using Properties = std::map<std::string, int64_t>;

// Parses lines such as "drm_render_minor 128". Numbers above an int64_t, as hive_id, are left out.
Properties ReadProperties(const std::string& path) {
  Properties properties;
  const auto text = ReadSysfs(path);
  if (!text.ok()) return properties;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
    int64_t number = 0;
    if (parts.size() == 2 && absl::SimpleAtoi(parts[1], &number)) {
      properties.emplace(parts[0], number);
    }
  }
  return properties;
}

int64_t ValueOf(const Properties& properties, const char* name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : found->second;
}

// Adds up the VRAM: heap types 1 and 2 of kfd_crat.h. In mode NPS1 a partition's bank is its part
// of the GPU's memory.
std::optional<int64_t> ReadMemory(const std::string& node) {
  const std::string banks = node + "/mem_banks";
  int64_t bytes = 0;
  for (const std::string& bank : NamesInSysfs(banks)) {
    const Properties properties = ReadProperties(absl::StrCat(banks, "/", bank, "/properties"));
    const int64_t heap = ValueOf(properties, "heap_type");
    if (heap == 1 || heap == 2) bytes += ValueOf(properties, "size_in_bytes");
  }
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

// `location_id` has the PCI bus in bits 8 to 15, and the device in bits 3 to 7. The lowest bits, or
// since Linux 6.9 the highest, number the partition.
std::string PciPlace(const Properties& properties) {
  const int64_t location = ValueOf(properties, "location_id");
  return absl::StrFormat("%04x:%02x:%02x", ValueOf(properties, "domain"), location >> 8 & 0xff,
                         location >> 3 & 0x1f);
}

// Returns nullopt for a CPU.
std::optional<KfdNode> ReadNode(const std::string& folder) {
  const Properties properties = ReadProperties(folder + "/properties");
  const auto gpu_id = ReadSysfsNumber(folder + "/gpu_id");
  const int64_t render_minor = ValueOf(properties, "drm_render_minor");
  if (!gpu_id.ok() || *gpu_id == 0 || render_minor <= 0) return std::nullopt;
  return KfdNode{.gpu_id = *gpu_id,
                 .render_minor = static_cast<int>(render_minor),
                 .pci_place = PciPlace(properties),
                 .memory_bytes = ReadMemory(folder)};
}

// A process may end while it is read.
void AddProcess(const std::string& folder, int64_t pid, KfdProcesses& processes) {
  for (const std::string& name : NamesInSysfs(folder)) {
    absl::string_view rest = name;
    int64_t gpu_id = 0;
    if (!absl::ConsumePrefix(&rest, "vram_") || !absl::SimpleAtoi(rest, &gpu_id)) continue;
    const auto bytes = ReadSysfsNumber(absl::StrCat(folder, "/", name));
    if (!bytes.ok() || *bytes <= 0) continue;
    processes[gpu_id].push_back({.pid = pid, .memory_bytes = *bytes});
  }
}

}  // namespace

std::vector<KfdNode> ReadKfdNodes(const std::string& sysfs_root) {
  const std::string folder = absl::StrCat(sysfs_root, kKfd, "/topology/nodes");
  std::map<int, KfdNode> by_number;
  for (const std::string& name : NamesInSysfs(folder)) {
    int number = 0;
    if (!absl::SimpleAtoi(name, &number)) continue;
    if (auto node = ReadNode(absl::StrCat(folder, "/", name))) by_number.emplace(number, *node);
  }
  std::vector<KfdNode> nodes;
  for (auto& [number, node] : by_number) nodes.push_back(std::move(node));
  return nodes;
}

std::optional<KfdProcesses> ReadKfdProcesses(const std::string& sysfs_root) {
  const std::string folder = absl::StrCat(sysfs_root, kKfd, "/proc");
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return std::nullopt;
  KfdProcesses processes;
  for (const std::string& name : NamesInSysfs(folder)) {
    int64_t pid = 0;
    if (absl::SimpleAtoi(name, &pid)) AddProcess(absl::StrCat(folder, "/", name), pid, processes);
  }
  return processes;
}

}  // namespace gpuscaler
