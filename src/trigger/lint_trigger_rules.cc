#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "trigger/lint_rules.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

// The HPA changes nothing while the ratio is within 10 % of 1. With a target above 85, a GPU must
// be busier than 93.5 % before it adds a replica, and many saturate below that.
constexpr double kHighestGoodPercentTarget = 85;
constexpr double kHpaTolerance = 1.1;

bool IsPercent(const Trigger& trigger) { return InfoOf(trigger.metric).percent; }

// Utilization of GPUs, which swings between 0 and 100.
bool IsGpuPercent(const Trigger& trigger) {
  return IsPercent(trigger) && InfoOf(trigger.metric).origin == MetricOrigin::kGpu;
}

std::optional<RuleViolation> PercentTargetHigh(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (!IsPercent(trigger) || trigger.aggregation == Aggregation::kSum) return std::nullopt;
  if (trigger.metric == MetricType::kEnginePressure) return std::nullopt;  // may exceed 100
  if (trigger.target <= kHighestGoodPercentTarget) return std::nullopt;
  return RuleViolation{
      absl::StrCat("target ", NumberText(trigger.target), " %: a GPU that saturates below ",
                   NumberText(kHpaTolerance * trigger.target),
                   " % never requests another replica; use targetValue 85 or less"),
      scaler_trigger.declaration->LineOf(
          {"targetValue", "targetGpuUtilization", "targetMemoryUtilization", "profile"})};
}

bool TargetIsGiven(const Settings& settings) {
  return settings.target || settings.jobs_per_replica || settings.target_gpu_utilization ||
         settings.target_memory_utilization;
}

std::optional<RuleViolation> TargetOfAnotherMetric(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  const MetricType meant_for = scaler_trigger.metadata.settings.trigger.metric;  // the profile's
  if (TargetIsGiven(scaler_trigger.metadata.settings) ||
      InfoOf(meant_for).unit == InfoOf(trigger.metric).unit)
    return std::nullopt;
  return RuleViolation{absl::StrCat("the target ", NumberText(trigger.target), " was meant for ",
                                    InfoOf(meant_for).name, " (", InfoOf(meant_for).unit,
                                    "), not for ", InfoOf(trigger.metric).name, " (",
                                    InfoOf(trigger.metric).unit, "); give targetValue"),
                       scaler_trigger.declaration->LineOf({"metricType"})};
}

// A profile's target is per replica, and the values of the replica's GPUs are summed.
std::optional<RuleViolation> TargetOfOneGpu(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  const bool adds_up = InfoOf(trigger.metric).origin == MetricOrigin::kGpu &&
                       InfoOf(trigger.metric).extensive &&
                       trigger.aggregation == Aggregation::kSum && trigger.gpus_per_replica > 1;
  const bool is_profiles =
      !trigger.profile.empty() && !TargetIsGiven(scaler_trigger.metadata.settings);
  if (!adds_up || !is_profiles) return std::nullopt;
  return RuleViolation{
      absl::StrCat("the profile's target ", NumberText(trigger.target), " ",
                   InfoOf(trigger.metric).unit, " is for a replica, and what its ",
                   trigger.gpus_per_replica,
                   " GPUs do is added up: ", NumberText(trigger.target / trigger.gpus_per_replica),
                   " for each of them; give targetValue for all of a replica's, such as ",
                   NumberText(trigger.target * trigger.gpus_per_replica)),
      scaler_trigger.declaration->LineOf({"gpusPerReplica", "profile"})};
}

std::optional<RuleViolation> ActivationAboveTarget(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (trigger.activation_threshold < trigger.target) return std::nullopt;
  return RuleViolation{
      absl::StrCat("activationThreshold ", NumberText(trigger.activation_threshold),
                   " is not below the target ", NumberText(trigger.target),
                   ": a workload at its target would be taken to zero; use a small "
                   "one, such as 5 % of the target"),
      scaler_trigger.declaration->LineOf({"activationThreshold", "metricType", "profile"})};
}

