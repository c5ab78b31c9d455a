#include "simulate/test_workload_telemetry.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "simulate/gpu_slot.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

constexpr char kNamespace[] = "team-a", kWorkload[] = "llm", kNode[] = "simulated",
               kGatewayAddress[] = "10.2.0.1";
constexpr int64_t kGpuMemoryBytes = 80LL << 30;
constexpr int64_t kFreeMemoryBytes = 3 << 20;  // an idle GPU, as reported by drivers
constexpr int kEnginePort = 8000;
constexpr absl::Duration kLease = absl::Seconds(90);
constexpr double kPreallocatedPercent = 90;  // vLLM's --gpu-memory-utilization
constexpr double kServingPercent = 97;       // utilization while any request runs
constexpr StalenessLimits kTelemetryLimits{.stale_after = absl::Seconds(5),
                                           .grace = absl::Seconds(15)};

std::string PodName(const SimulatedReplica& pod) {
  return absl::StrCat(kWorkload, "-", pod.number);
}

std::string AddressOf(const SimulatedReplica& pod) {
  return absl::StrCat("10.1.", pod.number / 250, ".", 1 + pod.number % 250);
}

EngineAddress EngineAddressOf(const SimulatedReplica& pod) {
  return {.address = AddressOf(pod),
          .port = kEnginePort,
          .namespace_name = kNamespace,
          .pod = PodName(pod)};
}

Histogram HistogramOf(const BucketCounts& counts) {
  Histogram histogram;
  double cumulative = 0;
  for (size_t i = 0; i < counts.counts().size(); ++i) {
    cumulative += static_cast<double>(counts.counts()[i]);
    const bool is_last = i == counts.bounds().size();
    histogram.buckets.push_back(
        {.not_above = is_last ? std::numeric_limits<double>::infinity() : counts.bounds()[i],
         .count = cumulative});
  }
  return histogram;
}

}  // namespace

EngineReading VllmReading(const BatchEngine& engine, bool histograms) {
  const EngineGauges gauges = engine.Gauges();
  const EngineTotals& totals = engine.totals();
  ModelReading reading{.model = "simulated",
                       .waiting = gauges.waiting,
                       .running = gauges.running,
                       .kv_cache_usage_ratio = gauges.kv_cache_usage_ratio,
                       .requests_done = static_cast<double>(totals.served),
                       .queued_requests = static_cast<double>(totals.queue_seconds.count()),
                       .queue_seconds = totals.queue_seconds.sum(),
                       .prompt_tokens = static_cast<double>(totals.prompt_tokens),
                       .generation_tokens = static_cast<double>(totals.generation_tokens),
                       .preemptions = static_cast<double>(totals.preemptions),
                       .answers = static_cast<double>(totals.answer_tokens.count()),
                       .answer_tokens = totals.answer_tokens.sum()};
  if (histograms) {
    reading.first_token_seconds = HistogramOf(totals.first_token_seconds);
    reading.output_token_seconds = HistogramOf(totals.inter_token_seconds);
  }
  return {.models = {std::move(reading)}};
}

void StoreReadings(const SignalSource& source, const EngineQuery& query,
                   const std::vector<ReadEngine>& engines, absl::Time now, SignalStore& signals) {
  signals.Lease(source, query, now, now + kLease).IgnoreError();
  std::vector<EngineAddress> places;
  places.reserve(engines.size());
  for (const ReadEngine& each : engines) places.push_back(each.place);
  signals.SetEngines(source, places, now);
  const bool histograms = NeedsHistograms(query);
  for (const ReadEngine& each : engines) {
    signals.AddReading(
        source, each.place,
        {.at = now, .engine = "vllm", .reading = VllmReading(*each.engine, histograms)});
  }
}

WorkloadTelemetry::WorkloadTelemetry(const Trigger& trigger, const TelemetrySources& sources)
    : trigger_(trigger),
      sources_(sources),
      scaled_object_{.namespace_name = kNamespace, .name = kWorkload, .allowed_namespaces = {}},
      source_(sources.engines ? SourceOf(trigger, kNamespace) : std::nullopt),
      gateway_(sources.engines ? GatewayOf(trigger, kNamespace) : std::nullopt),
      query_(SourceQueryOf(trigger, kTelemetryLimits)),
      signals_({.max_gap = kTelemetryLimits.stale_after}, [] {}) {}

void WorkloadTelemetry::Observe(const SimulatedWorkload& workload) {
  decision_.reset();
  now_ = workload.now();
  SampleGpus(workload);
  if (source_.has_value()) SampleEngines(workload);
  if (gateway_.has_value()) SampleGateway(workload);
}

