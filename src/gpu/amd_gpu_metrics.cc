#include "gpu/amd_gpu_metrics.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace gpuscaler {
namespace {

constexpr size_t kMaxPartitions = 8;  // NUM_XCP
constexpr size_t kMaxDies = 8;        // MAX_XCC

// Offsets in struct gpu_metrics_v1_*, from drivers/gpu/drm/amd/include/kgd_pp_interface.h. A
// revision does not identify a layout: Linux 6.11 and 6.14 have different versions 1.6, and 1.8 has
// grown. So a layout counts only with its size.
struct Layout {
  uint8_t revision;
  size_t size;
  size_t cycles;
  size_t gfx_sum;            // mem_activity_acc follows it
  size_t partition_count;    // 0: without partitions
  size_t partitions;         // xcp_stats
  size_t partition_size;     // the size of one, which begins with gfx_busy_inst
  size_t partition_die_sum;  // gfx_busy_acc in each of them
};
constexpr Layout kLayouts[] = {
    {6, 384, 104, 144, 0, 0, 0, 0},        {6, 1664, 32, 68, 306, 312, 168, 104},
    {7, 2208, 40, 76, 338, 344, 232, 104}, {8, 3360, 40, 76, 338, 344, 376, 120},
    {8, 3872, 40, 76, 338, 344, 440, 120},
};

// Little-endian, as all machines with such a GPU. All bits set: the firmware lacks the value.
template <typename T>
std::optional<T> FieldAt(absl::string_view table, size_t offset) {
  if (offset + sizeof(T) > table.size()) return std::nullopt;
  T value;
  std::memcpy(&value, table.data() + offset, sizeof(T));
  if (value == std::numeric_limits<T>::max()) return std::nullopt;
  return value;
}

std::optional<double> PercentAt(absl::string_view table, size_t offset) {
  const auto value = FieldAt<uint16_t>(table, offset);
  if (!value || *value > 100) return std::nullopt;
  return *value;
}

AmdPartitionActivity PartitionAt(absl::string_view table, const Layout& layout, size_t offset) {
  AmdPartitionActivity activity;
  for (size_t die = 0; die < kMaxDies; ++die) {
    const auto percent = FieldAt<uint32_t>(table, offset + die * sizeof(uint32_t));
    const auto sum =
        FieldAt<uint64_t>(table, offset + layout.partition_die_sum + die * sizeof(uint64_t));
    if (percent) activity.busy_percent.push_back(*percent);
    if (sum) activity.busy_sums.push_back(*sum);
  }
  return activity;
}

void ReadSums(absl::string_view table, const Layout& layout, AmdGpuMetrics& metrics) {
  metrics.cycles = FieldAt<uint32_t>(table, layout.cycles);
  metrics.gfx_sum = FieldAt<uint32_t>(table, layout.gfx_sum);
  metrics.memory_sum = FieldAt<uint32_t>(table, layout.gfx_sum + sizeof(uint32_t));
  if (layout.partition_count == 0) return;
  const size_t count = FieldAt<uint16_t>(table, layout.partition_count).value_or(0);
  for (size_t i = 0; i < std::min(count, kMaxPartitions); ++i) {
    metrics.partitions.push_back(
        PartitionAt(table, layout, layout.partitions + i * layout.partition_size));
  }
}

}  // namespace

AmdGpuMetrics ParseAmdGpuMetrics(absl::string_view table) {
  AmdGpuMetrics metrics;
  const auto size = FieldAt<uint16_t>(table, 0);
  const auto format = FieldAt<uint8_t>(table, 2);
  const auto revision = FieldAt<uint8_t>(table, 3);
  if (!size || format != 1 || !revision || *size > table.size()) return metrics;
  if (*revision >= 1 && *revision <= 8) {
    const bool begins_with_edge_temperature = *revision <= 3;
    const size_t gfx = begins_with_edge_temperature ? 16 : 12;
    metrics.gfx_percent = PercentAt(table, gfx);
    metrics.memory_percent = PercentAt(table, gfx + sizeof(uint16_t));
  }
  for (const Layout& layout : kLayouts) {
    if (layout.revision == *revision && layout.size == *size) ReadSums(table, layout, metrics);
  }
  return metrics;
}

}  // namespace gpuscaler