std::optional<RuleViolation> ReplicaAggregationMax(const ScalerTrigger& scaler_trigger) {
  if (scaler_trigger.parsed->replica_aggregation != ReplicaAggregation::kMax) return std::nullopt;
  return RuleViolation{
      "replicaAggregation max: one hot replica among many counts for all, and holds the fleet at "
      "its maximum; leave it out (avg) or use p95",
      scaler_trigger.declaration->LineOf({"replicaAggregation"})};
}

std::optional<RuleViolation> WindowPeak(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  const bool has_peaks = trigger.window_aggregation != WindowAggregation::kAvg &&
                         trigger.window > absl::ZeroDuration();  // otherwise WindowZero
  if (!IsGpuPercent(trigger) || !has_peaks) return std::nullopt;
  return RuleViolation{
      absl::StrCat("windowAggregation ", Name(trigger.window_aggregation),
                   " of a percentage: one busy moment in ", DurationText(trigger.window),
                   " counts as a full GPU; leave it out (avg)"),
      scaler_trigger.declaration->LineOf({"windowAggregation"})};
}

std::optional<RuleViolation> WindowZero(const ScalerTrigger& scaler_trigger) {
  if (!IsGpuPercent(*scaler_trigger.parsed)) return std::nullopt;
  if (scaler_trigger.parsed->window > absl::ZeroDuration()) return std::nullopt;
  return RuleViolation{
      "window 0s of a percentage: the HPA follows single samples, which swing between 0 and 100 "
      "on a healthy GPU; use 30s",
      scaler_trigger.declaration->LineOf({"window"})};
}

std::optional<RuleViolation> SumOfPercentages(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (!IsPercent(trigger) || trigger.aggregation != Aggregation::kSum) return std::nullopt;
  return RuleViolation{
      "aggregation sum of percentages: a replica's value grows with its number of GPUs and passes "
      "100; leave it out (max) or use avg",
      scaler_trigger.declaration->LineOf({"aggregation"})};
}

// A user that sets engineFallback has decided what counts without an engine.
std::optional<RuleViolation> SaturationUnknown(const ScalerTrigger& scaler_trigger) {
  const bool decided = scaler_trigger.declaration->metadata.contains("engineFallback");
  const bool named = !scaler_trigger.parsed->engine_endpoint.url.empty();
  if (decided || named || scaler_trigger.finds_engines || !ReadsPressure(*scaler_trigger.parsed))
    return std::nullopt;
  return RuleViolation{
      "saturation unknown: no engine is named, and unless agents find it (Kubernetes 1.37 or "
      "newer, or agent.discoverEngines=true) utilization counts, which shows busy and not full, "
      "and requests far more replicas than needed: name engineEndpoint, or set engineFallback to "
      "activity, or to utilization if that is meant",
      scaler_trigger.declaration->LineOf({"profile"})};
}

// Preallocated VRAM stays in use while the engine runs, so the answer never becomes available.
std::optional<RuleViolation> NeverAnswers(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (!ReadsPressure(trigger) || !trigger.engine_endpoint.url.empty()) return std::nullopt;
  if (trigger.engine_fallback != EngineFallback::kNone || scaler_trigger.finds_engines)
    return std::nullopt;
  return RuleViolation{
      "engineFallback none: no engine is named, so unless agents find it every answer is "
      "UNAVAILABLE while all replicas have preallocated VRAM, and KEDA scales nothing; name "
      "engineEndpoint, or use activity or utilization",
      scaler_trigger.declaration->LineOf({"engineFallback"})};
}

std::optional<RuleViolation> LiteralMemory(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (trigger.metric != MetricType::kMemoryUsedPercent) return std::nullopt;
  if (trigger.preallocated_memory != PreallocatedMemory::kLiteral) return std::nullopt;
  return RuleViolation{
      "memory_used_percent by hand is taken literally: an engine that preallocates its VRAM reads "
      "the same busy or idle, climbs to the maximum above the target and never goes to zero; use "
      "a profile (vllm-inference, tgi-inference, batch, ollama) or gpu_utilization",
      scaler_trigger.declaration->LineOf({"metricType", "targetMemoryUtilization", "profile"})};
}

