// One trigger of a ScaledObject: its metadata, checked and with every default filled in.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/signal_source.h"
#include "trigger/metric_type.h"

namespace re2 {
class RE2;
}

namespace gpuscaler {

enum class TargetType { kAverageValue, kValue };                // named after autoscaling/v2
enum class Scope { kWorkload, kNode, kFleet };                  // the GPUs that count
enum class Aggregation { kMax, kMin, kAvg, kSum, kP95, kP99 };  // over the GPUs of one replica
enum class ReplicaAggregation { kAvg, kMax, kMin, kP95 };       // over the replicas
enum class WindowAggregation { kAvg, kMax, kP95 };              // over time
enum class EngineFallback { kUtilization, kActivity, kNone };   // VRAM without a readable engine
enum class DemandUse { kOn, kOff, kObserve };                   // observe: explained only
enum class PrometheusKind { kGauge, kRate };                    // a value, or its growth per second
enum class PrometheusAbsent { kError, kZero };  // a complete response without the series

// The value of a replica with preallocated VRAM if the profile's metric is
// memory_used_percent.
enum class PreallocatedMemory {
  kLiteral,   // its memory as read, as for metricType memory_used_percent
  kPressure,  // its engine's pressure, or engineFallback (vllm-inference, tgi-inference)
  kActivity,  // the target if it was busy within activationWindow, else 0 (batch, ollama)
};

enum class ScaleIn {
  kFollow,  // the value falls with the load
  kHold,    // a replica busy within activationWindow counts at least the target: never removed
};

// Metadata as KEDA sends it. `fooFromEnv` is accepted for every key `foo`; the plain key has
// precedence.
using Metadata = std::map<std::string, std::string, std::less<>>;

struct Trigger {
  std::string profile;  // empty: none
  std::string metric_name = "keda_gpu_metric";
  MetricType metric = MetricType::kGpuUtilization;
  double target = 80;  // above 0, in the metric's unit
  TargetType target_type = TargetType::kAverageValue;
  double activation_threshold = 0;
  bool activation_threshold_given = false;  // in the metadata, or in a profiles file
  // scaleIn: hold, without an activationThreshold: never scales to zero.
  bool always_active = false;

  Scope scope = Scope::kWorkload;
  // The pods that count. Without workload and pod_regex: those of the only owner (workload_pods.h).
  std::string workload;                       // the owner's name
  std::string workload_kind;                  // empty: any kind
  std::shared_ptr<const re2::RE2> pod_regex;  // matches full names of pods
  int gpu_index = -1;                         // -1: all
  int gpus_per_replica = 1;
  Aggregation aggregation = Aggregation::kMax;  // kSum for extensive metrics unless given
  ReplicaAggregation replica_aggregation = ReplicaAggregation::kAvg;

  absl::Duration window = absl::Seconds(30);  // 0: the newest sample
  WindowAggregation window_aggregation = WindowAggregation::kAvg;
  absl::Duration activation_window = absl::Seconds(60);
  absl::Duration warmup = absl::ZeroDuration();
  absl::Duration preallocation_window = absl::Seconds(120);

  PreallocatedMemory preallocated_memory = PreallocatedMemory::kLiteral;
  EngineFallback engine_fallback = EngineFallback::kUtilization;
  std::optional<double> max_concurrency;
  DemandUse demand = DemandUse::kOn;       // applies if pressure counts
  std::optional<absl::Duration> ttft_slo;  // time to first token that users accept
  std::optional<absl::Duration> tpot_slo;  // time per output token that users accept
  ScaleIn scale_in = ScaleIn::kFollow;

  // Sources besides GPUs (trigger_source.h). The metric decides which of them are read.
  EngineEndpoint engine_endpoint;  // no URL: engines are discovered
  std::string model;               // an engine's; empty: all models together
  // Requests that have not changed for this long on idle GPUs count as none.
  absl::Duration frozen_window = absl::Minutes(5);
  MetricsEndpoint metrics_endpoint;  // or the gateway of a trigger on engines
  RedisQueue queue;
  // The keys that have the endpoint of the source, the URL of the gateway and the selector of a
  // metrics endpoint, as the metadata spells them; empty: none.
  std::string endpoint_key;
  std::string gateway_key;
  std::string selector_key;
  EndpointCredentials credentials;
};

// A preset for a kind of workload (profile.h).
struct Profile {
  std::string help;
  Trigger trigger;  // other keys of the metadata override it
};

// Key: the name. Immutable once shared.
using Profiles = std::map<std::string, Profile, std::less<>>;

// The longest window of a trigger: stores keep readings this long.
constexpr absl::Duration kLongestWindow = absl::Minutes(15);

// Parses strictly. INVALID_ARGUMENT: an unknown key, an invalid number or a word that is not
// allowed. The error names the key, the value, what is allowed and the nearest known key. It has
// all faults.
absl::StatusOr<Trigger> ParseTrigger(const Metadata& metadata, const Profiles& profiles);

std::span<const absl::string_view> TargetKeys();

// The response of GetMetricSpec, which always succeeds. Instead of an invalid target it has the
// profile's, else 1. If profile or metricName is invalid, the name is keda_gpu_metric (a
// failing spec disables every trigger of the ScaledObject).
struct MetricSpec {
  std::string metric_name;
  double target;
};
MetricSpec SpecOf(const Metadata& metadata, const Profiles& profiles);

// These keys of a trigger's metadata are accepted and ignored.
std::span<const absl::string_view> KedaKeys();

absl::string_view Name(TargetType type);
absl::string_view Name(Scope scope);
absl::string_view Name(Aggregation aggregation);
absl::string_view Name(ReplicaAggregation aggregation);
absl::string_view Name(WindowAggregation aggregation);
absl::string_view Name(EngineFallback fallback);
absl::string_view Name(DemandUse use);
absl::string_view Name(ScaleIn scale_in);

}  // namespace gpuscaler
