// The table in an AMD GPU's `gpu_metrics` file: activity that no other file has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// The compute dies (XCCs) of one partition. Both lists have one element for each die.
struct AmdPartitionActivity {
  std::vector<uint32_t> busy_percent;  // now; not checked, so it may be above 100
  std::vector<uint64_t> busy_sums;     // percent, added up in each cycle
};

struct AmdGpuMetrics {
  std::optional<double> gfx_percent;     // 0-100, of the whole GPU, now
  std::optional<double> memory_percent;  // 0-100, of its memory controller, now
  // Cycles of the firmware. In each of them it adds the present percentages to the sums.
  std::optional<uint32_t> cycles;
  std::optional<uint64_t> gfx_sum;
  std::optional<uint64_t> memory_sum;
  // The index is the partition's number. Empty: the table has no list of them.
  std::vector<AmdPartitionActivity> partitions;
};

// Reads versions 1.1 to 1.8. All fields are empty for other ones: 2 and 3 are those of integrated
// GPUs, with other units, and 1.9 has no fixed layout. A field with all bits set is not available
// and stays empty.
AmdGpuMetrics ParseAmdGpuMetrics(absl::string_view table);

}  // namespace gpuscaler
