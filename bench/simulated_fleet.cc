#include "simulated_fleet.h"

#include "absl/strings/str_format.h"

namespace gpuscaler {
namespace {

constexpr int kWorkloadsPerNamespace = 10;
constexpr int kAlternatesEvery = 10;
constexpr int kReadingsPerState = 3;

bool IsUp(int workload, int64_t reading) {
  return (reading + workload / kAlternatesEvery) / kReadingsPerState % 2 == 1;
}

// Power in milliwatts, as NVML counts it.
double Watts(int64_t milliwatts) { return static_cast<double>(milliwatts) / 1000; }

}  // namespace

std::string WorkloadName(int workload) { return absl::StrFormat("llama-%03d", workload); }

std::string NamespaceOf(int workload) {
  return absl::StrFormat("team-%02d", workload / kWorkloadsPerNamespace);
}

bool Alternates(int workload) { return workload % kAlternatesEvery == 0; }

SimulatedNode::SimulatedNode(int number, bool busy)
    : first_gpu_(number * kGpusPerNode), busy_(busy) {
  snapshot_.node = absl::StrFormat("gpu-%04d", number);
  snapshot_.source = "nvml";
  snapshot_.driver_version = "570.124.06";
  snapshot_.attribution.state = Attribution::State::kKnown;
  for (int index = 0; index < kGpusPerNode; ++index) {
    const int gpu = first_gpu_ + index;
    const std::string workload = WorkloadName(WorkloadOf(index));
    snapshot_.pods.push_back(
        {.namespace_name = NamespaceOf(WorkloadOf(index)),
         .name = absl::StrFormat("%s-7d9c5b8f4-%05d", workload, gpu),
         .uid = absl::StrFormat("0e9f6c1e-3a51-4c8e-9d1b-%012d", gpu),
         .owners = {{.kind = "Deployment", .name = workload}},
         .owners_from = Pod::OwnersFrom::kReferences,
         .ready = true,
         .address = absl::StrFormat("10.%d.%d.%d", gpu >> 16, gpu >> 8 & 255, gpu & 255)});
    snapshot_.gpus.push_back(
        {.uuid = absl::StrFormat("GPU-5c6e2a10-0c3f-4f0e-9a5b-%012d", gpu),
         .name = "NVIDIA H100 80GB HBM3",
         .index = index,
         .utilization_percent = 0,
         .memory_utilization_percent = 0,
         .memory_used_bytes = int64_t{73} << 30,  // preallocated
         .memory_total_bytes = int64_t{80} << 30,
         .temperature_celsius = 41,
         .power_watts = 118.5,
         .power_limit_watts = 700,
         .nvlink_tx_mbps = 0,
         .nvlink_rx_mbps = 0,
         .processes = {{{.pid = 4711 + index, .memory_bytes = int64_t{72} << 30}}},
         .ecc_uncorrected_errors = 0,
         .throttle_reasons = 0,
         .in_use = true,
         .holders = {{.pod = index, .container = "vllm"}}});
  }
}

int SimulatedNode::WorkloadOf(int index) const { return (first_gpu_ + index) % kWorkloads; }

const NodeSnapshot& SimulatedNode::Read(int64_t reading, absl::Time at) {
  snapshot_.taken_at = at;
  for (GpuSample& gpu : snapshot_.gpus.Own()) UpdateGpu(gpu, reading);
  memory_watch_.Annotate(snapshot_);
  return snapshot_;
}

void SimulatedNode::UpdateGpu(GpuSample& gpu, int64_t reading) const {
  const int workload = WorkloadOf(gpu.index);
  if (Alternates(workload)) {
    const bool first = first_gpu_ + gpu.index < kWorkloads;
    gpu.utilization_percent = first && IsUp(workload, reading) ? 90 : 0;
    return;
  }
  if (!busy_) return;
  const int64_t noise = (reading * 7919 + (first_gpu_ + gpu.index) * 104'729) % 4001;
  gpu.utilization_percent = static_cast<double>(60 + noise % 41);
  gpu.memory_utilization_percent = static_cast<double>(30 + noise % 29);
  gpu.power_watts = Watts(500'000 + 13 * noise);
  gpu.temperature_celsius = static_cast<double>(58 + reading / 7 % 5);
}

int SimulatedNode::RisingAt(int64_t reading) const {
  if (first_gpu_ >= kWorkloads) return -1;
  for (int index = 0; index < kGpusPerNode; ++index) {
    const int workload = WorkloadOf(index);
    if (first_gpu_ + index >= kWorkloads || !Alternates(workload)) continue;
    if (IsUp(workload, reading) && !IsUp(workload, reading - 1)) return workload;
  }
  return -1;
}

}  // namespace gpuscaler
