// The cost of keda_gpu_scaler_gpu_seconds_total for an agent on 8 GPUs: its sampler ticks with and
// without the counters, their memory, and their part of the metrics page. The readings are made up,
// with their holders. So a tick has no driver and no kubelet, and counting is a smaller part of a
// real one.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/fake_clock.h"
#include "page/metric_family.h"
#include "page/test_footprint.h"
#include "serve/gpu_time_metrics.h"
#include "serve/metrics.h"
#include "workload/sampler.h"

namespace gpuscaler {
namespace {

constexpr int kGpus = 8;
constexpr absl::Duration kReadEvery = absl::Seconds(2);  // the default of --poll-interval
constexpr absl::Duration kStaleAfter = absl::Seconds(6);
constexpr absl::Duration kHorizon = absl::Minutes(15);
constexpr int kTicksBefore = 450;  // a full history
constexpr GpuTimeLimits kLimits{.idle_after = absl::Seconds(10), .stale_after = kStaleAfter};

// Each replica is of its own workload, which makes the most series. A generation of workloads
// starts, is idle, is busy, and leaves: that makes three series for each workload.
constexpr int kStartingTicks = 5;
constexpr int kIdleTicks = 15;
constexpr int kGenerationTicks = 30;

struct NodeLayout {
  int replicas_of_gpu;
  bool is_mig;      // a replica has a MIG instance; otherwise the replicas share the GPU
  int generations;  // the last one stays, and is busy
};
constexpr NodeLayout kShared{.replicas_of_gpu = 2, .is_mig = false, .generations = 1};
constexpr NodeLayout kMig{.replicas_of_gpu = 7, .is_mig = true, .generations = 1};
// More workloads than GpuTimeCounters::kMaxWorkloads.
constexpr NodeLayout kSharedWithChurn{.replicas_of_gpu = 2, .is_mig = false, .generations = 14};
constexpr NodeLayout kMigWithChurn{.replicas_of_gpu = 7, .is_mig = true, .generations = 5};

GpuSample GpuNamed(const std::string& uuid, int index) {
  GpuSample gpu;
  gpu.uuid = uuid;
  gpu.name = "NVIDIA H200";
  gpu.index = index;
  gpu.memory_used_bytes = int64_t{16} << 30;
  gpu.memory_total_bytes = int64_t{18} << 30;
  gpu.power_watts = 500;
  return gpu;
}

// A node with a new reading at each call. The clock must advance between calls.
class HeldNode : public GpuSource {
 public:
  HeldNode(const Clock& clock, const NodeLayout& layout) : clock_(clock), layout_(layout) {
    snapshot_.node = "gpu-node-7";
    snapshot_.read_every = kReadEvery;
    snapshot_.attribution.state = Attribution::State::kKnown;
    for (int index = 0; index < kGpus; ++index) AddGpu(index);
  }

  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& /*wanted*/) override {
    const int generation = std::min(tick_ / kGenerationTicks, layout_.generations - 1);
    const int age = tick_ - generation * kGenerationTicks;
    snapshot_.taken_at = clock_.Now();
    if (age == 0) BeginGeneration(generation);
    if (age == kStartingTicks) {
      for (Pod& pod : snapshot_.pods.Own()) pod.ready = true;
    }
    for (size_t i = 0; i < snapshot_.gpus.size(); ++i) {
      const int load = 50 + (static_cast<int>(i) * 7 + tick_ * 3) % 50;
      snapshot_.gpus[i].utilization_percent = age < kIdleTicks ? 0 : load;
    }
    ++tick_;
    return snapshot_;
  }

 private:
  void AddGpu(int index) {
    const std::string uuid = absl::StrCat("GPU-6f2a7c1e-5d3b-4b8f-9a0c-00000000000", index);
    snapshot_.gpus.push_back(GpuNamed(uuid, index));
    snapshot_.gpus.back().is_in_mig_mode = layout_.is_mig;
    for (int i = 0; i < layout_.replicas_of_gpu; ++i) {
      if (layout_.is_mig) {
        snapshot_.gpus.push_back(GpuNamed(absl::StrCat("MIG-", uuid, "-", i), index));
        snapshot_.gpus.back().parent_uuid = uuid;
        snapshot_.gpus.back().name += " MIG 1g.18gb";
        snapshot_.gpus.back().gpu_instance = i;
      }
      snapshot_.gpus.back().holders.push_back(
          {.pod = static_cast<int>(snapshot_.pods.size()),
           .container = "vllm",
           .share = layout_.is_mig ? 1 : 1.0 / layout_.replicas_of_gpu});
      snapshot_.pods.push_back({});
    }
  }

