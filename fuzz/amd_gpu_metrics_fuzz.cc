// The table in a `gpu_metrics` file of AMD's driver. Its layout may be newer than all known ones.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "fuzz_assert.h"
#include "gpu/amd_gpu_metrics.h"
#include "libfuzzer.h"

namespace gpuscaler {
namespace {

bool IsPercent(const std::optional<double>& value) {
  return !value || (*value >= 0 && *value <= 100);
}

bool IsEmpty(const AmdGpuMetrics& metrics) {
  return !metrics.gfx_percent && !metrics.memory_percent && !metrics.cycles && !metrics.gfx_sum &&
         !metrics.memory_sum && metrics.partitions.empty();
}

size_t SizeIn(absl::string_view table) {
  if (table.size() < 4) return 0;
  return static_cast<uint8_t>(table[0]) + size_t{256} * static_cast<uint8_t>(table[1]);
}

void CheckTable(absl::string_view table) {
  const AmdGpuMetrics metrics = ParseAmdGpuMetrics(table);
  FUZZ_ASSERT(IsPercent(metrics.gfx_percent) && IsPercent(metrics.memory_percent));
  FUZZ_ASSERT(metrics.partitions.size() <= 8);
  for (const AmdPartitionActivity& partition : metrics.partitions) {
    FUZZ_ASSERT(partition.busy_percent.size() <= 8 && partition.busy_sums.size() <= 8);
  }
  const bool is_known = table.size() >= 4 && table.size() >= SizeIn(table) && table[2] == 1 &&
                        table[3] >= 1 && table[3] <= 8;
  FUZZ_ASSERT(is_known || IsEmpty(metrics));
}

}  // namespace
}  // namespace gpuscaler

// Sometimes writes the header of a table with a known size.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  struct Version {
    uint8_t revision;
    uint16_t size;
  };
  constexpr Version kVersions[] = {{3, 120},  {4, 288},  {6, 384}, {6, 1664},
                                   {7, 2208}, {8, 3360}, {8, 3872}};
  std::mt19937 random(seed);
  if (random() % 16 != 0 || max_size < 4) return LLVMFuzzerMutate(data, size, max_size);
  const Version& version = kVersions[random() % std::size(kVersions)];
  const uint8_t header[] = {static_cast<uint8_t>(version.size),
                            static_cast<uint8_t>(version.size >> 8), 1, version.revision};
  std::ranges::copy(header, data);
  return std::max(size, sizeof(header));
}

// The rest of a table that is shorter than its header claims is 0 then.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string table(reinterpret_cast<const char*>(data), size);
  gpuscaler::CheckTable(table);
  table.resize(std::max(size, gpuscaler::SizeIn(table)));
  gpuscaler::CheckTable(table);
  return 0;
}
