// The JSON text of a simulated node.
#include <algorithm>
#include <cstdint>
#include <set>

#include "absl/strings/ascii.h"
#include "fuzz_assert.h"
#include "gpu/gpu_file.h"
#include "gpu/json_line.h"

namespace gpuscaler {
namespace {

bool IsIn(const std::optional<double>& value, double least, double most) {
  return !value || (*value >= least && *value <= most);
}

void CheckGpus(const std::vector<GpuSample>& gpus) {
  std::set<std::string> uuids;
  for (const GpuSample& gpu : gpus) {
    FUZZ_ASSERT(!gpu.uuid.empty() && uuids.insert(gpu.uuid).second && gpu.index >= 0);
    FUZZ_ASSERT(!IsMig(gpu) || uuids.contains(gpu.parent_uuid));  // directly after its parent
    FUZZ_ASSERT(IsIn(gpu.utilization_percent, 0, 100) && IsIn(MemoryUsedPercent(gpu), 0, 100));
    FUZZ_ASSERT(IsIn(gpu.sm_activity_percent, 0, 100) && IsIn(gpu.dram_activity_percent, 0, 100) &&
                IsIn(gpu.tensor_activity_percent, 0, 100));
    FUZZ_ASSERT(IsIn(gpu.power_watts, 0, 1e308) && gpu.memory_used_bytes.value_or(0) >= 0);
    for (const GpuGap& gap : gpu.gaps) FUZZ_ASSERT(gap.reason == GpuGap::Reason::kFailed);
  }
  FUZZ_ASSERT(std::ranges::is_sorted(gpus, {}, &GpuSample::index));
}

void CheckText(absl::string_view text) {
  const int lines = 1 + static_cast<int>(std::ranges::count(text, '\n'));
  for (const absl::string_view path : {"", "gpus[0].uuid", "frames[1].gpus[0].processes[0]", "]"}) {
    const int line = JsonLine(text, path);
    FUZZ_ASSERT(line >= 1 && line <= lines);
  }
  const auto frames = ParseGpuFile(text);
  if (!frames.ok()) {
    const absl::string_view why = frames.status().message();
    FUZZ_ASSERT(absl::IsInvalidArgument(frames.status()));
    FUZZ_ASSERT(!why.empty() && absl::ascii_isdigit(static_cast<unsigned char>(why[0])));
    return;
  }
  FUZZ_ASSERT(!frames->empty());
  for (const GpuFrame& frame : *frames) CheckGpus(frame.snapshot.gpus);
  for (const absl::Duration age :
       {absl::ZeroDuration(), absl::Seconds(1), absl::Hours(1'000'000)}) {
    const GpuFrame* const frame = &FrameAt(*frames, age);
    FUZZ_ASSERT(frame >= &frames->front() && frame <= &frames->back());
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckText({reinterpret_cast<const char*>(data), size});
  return 0;
}
