#include "workload/cdi_spec.h"

#include "absl/strings/str_cat.h"
#include "yaml-cpp/yaml.h"

namespace gpuscaler {
namespace {

constexpr size_t kMaxNodes = 4096;

// Throws YAML::Exception.
CdiDevices DevicesOf(const YAML::Node& spec) {
  CdiDevices devices;
  size_t nodes = 0;
  for (const YAML::Node& device : spec["devices"]) {
    std::vector<std::string>& paths = devices[device["name"].as<std::string>()];
    if (++nodes > kMaxNodes) throw YAML::Exception(device.Mark(), "too many devices");
    const YAML::Node edits = device["containerEdits"];
    if (!edits.IsDefined()) continue;
    for (const YAML::Node& node : edits["deviceNodes"]) {
      if (++nodes > kMaxNodes) throw YAML::Exception(node.Mark(), "too many device nodes");
      paths.push_back(node["path"].as<std::string>());
    }
  }
  return devices;
}

}  // namespace

absl::StatusOr<CdiDevices> ParseCdiSpec(absl::string_view yaml) {
  try {
    const YAML::Node spec = YAML::Load(std::string(yaml));
    if (!spec.IsMap() || !spec["devices"].IsSequence()) {
      return absl::InvalidArgumentError("no CDI specification: it has no list of devices");
    }
    return DevicesOf(spec);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("no CDI specification: ", error.what()));
  }
}

}  // namespace gpuscaler
