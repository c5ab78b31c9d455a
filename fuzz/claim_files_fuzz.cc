// The files of DRA claims: CDI specifications and the checkpoint of NVIDIA's driver. Each input is
// read as both, and its lines as CDI names, which become parts of paths.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/test_folder.h"
#include "fuzz_assert.h"
#include "workload/cdi_spec.h"
#include "workload/claim_files.h"
#include "workload/dra_checkpoint.h"

namespace gpuscaler {
namespace {

void CheckSpec(absl::string_view text) {
  const auto devices = ParseCdiSpec(text);
  FUZZ_ASSERT(devices.ok() || absl::IsInvalidArgument(devices.status()));
  if (!devices.ok()) return;
  size_t nodes = devices->size();
  for (const auto& [name, paths] : *devices) nodes += paths.size();
  FUZZ_ASSERT(nodes <= 4096);
}

// A device of a pod is one of a claim, and has admin access only if a claim gives it.
void CheckCheckpoint(absl::string_view text) {
  const auto prepared = ParseDraCheckpoint(text);
  FUZZ_ASSERT(prepared.ok() || absl::IsInvalidArgument(prepared.status()));
  if (!prepared.ok()) return;
  FUZZ_ASSERT(prepared->by_claim.size() <= text.size());
  for (const auto& of_pod : prepared->by_pod) {
    FUZZ_ASSERT(!of_pod.first.first.empty());
    bool is_of_claim = false, gives_access = false;
    for (const auto& of_claim : prepared->by_claim) {
      if (of_claim.first.second != of_pod.first.second) continue;
      is_of_claim |= of_claim.second.uuid == of_pod.second.uuid;
      gives_access |= of_claim.second.has_admin_access;
    }
    FUZZ_ASSERT(is_of_claim && (gives_access || !of_pod.second.has_admin_access));
  }
}

// The folder of CDI files has only the folder "a-b", and a file is beside it: "a/b/../../outside=x"
// would lead there.
NodeFolders MakeFolders() {
  static const TestFolder folder;
  folder.AddFolder("cdi/a-b");
  folder.Write("outside_base.yaml",
               R"({devices: [{name: x, containerEdits: {deviceNodes: [{path: /dev/nvidia7}]}}]})");
  return {.proc = folder.path(), .cdi = folder.PathOf("cdi"), .dra_plugin = folder.PathOf("none")};
}

void CheckNames(absl::string_view text) {
  static ClaimFiles& files = *new ClaimFiles(MakeFolders());
  PodDevice device = {.resource = "gpu.nvidia.com", .id = "x"};
  device.cdi_names = absl::StrSplit(text, '\n');
  device.cdi_names.resize(std::min<size_t>(device.cdi_names.size(), 8));
  std::vector<PodDevices> pods = {{.namespace_name = "shop", .name = "llm", .devices = {device}}};
  files.AddTo(pods);
  FUZZ_ASSERT(pods[0].devices.size() == 1 && pods[0].devices[0].other_ids.empty());
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  gpuscaler::CheckSpec(text);
  gpuscaler::CheckCheckpoint(text);
  gpuscaler::CheckNames(text);
  return 0;
}
