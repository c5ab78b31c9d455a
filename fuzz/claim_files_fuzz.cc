// The files of DRA claims: CDI specifications and the checkpoint of NVIDIA's driver. Each input is
// read as both.
#include <cstdint>

#include "fuzz_assert.h"
#include "workload/cdi_spec.h"
#include "workload/dra_checkpoint.h"

namespace gpuscaler {
namespace {

void CheckText(absl::string_view text) {
  const auto devices = ParseCdiSpec(text);
  FUZZ_ASSERT(devices.ok() || absl::IsInvalidArgument(devices.status()));
  if (devices.ok()) {
    size_t nodes = devices->size();
    for (const auto& [name, paths] : *devices) nodes += paths.size();
    FUZZ_ASSERT(nodes <= 4096);
  }
  const auto prepared = ParseDraCheckpoint(text);
  FUZZ_ASSERT(prepared.ok() || absl::IsInvalidArgument(prepared.status()));
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckText({reinterpret_cast<const char*>(data), size});
  return 0;
}
