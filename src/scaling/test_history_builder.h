// Histories for tests: GPUs at successive instants, two seconds apart.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/fleet_history.h"
#include "model/memory_watch.h"

namespace gpuscaler {

constexpr absl::Duration kTick = absl::Seconds(2);

// A GPU of 80 GB in use, by a holder from before the first reading.
inline GpuSample BusyGpu(int index, double utilization_percent, double memory_used_percent = 10) {
  GpuSample gpu;
  gpu.index = index;
  gpu.uuid = absl::StrCat("GPU-", index);
  gpu.name = "NVIDIA Test";
  gpu.utilization_percent = utilization_percent;
  gpu.memory_total_bytes = 80'000'000'000;
  gpu.memory_used_bytes = static_cast<int64_t>(memory_used_percent * 800'000'000);
  gpu.power_watts = 100;
  gpu.in_use = true;
  return gpu;
}

inline GpuSample FreeGpu(int index) {
  GpuSample gpu = BusyGpu(index, 0, 0);
  gpu.in_use = false;
  return gpu;
}

// A GPU that was in use when last read, and cannot be read now.
inline GpuSample LostGpu(int index) {
  GpuSample gpu = BusyGpu(index, 0);
  gpu.utilization_percent.reset();
  gpu.memory_used_bytes.reset();
  gpu.power_watts.reset();
  for (GpuField field : {GpuField::kUtilization, GpuField::kMemory, GpuField::kPower}) {
    gpu.gaps.push_back({field, GpuGap::Reason::kFailed, "NVML error 15 (GPU_IS_LOST)"});
  }
  return gpu;
}

class HistoryBuilder {
 public:
  HistoryBuilder() = default;
  // Equal readings at most `join_within` apart are one run.
  explicit HistoryBuilder(absl::Duration join_within) { limits_.join_within = join_within; }

  // Adds one snapshot, kTick after the previous one.
  HistoryBuilder& Tick(std::vector<GpuSample> gpus) {
    now_ += kTick;
    NodeSnapshot snapshot{.taken_at = now_, .node = "n"};
    snapshot.gpus = std::move(gpus);
    memory_.Annotate(snapshot);
    history_.Append(std::move(snapshot), limits_);
    return *this;
  }

  // Repeats the same GPUs for `duration`.
  HistoryBuilder& RepeatFor(absl::Duration duration, const std::vector<GpuSample>& gpus) {
    for (absl::Time end = now_ + duration; now_ < end;) Tick(gpus);
    return *this;
  }

  // Adds no snapshot for `duration`.
  HistoryBuilder& Pause(absl::Duration duration) {
    now_ += duration;
    return *this;
  }

  absl::Time now() const { return now_; }
  std::shared_ptr<const NodeHistory> history() const {
    return std::make_shared<const NodeHistory>(history_);
  }
  FleetHistory fleet() const { return FleetOfOne(history()); }

 private:
  MemoryWatch memory_;
  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  NodeHistory history_;
  NodeHistory::Limits limits_{.horizon = absl::InfiniteDuration(), .join_within = 3 * kTick};
};

}  // namespace gpuscaler