NodeSnapshot WorkloadTelemetry::SnapshotOf(const SimulatedWorkload& workload) const {
  NodeSnapshot snapshot{.taken_at = now_, .node = kNode, .source = "simulated"};
  snapshot.attribution.state = Attribution::State::kKnown;
  for (const SimulatedReplica& pod : workload.pods()) {
    const double started = absl::FDivDuration(now_ - pod.created_at, pod.ready_at - pod.created_at);
    const GpuReport starting = LoadingGpu(started, kPreallocatedPercent, /*pid=*/0);
    GpuSample gpu;
    gpu.index = pod.gpu;
    gpu.uuid = absl::StrCat("GPU-", pod.gpu);
    gpu.memory_total_bytes = kGpuMemoryBytes;
    gpu.memory_used_bytes =
        std::max(kFreeMemoryBytes,
                 static_cast<int64_t>(starting.memory_percent / 100 * double{kGpuMemoryBytes}));
    if (pod.IsLoaded(now_)) {
      gpu.utilization_percent = pod.engine->Gauges().running > 0 ? kServingPercent : 0;
    } else {
      gpu.utilization_percent = starting.utilization_percent;
    }
    gpu.in_use = true;
    gpu.held_since = pod.created_at;
    gpu.holders = {{.pod = static_cast<int>(snapshot.pods.size()), .container = "vllm"}};
    snapshot.gpus.push_back(std::move(gpu));

    Pod described{.namespace_name = kNamespace,
                  .name = PodName(pod),
                  .owners = {{.kind = "Deployment", .name = kWorkload}},
                  .owners_from = Pod::OwnersFrom::kReferences,
                  .address = AddressOf(pod),
                  .listed_since = pod.created_at};
    if (sources_.pods_api) {
      described.ready = pod.IsReady(now_);
      described.is_terminating = pod.IsTerminating();
    }
    snapshot.pods.push_back(std::move(described));
  }
  std::ranges::sort(snapshot.gpus.Own(), {}, &GpuSample::index);
  return snapshot;
}

void WorkloadTelemetry::SampleGpus(const SimulatedWorkload& workload) {
  NodeSnapshot snapshot = SnapshotOf(workload);
  memory_.Annotate(snapshot);
  history_.Append(std::move(snapshot),
                  {.horizon = kLongestWindow, .join_within = kTelemetryLimits.stale_after});
}

void WorkloadTelemetry::SampleEngines(const SimulatedWorkload& workload) {
  std::vector<ReadEngine> engines;
  for (const SimulatedReplica& pod : workload.pods()) {
    if (pod.IsLoaded(now_))
      engines.push_back({.place = EngineAddressOf(pod), .engine = pod.engine.get()});
  }
  StoreReadings(*source_, query_, engines, now_, signals_);
}

void WorkloadTelemetry::SampleGateway(const SimulatedWorkload& workload) {
  signals_.Lease(*gateway_, GatewayQueryOf(kTelemetryLimits), now_, now_ + kLease).IgnoreError();
  signals_.SetEndpointAddresses(*gateway_, std::vector<std::string>{kGatewayAddress});
  signals_.AddSample(
      *gateway_, kGatewayAddress,
      CounterPoint{.instant = {.at = now_}, .value = static_cast<double>(workload.held())});
}

const Decision& WorkloadTelemetry::Decided() {
  if (!decision_.has_value()) decision_ = Decide();
  return *decision_;
}

absl::StatusOr<double> WorkloadTelemetry::GetMetrics() {
  if (!Decided().status.ok()) return Decided().status;
  return Decided().value;
}

absl::StatusOr<bool> WorkloadTelemetry::IsActive() {
  if (!Decided().status.ok()) return Decided().status;
  return Decided().active;
}

Decision WorkloadTelemetry::Decide() const {
  const std::shared_ptr<const NodeHistory> history(std::shared_ptr<const void>(), &history_);
  const FleetHistory fleet = FleetOfOne(history);
  if (!source_.has_value()) {
    return gpuscaler::Decide(trigger_, scaled_object_, fleet, kTelemetryLimits);
  }
  SignalHistory signals = signals_.HistoryOf(*source_, query_, now_);
  if (gateway_.has_value()) {
    signals.gateway = std::make_shared<const SignalHistory>(
        signals_.HistoryOf(*gateway_, GatewayQueryOf(kTelemetryLimits), now_));
  }
  return gpuscaler::Decide(trigger_, scaled_object_, fleet, &signals, kTelemetryLimits);
}

KedaTrigger OwnTrigger(const Trigger& trigger, const TelemetrySources& sources) {
  return {.scaler = std::make_shared<WorkloadTelemetry>(trigger, sources),
          .target = trigger.target,
          .target_type = trigger.target_type};
}

}  // namespace gpuscaler
