#include "trigger/metric_type.h"

#include <algorithm>
#include <array>

namespace gpuscaler {
namespace {

using Length = RedisQueue::Length;
using enum MetricOrigin;

enum class Kind { kPercent, kIntensive, kExtensive };

// Temperature is the only reading that pods on a shared GPU do not divide.
constexpr MetricTypeInfo Gpu(MetricType type, absl::string_view name, absl::string_view unit,
                             Kind kind, GpuReading reading, absl::string_view help,
                             CostlyReadings costly = {}) {
  return {.type = type,
          .name = name,
          .unit = unit,
          .origin = kGpu,
          .extensive = kind == Kind::kExtensive,
          .percent = kind == Kind::kPercent,
          .divisible = reading != GpuReading::kTemperature,
          .costly = costly,
          .reading = reading,
          .help = help};
}

constexpr MetricTypeInfo Engine(MetricType type, absl::string_view name, absl::string_view unit,
                                Kind kind, EngineMetric metric, absl::string_view help,
                                absl::string_view engine = "") {
  return {.type = type,
          .name = name,
          .unit = unit,
          .origin = kEngine,
          .extensive = kind == Kind::kExtensive,
          .percent = kind == Kind::kPercent,
          .divisible = true,
          .reading = GpuReading::kUtilization,
          .engine_metric = metric,
          .engine = engine,
          .over_window = IsOverWindow(metric),
          .help = help};
}

// Returns a row for a metric of no replica.
constexpr MetricTypeInfo Queue(MetricType type, absl::string_view name, absl::string_view unit,
                               MetricOrigin origin, Length length, absl::string_view help) {
  return {.type = type,
          .name = name,
          .unit = unit,
          .origin = origin,
          .extensive = true,
          .length = length,
          .help = help};
}

constexpr std::array<MetricTypeInfo, 33> kMetricTypes = {{
    Gpu(MetricType::kGpuUtilization, "gpu_utilization", "%", Kind::kPercent,
        GpuReading::kUtilization, "Share of time in which a kernel ran: busy, not full"),
    Gpu(MetricType::kMemoryUtilization, "memory_utilization", "%", Kind::kPercent,
        GpuReading::kMemoryUtilization, "Share of time in which the memory controller was busy"),
    Gpu(MetricType::kMemoryUsedMib, "memory_used_mib", "MiB", Kind::kExtensive,
        GpuReading::kMemoryUsedMib, "VRAM in use, the driver's reserve not counted"),
    Gpu(MetricType::kMemoryUsedPercent, "memory_used_percent", "%", Kind::kPercent,
        GpuReading::kMemoryUsedPercent, "VRAM in use, of the total"),
    Gpu(MetricType::kTemperature, "temperature", "C", Kind::kIntensive, GpuReading::kTemperature,
        "Temperature of the GPU's die"),
    Gpu(MetricType::kPowerDraw, "power_draw", "W", Kind::kExtensive, GpuReading::kPower,
        "Power drawn by the board"),
    Gpu(MetricType::kPcieTx, "pcie_tx_kbps", "KB/s", Kind::kExtensive, GpuReading::kPcieTx,
        "PCIe throughput from the GPU", {.pcie = true}),
    Gpu(MetricType::kPcieRx, "pcie_rx_kbps", "KB/s", Kind::kExtensive, GpuReading::kPcieRx,
        "PCIe throughput to the GPU", {.pcie = true}),
    Gpu(MetricType::kNvlinkTx, "nvlink_tx_mbps", "MiB/s", Kind::kExtensive, GpuReading::kNvlinkTx,
        "NVLink throughput sent, all links"),
    Gpu(MetricType::kNvlinkRx, "nvlink_rx_mbps", "MiB/s", Kind::kExtensive, GpuReading::kNvlinkRx,
        "NVLink throughput received, all links"),
    Gpu(MetricType::kSmActivity, "sm_activity", "%", Kind::kPercent, GpuReading::kSmActivity,
        "Share of the GPU's SMs that had work, averaged over time: how full", {.activity = true}),
    Gpu(MetricType::kDramActivity, "dram_activity", "%", Kind::kPercent, GpuReading::kDramActivity,
        "Share of the memory bandwidth in use", {.activity = true}),
    Gpu(MetricType::kTensorActivity, "tensor_activity", "%", Kind::kPercent,
        GpuReading::kTensorActivity, "Share of time in which the tensor cores had work",
        {.activity = true}),

    Engine(MetricType::kRequestsWaiting, "requests_waiting", "requests", Kind::kExtensive,
           EngineMetric::kRequestsWaiting, "Requests that wait for a place in the engine's batch"),
    Engine(MetricType::kRequestsRunning, "requests_running", "requests", Kind::kExtensive,
           EngineMetric::kRequestsRunning, "Requests in the engine's batch"),
    Engine(MetricType::kRequestsInFlight, "requests_in_flight", "requests", Kind::kExtensive,
           EngineMetric::kRequestsInFlight, "Requests that wait or run"),
    Engine(MetricType::kPendingRatio, "pending_ratio", "batches", Kind::kExtensive,
           EngineMetric::kRequestsWaiting,
           "Requests that wait, divided by maxConcurrency: how many full batches of them"),
    Engine(MetricType::kKvCacheUsagePercent, "kv_cache_usage_percent", "%", Kind::kPercent,
           EngineMetric::kKvCacheUsagePercent, "KV cache that live requests hold, of the engine's"),
    Engine(MetricType::kEnginePressure, "engine_pressure", "%", Kind::kPercent,
           EngineMetric::kPressurePercent,
           "How full an engine is: the larger of its KV cache and its requests against its limit; "
           "above 100 while requests wait, and twice the target at most"),
    Engine(
        MetricType::kQueueWaitMs, "queue_wait_ms", "ms", Kind::kIntensive,
        EngineMetric::kQueueWaitMs,
        "How long requests that finished in the window had waited. Most engines report it only at "
        "the end, so it is late if answers are long"),
    Engine(MetricType::kRequestRate, "request_rate", "requests/s", Kind::kExtensive,
           EngineMetric::kRequestRate, "Requests done a second, over the window"),
    Engine(MetricType::kTtftMs, "ttft_ms", "ms", Kind::kIntensive,
           EngineMetric::kTimeToFirstTokenMs, "Time to first token, p95 of the window"),
    Engine(MetricType::kTpotMs, "tpot_ms", "ms", Kind::kIntensive,
           EngineMetric::kTimePerOutputTokenMs, "Time per output token, p95 of the window"),
    // The engines' requests in flight keep the trigger active. The value is that of the workload
    // only.
    Engine(MetricType::kDemandReplicas, "demand_replicas", "replicas", Kind::kExtensive,
           EngineMetric::kDemand,
           "Requests that arrive, divided by what one replica serves: the replicas that they need; "
           "its target is 1"),
    // The reference scaler's names of the same metrics.
    Engine(MetricType::kVllmQueueDepth, "vllm_queue_depth", "requests", Kind::kExtensive,
           EngineMetric::kRequestsWaiting, "requests_waiting of vLLM", "vllm"),
    Engine(MetricType::kVllmKvCacheUsage, "vllm_kv_cache_usage", "%", Kind::kPercent,
           EngineMetric::kKvCacheUsagePercent, "kv_cache_usage_percent of vLLM", "vllm"),
    Engine(MetricType::kTritonQueueWaitMs, "triton_queue_wait_ms", "ms", Kind::kIntensive,
           EngineMetric::kQueueWaitMs, "queue_wait_ms of Triton", "triton"),
    Engine(MetricType::kTritonRequestRate, "triton_request_rate", "requests/s", Kind::kExtensive,
           EngineMetric::kRequestRate, "request_rate of Triton", "triton"),

    Queue(
        MetricType::kPrometheus, "prometheus", "", kMetricsEndpoint, {},
        "A metric of any page, the series that match added up, of every address of its name: of a "
        "gateway, which has it while no replica exists"),
    Queue(MetricType::kRedisStreamLength, "redis_stream_length", "entries", kRedis, Length::kStream,
          "Entries of a stream, read or not (XLEN)"),
    Queue(MetricType::kRedisStreamLag, "redis_stream_lag", "entries", kRedis, Length::kLag,
          "Entries of a stream that its consumer group has not read yet; Redis 7"),
    Queue(MetricType::kRedisStreamPending, "redis_stream_pending", "entries", kRedis,
          Length::kPending,
          "Entries of a stream that its consumer group has read and not acknowledged"),
    Queue(MetricType::kRedisListLength, "redis_list_length", "entries", kRedis, Length::kList,
          "Entries of a list (LLEN)"),
}};

constexpr bool RowsAreInTheOrderOfTheEnum() {
  for (size_t i = 0; i < kMetricTypes.size(); ++i) {
    if (static_cast<size_t>(kMetricTypes[i].type) != i) return false;
  }
  return true;
}
static_assert(RowsAreInTheOrderOfTheEnum(), "InfoOf() takes the row at the enumerator's index");

}  // namespace

std::span<const MetricTypeInfo> MetricTypes() { return kMetricTypes; }

const MetricTypeInfo& InfoOf(MetricType type) { return kMetricTypes[static_cast<size_t>(type)]; }

std::optional<MetricType> MetricTypeNamed(absl::string_view name) {
  const auto info = std::ranges::find(kMetricTypes, name, &MetricTypeInfo::name);
  return info == kMetricTypes.end() ? std::nullopt : std::optional(info->type);
}

}  // namespace gpuscaler