// Returns a finding if the regex matches names that no pattern for one workload's pods would match.
std::optional<RuleViolation> PodRegexOfAll(const ScalerTrigger& scaler_trigger) {
  const re2::RE2* const regex = scaler_trigger.parsed->pod_regex.get();
  if (regex == nullptr) return std::nullopt;
  constexpr std::array<const char*, 3> kNames = {"a", "q7-0", "zz-6d4cf56db6-x7k2p"};
  const bool all = std::ranges::all_of(
      kNames, [regex](const char* name) { return re2::RE2::FullMatch(name, *regex); });
  if (!all) return std::nullopt;
  return RuleViolation{
      absl::StrCat("podRegex ", Quoted(regex->pattern()),
                   " matches every pod: all GPU workloads of the namespace are added up, and each "
                   "scales on the others' load; use workload: NAME, or what its pods' names begin "
                   "with"),
      scaler_trigger.declaration->LineOf({"podRegex"})};
}

std::optional<RuleViolation> MetricTypeMismatch(const ScalerTrigger& scaler_trigger) {
  const std::string& field = scaler_trigger.declaration->metric_type.text;
  const absl::string_view key = Name(scaler_trigger.parsed->target_type);
  if (field == key) return std::nullopt;
  if (field != "Value" && field != "AverageValue") {
    return RuleViolation{absl::StrCat("the trigger's metricType: ", Quoted(field),
                                      " is refused by KEDA here; use AverageValue or Value"),
                         scaler_trigger.declaration->metric_type.line};
  }
  return RuleViolation{
      absl::StrCat("the trigger's metricType is ", field, ", but targetType is ", key,
                   ", and KEDA does not send the first: set targetType: \"", field,
                   "\" in the metadata, or the value is off by the number of replicas"),
      scaler_trigger.declaration->metric_type.line};
}

constexpr std::array<TriggerRule, 13> kGpuRules = {{
    {{"metric-type-mismatch", kError,
      "The trigger's metricType and the key targetType must agree: KEDA sends only the second."},
     MetricTypeMismatch},
    {{"percent-target-high", kWarning,
      "A percentage above 85 as the target: a saturated GPU may never request more."},
     PercentTargetHigh},
    {{"target-of-another-metric", kWarning,
      "metricType was changed to another unit, but the target was not."},
     TargetOfAnotherMetric},
    {{"target-of-one-gpu", kWarning,
      "A profile's target of an amount that adds up over the GPUs of a replica that has several."},
     TargetOfOneGpu},
    {{"activation-above-target", kWarning,
      "activationThreshold is not below the target: a loaded workload would go to zero."},
     ActivationAboveTarget},
    {{"replica-aggregation-max", kWarning,
      "One noisy replica holds the whole workload at its maximum."},
     ReplicaAggregationMax},
    {{"window-peak", kWarning, "windowAggregation max or p95 of a percentage reads as saturation."},
     WindowPeak},
    {{"window-zero", kWarning, "A percentage without a window: the HPA follows single samples."},
     WindowZero},
    {{"sum-of-percentages", kWarning, "Percentages of a replica's GPUs do not add up."},
     SumOfPercentages},
    {{"saturation-unknown", kNote,
      "An engine profile without engineEndpoint: a replica's load is unknown unless agents find "
      "its "
      "engine."},
     SaturationUnknown},
    {{"never-answers", kWarning,
      "engineFallback none without an engine to read: UNAVAILABLE while all replicas have "
      "preallocated VRAM."},
     NeverAnswers},
    {{"literal-memory", kWarning,
      "memory_used_percent by hand: preallocated VRAM does not show load."},
     LiteralMemory},
    {{"pod-regex-of-all", kWarning, "podRegex matches every pod of the namespace."}, PodRegexOfAll},
}};

}  // namespace

std::span<const TriggerRule> TriggerRules() {
  static const auto& rules = *new std::vector<TriggerRule>([] {
    std::vector<TriggerRule> all(kGpuRules.begin(), kGpuRules.end());
    all.insert(all.end(), SourceRules().begin(), SourceRules().end());
    all.insert(all.end(), EndpointRules().begin(), EndpointRules().end());
    return all;
  }());
  return rules;
}

}  // namespace gpuscaler
