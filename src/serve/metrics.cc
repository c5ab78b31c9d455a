#include "serve/metrics.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "page/metric_family.h"
#include "serve/gpu_families.h"

namespace gpuscaler {
namespace {

using prometheus::Counter;
using prometheus::Histogram;
using prometheus::MetricFamily;

// Errors of a healthy server. They have a series from the start, so that rate() sees the first one.
constexpr std::array kUsualErrors = {
    absl::StatusCode::kCancelled,          absl::StatusCode::kInvalidArgument,
    absl::StatusCode::kFailedPrecondition, absl::StatusCode::kResourceExhausted,
    absl::StatusCode::kUnimplemented,      absl::StatusCode::kUnavailable};

constexpr std::array kReloadTargets = {ReloadTarget::kGrpcTls,  ReloadTarget::kMetricsTls,
                                       ReloadTarget::kProfiles, ReloadTarget::kWebTls,
                                       ReloadTarget::kWebToken, ReloadTarget::kPrices};

// A cached answer takes well under a millisecond, one that waits for a snapshot 1.5 s.
const Histogram::BucketBoundaries kRequestSeconds = {
    50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2};
// NVML takes about 1 ms per GPU, and its PCIe counters 20 ms per direction. From 5 ms on these are
// the default buckets of Prometheus clients.
const Histogram::BucketBoundaries kCollectionSeconds = {
    1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

bool IsStream(Rpc rpc) { return rpc == Rpc::kStreamIsActive || rpc == Rpc::kStreamMetricSpec; }

template <typename Builder>
auto& Register(Builder builder, absl::string_view name, const char* help,
               prometheus::Registry& registry) {
  return builder.Name(FullMetricName(name)).Help(help).Register(registry);
}

}  // namespace

absl::string_view Name(ReloadTarget target) {
  static constexpr std::array<absl::string_view, kReloadTargets.size()> kNames = {
      "grpc", "metrics", "profiles", "web", "web-token", "prices"};
  return kNames[static_cast<size_t>(target)];
}

Metrics::Metrics()
    : requests_(Register(prometheus::BuildCounter(), "scaler_requests_total",
                         "Answered requests, by method.", registry_)),
      errors_(Register(prometheus::BuildCounter(), "scaler_request_errors_total",
                       "Requests answered with an error, by method and gRPC status code.",
                       registry_)),
      durations_(Register(prometheus::BuildHistogram(), "scaler_request_duration_seconds",
                          "Time from a request to its answer.", registry_)),
      streams_open_(Register(prometheus::BuildGauge(), "scaler_streams_open", "Streams open now.",
                             registry_)),
      collections_(Register(prometheus::BuildCounter(), "collections_total",
                            "Readings of the GPUs, failed ones too.", registry_)
                       .Add({})),
      collection_errors_(Register(prometheus::BuildCounter(), "collection_errors_total",
                                  "Readings that gave no snapshot.", registry_)
                             .Add({})),
      collection_duration_(Register(prometheus::BuildHistogram(), "collection_duration_seconds",
                                    "Time that a reading of all GPUs took.", registry_)
                               .Add({}, kCollectionSeconds)),
      reload_failed_(Register(prometheus::BuildGauge(), "reload_failed",
                              "1 while the file cannot be used and the last good one is kept.",
                              registry_)) {
  auto& decisions = Register(
      prometheus::BuildCounter(), "decisions_total",
      "Decisions on triggers, once for each requested snapshot, by what was answered.", registry_);
  Register(prometheus::BuildGauge(), "build_info", "1, with the version that runs.", registry_)
      .Add({{"version", GPUSCALER_VERSION}})
      .Set(1);
  for (int outcome = 0; outcome < kOutcomes; ++outcome) {
    decisions_[static_cast<size_t>(outcome)] =
        &decisions.Add({{"outcome", std::string(Name(static_cast<Outcome>(outcome)))}});
  }
  for (const ReloadTarget target : kReloadTargets) SetReloadFailed(target, false);
  for (size_t i = 0; i < kRpcs; ++i) {
    const Rpc rpc = static_cast<Rpc>(i);
    RpcSeries& series = rpcs_[i];
    const prometheus::Labels labels = {{"method", std::string(Name(rpc))}};
    series.requests = &requests_.Add(labels);
    for (const absl::StatusCode code : kUsualErrors) {
      series.errors[static_cast<size_t>(code)] = &Error(rpc, code);
    }
    if (IsStream(rpc)) {
      series.streams_open = &streams_open_.Add(labels);
    } else {
      series.duration = &durations_.Add(labels, kRequestSeconds);
    }
  }
}

Counter& Metrics::Error(Rpc rpc, absl::StatusCode code) {
  return errors_.Add(
      {{"method", std::string(Name(rpc))}, {"code", absl::StatusCodeToString(code)}});
}

void Metrics::Answered(Rpc rpc, absl::StatusCode code, absl::Duration took) {
  const RpcSeries& series = rpcs_[static_cast<size_t>(rpc)];
  series.requests->Increment();
  if (series.duration != nullptr) series.duration->Observe(absl::ToDoubleSeconds(took));
  if (code == absl::StatusCode::kOk) return;
  Counter* const usual = series.errors[static_cast<size_t>(code) % kStatusCodes];
  (usual != nullptr ? *usual : Error(rpc, code)).Increment();
}

void Metrics::Collected(const absl::Status& status, absl::Duration took) {
  collections_.Increment();
  if (!status.ok()) collection_errors_.Increment();
  collection_duration_.Observe(absl::ToDoubleSeconds(took));
}

void Metrics::SetReloadFailed(ReloadTarget target, bool failed) {
  reload_failed_.Add({{"what", std::string(Name(target))}}).Set(failed ? 1 : 0);
}

void Metrics::StreamsOpen(Rpc rpc, int count) {
  prometheus::Gauge* const open = rpcs_[static_cast<size_t>(rpc)].streams_open;
  if (open != nullptr) open->Set(count);
}

void Metrics::Decided(Outcome outcome) { decisions_[static_cast<size_t>(outcome)]->Increment(); }

void Metrics::TriggerDecided(const TriggerLabels& labels, const Decision& decision,
                             bool computes_demand) {
  triggers_.Update(labels, decision, computes_demand);
}

std::string Metrics::Page(const NodeSnapshot* newest, absl::Time now,
                          absl::Duration stale_after) const {
  std::vector<MetricFamily> families = registry_.Collect();
  std::ranges::move(triggers_.Families(now), std::back_inserter(families));
  if (newest != nullptr) {
    families.push_back(OneValue("snapshot_age_seconds", "Grows when NVML hangs.",
                                prometheus::MetricType::Gauge,
                                absl::ToDoubleSeconds(now - newest->taken_at)));
    families.push_back(OneValue("snapshot_stale_after_seconds",
                                "From this age on KEDA gets errors: --stale-after.",
                                prometheus::MetricType::Gauge, absl::ToDoubleSeconds(stale_after)));
    families.push_back(OneValue("snapshot_gpus", "GPUs and MIG instances in the newest snapshot.",
                                prometheus::MetricType::Gauge,
                                static_cast<double>(newest->gpus.size())));
    if (now - newest->taken_at <= stale_after) {
      std::ranges::move(GpuFamilies(*newest), std::back_inserter(families));
    }
  }
  return MetricsText(families);
}

}  // namespace gpuscaler
