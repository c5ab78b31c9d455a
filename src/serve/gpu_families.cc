#include "serve/gpu_families.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/free_gpus.h"
#include "page/metric_family.h"

namespace gpuscaler {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

template <typename T>
std::optional<double> Number(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

// Families have the names of the reference scaler, if it has the metric.
constexpr GpuNumber kNumbers[] = {
    {"utilization_percent", "gpu_utilization_percent", "Share of time in which a kernel ran.",
     [](const GpuSample& gpu) { return gpu.utilization_percent; }},
    {"memory_utilization_percent", "gpu_memory_utilization_percent",
     "Share of time in which the memory controller was busy.",
     [](const GpuSample& gpu) { return gpu.memory_utilization_percent; }},
    {"memory_used_bytes", "gpu_memory_used_bytes", "VRAM in use, without the driver's reserve.",
     [](const GpuSample& gpu) { return Number(gpu.memory_used_bytes); }},
    {"memory_total_bytes", "gpu_memory_total_bytes", "VRAM of the GPU.",
     [](const GpuSample& gpu) { return Number(gpu.memory_total_bytes); }},
    {"temperature_celsius", "gpu_temperature_celsius", "Temperature of the GPU's die.",
     [](const GpuSample& gpu) { return gpu.temperature_celsius; }},
    {"power_watts", "gpu_power_draw_watts", "Power drawn by the board.",
     [](const GpuSample& gpu) { return gpu.power_watts; }},
    {"power_limit_watts", "gpu_power_limit_watts", "Power limit in force.",
     [](const GpuSample& gpu) { return gpu.power_limit_watts; }},
    {"pcie_tx_kbps", "gpu_pcie_throughput_kbps",
     "PCIe throughput in KB/s, tx from the GPU; only while a trigger uses it.",
     [](const GpuSample& gpu) { return gpu.pcie_tx_kbps; }, "direction", "tx"},
    {"pcie_rx_kbps", "gpu_pcie_throughput_kbps", "",
     [](const GpuSample& gpu) { return gpu.pcie_rx_kbps; }, "direction", "rx"},
    {"nvlink_tx_mbps", "gpu_nvlink_throughput_mbps",
     "NVLink throughput in MiB/s over all links, tx from the GPU.",
     [](const GpuSample& gpu) { return gpu.nvlink_tx_mbps; }, "direction", "tx"},
    {"nvlink_rx_mbps", "gpu_nvlink_throughput_mbps", "",
     [](const GpuSample& gpu) { return gpu.nvlink_rx_mbps; }, "direction", "rx"},
    {"sm_activity_percent", "gpu_activity_percent",
     "Share of the SMs, memory bandwidth or tensor cores in use; only while a trigger uses it.",
     [](const GpuSample& gpu) { return gpu.sm_activity_percent; }, "part", "sm"},
    {"dram_activity_percent", "gpu_activity_percent", "",
     [](const GpuSample& gpu) { return gpu.dram_activity_percent; }, "part", "dram"},
    {"tensor_activity_percent", "gpu_activity_percent", "",
     [](const GpuSample& gpu) { return gpu.tensor_activity_percent; }, "part", "tensor"},
    {"ecc_uncorrected_errors", "gpu_ecc_uncorrected_errors_total",
     "Uncorrected ECC errors since the driver was loaded.",
     [](const GpuSample& gpu) { return Number(gpu.ecc_uncorrected_errors); }, nullptr, nullptr,
     MetricType::Counter},
};

// NVML's clocks event reasons: nvmlClocksEventReason* in nvml.h.
constexpr std::pair<uint64_t, const char*> kThrottleReasons[] = {
    {0x1, "gpu_idle"},
    {0x2, "applications_clocks_setting"},
    {0x4, "sw_power_cap"},
    {0x8, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal_slowdown"},
    {0x40, "hw_thermal_slowdown"},
    {0x80, "hw_power_brake_slowdown"},
    {0x100, "display_clock_setting"},
};

// Adds a series with the labels of the reference scaler and gpu_parent_uuid. That is empty for a
// whole GPU, and an empty label is none to Prometheus.
ClientMetric& AddUnheld(MetricFamily& family, const GpuSample& gpu, double value) {
  return AddValue(family, value,
                  {{.name = "gpu_index", .value = absl::StrCat(gpu.index)},
                   {.name = "gpu_uuid", .value = gpu.uuid},
                   {.name = "gpu_name", .value = gpu.name},
                   {.name = "gpu_parent_uuid", .value = gpu.parent_uuid}});
}

void AddHolder(const Pod& pod, const std::string& container, ClientMetric& series) {
  series.label.push_back({"namespace", pod.namespace_name});
  series.label.push_back({"pod", pod.name});
  series.label.push_back({"container", container});
}

// Adds a series with the labels of the pod that holds the GPU if exactly one is known to, and of
// its container if that is known. Possible holders are last in `gpu.holders`.
ClientMetric& AddSeries(MetricFamily& family, const NodeSnapshot& snapshot, const GpuSample& gpu,
                        double value) {
  ClientMetric& series = AddUnheld(family, gpu, value);
  if (gpu.holders.empty()) return series;
  const GpuHolder& first = gpu.holders.front();
  const auto known = std::ranges::count(gpu.holders, false, &GpuHolder::is_possible);
  const bool is_shared =
      std::any_of(gpu.holders.begin(), gpu.holders.begin() + known,
                  [&first](const GpuHolder& holder) { return holder.pod != first.pod; });
  if (is_shared || known == 0) return series;
  AddHolder(snapshot.pods[first.pod], known == 1 ? first.container : "", series);
  return series;
}

void AddNumber(const GpuNumber& row, const NodeSnapshot& snapshot, MetricFamily& family) {
  for (const GpuSample& gpu : snapshot.gpus) {
    const std::optional<double> value = row.value(gpu);
    if (!value) continue;
    ClientMetric& series = AddSeries(family, snapshot, gpu, *value);
    if (row.label != nullptr) series.label.push_back({row.label, row.label_value});
  }
}

MetricFamily InUseFamily(const NodeSnapshot& snapshot) {
  MetricFamily family = NewFamily(
      "gpu_in_use", "1 while a workload holds the GPU, by the newest reading that shows it.",
      MetricType::Gauge);
  for (const GpuSample& gpu : snapshot.gpus) AddSeries(family, snapshot, gpu, gpu.in_use ? 1 : 0);
  return family;
}

MetricFamily Throttle(const NodeSnapshot& snapshot) {
  MetricFamily family = NewFamily("gpu_throttle_reason",
                                  "1 while the reason holds the clocks down.", MetricType::Gauge);
  for (const GpuSample& gpu : snapshot.gpus) {
    if (!gpu.throttle_reasons) continue;
    for (const auto& [bit, reason] : kThrottleReasons) {
      const bool holds = (*gpu.throttle_reasons & bit) != 0;
      AddSeries(family, snapshot, gpu, holds ? 1 : 0).label.push_back({"reason", reason});
    }
  }
  return family;
}

MetricFamily ReadFailures(const NodeSnapshot& snapshot) {
  MetricFamily family = NewFamily(
      "gpu_read_failures", "1 while the field of the GPU cannot be read.", MetricType::Gauge);
  for (const GpuSample& gpu : snapshot.gpus) {
    std::set<GpuField> failed;  // unique: Prometheus refuses a page with a duplicate series
    for (const GpuGap& gap : gpu.gaps) {
      if (gap.reason == GpuGap::Reason::kFailed) failed.insert(gap.field);
    }
    for (const GpuField field : failed) {
      AddSeries(family, snapshot, gpu, 1).label.push_back({"field", std::string(Name(field))});
    }
  }
  return family;
}

MetricFamily HolderShares(const NodeSnapshot& snapshot) {
  MetricFamily family = NewFamily("gpu_holder_share",
                                  "Share of the GPU's load that counts for the container, 0 to 1.",
                                  MetricType::Gauge);
  for (const GpuSample& gpu : snapshot.gpus) {
    for (const GpuHolder& holder : gpu.holders) {
      if (holder.is_possible) continue;
      AddHolder(snapshot.pods[holder.pod], holder.container, AddUnheld(family, gpu, holder.share));
    }
  }
  return family;
}

MetricFamily AttributionKnown(const NodeSnapshot& snapshot) {
  MetricFamily family =
      NewFamily("attribution_known", "1 while the kubelet lists the holders of the GPUs, else 0.",
                MetricType::Gauge);
  if (snapshot.attribution.state == Attribution::State::kNone) return family;
  const bool is_known = snapshot.attribution.state == Attribution::State::kKnown;
  family.metric.emplace_back().gauge.value = is_known ? 1 : 0;
  return family;
}

// Without a series, it is unknown of all GPUs whether they are free.
void AddFreeFamilies(const NodeSnapshot& snapshot, std::vector<MetricFamily>& families) {
  FreeGpus free;
  free.Add(snapshot);
  MetricFamily by_group = NewFamily(
      "free_gpus",
      "Whole GPUs that no pod holds, by node and group. GPUs of a group are linked to each "
      "other; an empty group is that of GPUs without known links.",
      MetricType::Gauge);
  for (const FreeGroup& group : free.groups) {
    AddValue(by_group, group.gpus, {{"node", group.node}, {"group", group.link_group}});
  }
  MetricFamily largest =
      NewFamily("largest_free_group_gpus",
                "Free GPUs of the node's group with most of them: the largest replica that fits.",
                MetricType::Gauge);
  if (!free.groups.empty()) AddValue(largest, LargestGroup(free), {{"node", snapshot.node}});
  families.push_back(std::move(by_group));
  families.push_back(std::move(largest));
}

}  // namespace

std::span<const GpuNumber> GpuNumbers() { return kNumbers; }

std::vector<MetricFamily> GpuFamilies(const NodeSnapshot& snapshot) {
  std::vector<MetricFamily> families;
  for (const GpuNumber& row : kNumbers) {
    MetricFamily family = NewFamily(row.family, row.help, row.type);
    const bool continues = !families.empty() && families.back().name == family.name;
    if (!continues) families.push_back(std::move(family));
    AddNumber(row, snapshot, families.back());
  }
  families.push_back(InUseFamily(snapshot));
  families.push_back(Throttle(snapshot));
  families.push_back(ReadFailures(snapshot));
  families.push_back(HolderShares(snapshot));
  families.push_back(AttributionKnown(snapshot));
  AddFreeFamilies(snapshot, families);
  std::erase_if(families, [](const MetricFamily& family) { return family.metric.empty(); });
  return families;
}

}  // namespace gpuscaler
