// The table in a `gpu_metrics` file of AMD's driver. Its layout may be newer than all known ones.
#include <cstdint>

#include "fuzz_assert.h"
#include "gpu/amd_gpu_metrics.h"

namespace gpuscaler {
namespace {

bool IsPercent(const std::optional<double>& value) {
  return !value || (*value >= 0 && *value <= 100);
}

void CheckTable(absl::string_view table) {
  const AmdGpuMetrics metrics = ParseAmdGpuMetrics(table);
  FUZZ_ASSERT(IsPercent(metrics.gfx_percent) && IsPercent(metrics.memory_percent));
  FUZZ_ASSERT(metrics.partitions.size() <= 8);
  for (const AmdPartitionActivity& partition : metrics.partitions) {
    FUZZ_ASSERT(partition.busy_percent.size() <= 8 && partition.busy_sums.size() <= 8);
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckTable({reinterpret_cast<const char*>(data), size});
  return 0;
}