  void BeginGeneration(int generation) {
    for (size_t i = 0; i < snapshot_.pods.size(); ++i) {
      Pod& pod = snapshot_.pods[i];
      const std::string workload = absl::StrCat("llm-", generation, "-", i);
      pod.namespace_name = absl::StrCat("team-", i % 4);
      pod.name = absl::StrCat(workload, "-7d9f8b6c5d-x2x4z");
      pod.owners = {{.kind = "ReplicaSet", .name = absl::StrCat(workload, "-7d9f8b6c5d")},
                    {.kind = "Deployment", .name = workload}};
      pod.owners_from = Pod::OwnersFrom::kReferences;
      pod.ready = false;
      pod.listed_since = snapshot_.taken_at;
    }
  }

  const Clock& clock_;
  const NodeLayout layout_;
  NodeSnapshot snapshot_;
  int tick_ = 0;
};

absl::Duration ThreadCpuTime() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return absl::DurationFromTimespec(now);
}

// An agent's sampler with a full history.
class SampledNode {
 public:
  SampledNode(const NodeLayout& layout, bool counts)
      : source_(clock_, layout),
        sampler_(clock_, source_, leases_, store_, /*attribution=*/nullptr,
                 {.collected = [this](const absl::Status& status,
                                      absl::Duration took) { metrics_.Collected(status, took); },
                  .annotated =
                      [this, counts](const NodeSnapshot& snapshot) {
                        if (counts) gpu_time_.Read(snapshot);
                      },
                  .processes_changed = nullptr}) {
    Tick(kTicksBefore);
  }

  // Returns the CPU time of these ticks.
  absl::Duration Tick(int count) {
    const absl::Duration before = ThreadCpuTime();
    for (int i = 0; i < count; ++i) {
      clock_.Advance(kReadEvery);
      benchmark::DoNotOptimize(sampler_.Tick());
    }
    return ThreadCpuTime() - before;
  }

 private:
  FakeClock clock_;
  HeldNode source_;
  Leases leases_;
  SnapshotStore store_{clock_, kStaleAfter, kHorizon};
  Metrics metrics_;
  GpuTimeMetrics gpu_time_{kLimits};
  Sampler sampler_;
};

// The time is that of a tick with the counters.
void BM_SamplerTick(benchmark::State& state, const NodeLayout& layout) {
  constexpr int kBatch = 100;
  SampledNode with(layout, /*counts=*/true);
  SampledNode without(layout, /*counts=*/false);
  absl::Duration took_with;
  absl::Duration took_without;
  while (state.KeepRunningBatch(kBatch)) {
    took_with += with.Tick(kBatch);
    state.PauseTiming();
    took_without += without.Tick(kBatch);
    state.ResumeTiming();
  }
  const absl::Duration counting = (took_with - took_without) / state.iterations();
  state.SetLabel(absl::StrFormat("counting: %.2f us, %.1f %% of the tick, %.5f %% of a core",
                                 absl::ToDoubleMicroseconds(counting),
                                 100 * absl::FDivDuration(took_with - took_without, took_with),
                                 100 * absl::FDivDuration(counting, kReadEvery)));
}
BENCHMARK_CAPTURE(BM_SamplerTick, shared, kShared)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_SamplerTick, mig, kMig)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_SamplerTick, shared_with_churn, kSharedWithChurn)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_SamplerTick, mig_with_churn, kMigWithChurn)->Unit(benchmark::kMicrosecond);

// The time is that of one scrape of the counters.
void BM_GpuTimeScrape(benchmark::State& state, const NodeLayout& layout) {
  FakeClock clock;
  HeldNode node(clock, layout);
  const size_t bytes_before = AllocatedBytes();
  GpuTimeMetrics gpu_time(kLimits);
  for (int tick = 0; tick < kTicksBefore; ++tick) {
    clock.Advance(kReadEvery);
    gpu_time.Read(*node.Read({}));
  }
  const size_t held_bytes = AllocatedBytes() - bytes_before;
  const size_t series = gpu_time.Families(clock.Now()).at(0).metric.size();
  size_t page_bytes = 0;
  for (auto _ : state) page_bytes = MetricsText(gpu_time.Families(clock.Now())).size();
  state.SetLabel(absl::StrFormat("%d series, %d bytes of the page, %d bytes of memory (%d each)",
                                 series, page_bytes, held_bytes, held_bytes / series));
}
BENCHMARK_CAPTURE(BM_GpuTimeScrape, shared, kShared)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_GpuTimeScrape, mig, kMig)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_GpuTimeScrape, shared_with_churn, kSharedWithChurn)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_GpuTimeScrape, mig_with_churn, kMigWithChurn)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gpuscaler

BENCHMARK_MAIN();
