#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "lint/lint_rules.h"
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

std::optional<Complaint> PercentTargetHigh(const OurTrigger& our) {
  const Trigger& trigger = *our.settings;
  if (!IsPercent(trigger) || trigger.aggregation == Aggregation::kSum) return std::nullopt;
  if (trigger.metric == MetricType::kEnginePressure) return std::nullopt;  // may exceed 100
  if (trigger.target <= kHighestGoodPercentTarget) return std::nullopt;
  return Complaint{
      absl::StrCat("target ", NumberText(trigger.target), " %: a GPU that saturates below ",
                   NumberText(kHpaTolerance * trigger.target),
                   " % never asks for another replica; use targetValue 85 or less"),
      our.written->LineOf(
          {"targetValue", "targetGpuUtilization", "targetMemoryUtilization", "profile"})};
}

bool TargetIsGiven(const Settings& settings) {
  return settings.target || settings.jobs_per_replica || settings.target_gpu_utilization ||
         settings.target_memory_utilization;
}

std::optional<Complaint> TargetOfAnotherMetric(const OurTrigger& our) {
  const Trigger& trigger = *our.settings;
  const MetricType meant_for =
      our.reading.profile == nullptr ? MetricType::kGpuUtilization : our.reading.profile->metric;
  if (TargetIsGiven(our.reading.settings) || InfoOf(meant_for).unit == InfoOf(trigger.metric).unit)
    return std::nullopt;
  return Complaint{absl::StrCat("the target ", NumberText(trigger.target), " was meant for ",
                                InfoOf(meant_for).name, " (", InfoOf(meant_for).unit, "), not for ",
                                InfoOf(trigger.metric).name, " (", InfoOf(trigger.metric).unit,
                                "); give targetValue"),
                   our.written->LineOf({"metricType"})};
}

// A profile's target is per replica, and the values of the replica's GPUs are summed.
std::optional<Complaint> TargetOfOneGpu(const OurTrigger& our) {
  const Trigger& trigger = *our.settings;
  const bool adds_up = InfoOf(trigger.metric).origin == MetricOrigin::kGpu &&
                       InfoOf(trigger.metric).extensive &&
                       trigger.aggregation == Aggregation::kSum && trigger.gpus_per_replica > 1;
  const bool is_profiles = our.reading.profile != nullptr && !TargetIsGiven(our.reading.settings);
  if (!adds_up || !is_profiles) return std::nullopt;
  return Complaint{
      absl::StrCat("the profile's target ", NumberText(trigger.target), " ",
                   InfoOf(trigger.metric).unit, " is for a replica, and what its ",
                   trigger.gpus_per_replica,
                   " GPUs do is added up: ", NumberText(trigger.target / trigger.gpus_per_replica),
                   " for each of them; give targetValue for all of a replica's, such as ",
                   NumberText(trigger.target * trigger.gpus_per_replica)),
      our.written->LineOf({"gpusPerReplica", "profile"})};
}

std::optional<Complaint> ActivationAboveTarget(const OurTrigger& our) {
  const Trigger& trigger = *our.settings;
  if (trigger.activation_threshold < trigger.target) return std::nullopt;
  return Complaint{absl::StrCat("activationThreshold ", NumberText(trigger.activation_threshold),
                                " is not below the target ", NumberText(trigger.target),
                                ": a workload at its target would be taken to zero; use a small "
                                "one, such as 5 % of the target"),
                   our.written->LineOf({"activationThreshold", "metricType", "profile"})};
}

std::optional<Complaint> ReplicaAggregationMax(const OurTrigger& our) {
  if (our.settings->replica_aggregation != ReplicaAggregation::kMax) return std::nullopt;
  return Complaint{
      "replicaAggregation max: one hot replica among many counts for all, and holds the fleet at "
      "its maximum; leave it out (avg) or use p95",
      our.written->LineOf({"replicaAggregation"})};
}

std::optional<Complaint> WindowPeak(const OurTrigger& our) {
  const Trigger& trigger = *our.settings;
  const bool has_peaks = trigger.window_aggregation != WindowAggregation::kAvg &&
                         trigger.window > absl::ZeroDuration();  // otherwise WindowZero
  if (!IsGpuPercent(trigger) || !has_peaks) return std::nullopt;
  return Complaint{
      absl::StrCat("windowAggregation ", Name(trigger.window_aggregation),
                   " of a percentage: one busy moment in ", DurationText(trigger.window),
                   " counts as a full GPU; leave it out (avg)"),
      our.written->LineOf({"windowAggregation"})};
}

std::optional<Complaint> WindowZero(const OurTrigger& our) {
  if (!IsGpuPercent(*our.settings)) return std::nullopt;
  if (our.settings->window > absl::ZeroDuration()) return std::nullopt;
  return Complaint{
      "window 0s of a percentage: the HPA follows single samples, which swing between 0 and 100 "
      "on a healthy GPU; use 30s",
      our.written->LineOf({"window"})};
}

std::optional<Complaint> SumOfPercentages(const OurTrigger& our) {
  const Trigger& trigger = *our.settings;
  if (!IsPercent(trigger) || trigger.aggregation != Aggregation::kSum) return std::nullopt;
  return Complaint{
      "aggregation sum of percentages: a replica's value grows with its number of GPUs and passes "
      "100; leave it out (max) or use avg",
      our.written->LineOf({"aggregation"})};
}

// A user that sets engineFallback has decided what counts without an engine.
std::optional<Complaint> SaturationUnknown(const OurTrigger& our) {
  const bool decided = our.reading.settings.engine_fallback.has_value();
  const bool named = !our.settings->engine_endpoint.url.empty();
  if (decided || named || our.finds_engines || !ReadsPressure(*our.settings)) return std::nullopt;
  return Complaint{
      "saturation unknown: no engine is named, and unless agents find it (Kubernetes 1.37 or "
      "newer, "
      "or agent.discoverEngines=true) utilisation counts, which shows busy and not full, and asks "
      "for far more replicas than needed: name engineEndpoint, or set engineFallback to activity, "
      "or "
      "to utilization if that is meant",
      our.written->LineOf({"profile"})};
}

// Preallocated VRAM stays in use while the engine runs, so the answer never becomes available.
std::optional<Complaint> NeverAnswers(const OurTrigger& our) {
  const Trigger& trigger = *our.settings;
  if (!ReadsPressure(trigger) || !trigger.engine_endpoint.url.empty()) return std::nullopt;
  if (trigger.engine_fallback != EngineFallback::kNone || our.finds_engines) return std::nullopt;
  return Complaint{
      "engineFallback none: no engine is named, so unless agents find it every answer is "
      "UNAVAILABLE for as long as a replica's VRAM stands, and KEDA scales nothing; name "
      "engineEndpoint, or use activity or utilization",
      our.written->LineOf({"engineFallback"})};
}

std::optional<Complaint> LiteralMemory(const OurTrigger& our) {
  const Trigger& trigger = *our.settings;
  if (trigger.metric != MetricType::kMemoryUsedPercent) return std::nullopt;
  if (trigger.preallocated_memory != PreallocatedMemory::kLiteral) return std::nullopt;
  return Complaint{
      "memory_used_percent by hand is taken literally: an engine that preallocates its VRAM reads "
      "the same busy or idle, climbs to the maximum above the target and never goes to zero; use "
      "a profile (vllm-inference, tgi-inference, batch, ollama) or gpu_utilization",
      our.written->LineOf({"metricType", "targetMemoryUtilization", "profile"})};
}

// Returns a finding if the regex matches names that no pattern for one workload's pods would match.
std::optional<Complaint> PodRegexOfAll(const OurTrigger& our) {
  const re2::RE2* const regex = our.settings->pod_regex.get();
  if (regex == nullptr) return std::nullopt;
  constexpr std::array<const char*, 3> kNames = {"a", "q7-0", "zz-6d4cf56db6-x7k2p"};
  const bool all = std::ranges::all_of(
      kNames, [regex](const char* name) { return re2::RE2::FullMatch(name, *regex); });
  if (!all) return std::nullopt;
  return Complaint{
      absl::StrCat("podRegex ", Quoted(regex->pattern()),
                   " matches every pod: all GPU workloads of the namespace are added up, and each "
                   "scales on the others' load; use workload: NAME, or what its pods' names begin "
                   "with"),
      our.written->LineOf({"podRegex"})};
}

std::optional<Complaint> MetricTypeMismatch(const OurTrigger& our) {
  const std::string& field = our.written->metric_type.text;
  const absl::string_view key = Name(our.settings->target_type);
  if (field == key) return std::nullopt;
  if (field != "Value" && field != "AverageValue") {
    return Complaint{absl::StrCat("the trigger's metricType: ", Quoted(field),
                                  " is refused by KEDA here; use AverageValue or Value"),
                     our.written->metric_type.line};
  }
  return Complaint{
      absl::StrCat("the trigger's metricType is ", field, ", but targetType is ", key,
                   ", and KEDA does not send the first: set targetType: \"", field,
                   "\" in the metadata, or the value is off by the number of replicas"),
      our.written->metric_type.line};
}

constexpr std::array<TriggerRule, 13> kGpuRules = {{
    {{"metric-type-mismatch", kError,
      "The trigger's metricType and the key targetType must agree: KEDA sends only the second."},
     MetricTypeMismatch},
    {{"percent-target-high", kWarning,
      "A percentage above 85 as the target: a saturated GPU may never ask for more."},
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
      "engineFallback none without an engine to read: UNAVAILABLE for as long as VRAM stands."},
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
    all.insert(all.end(), DemandRules().begin(), DemandRules().end());
    all.insert(all.end(), EndpointRules().begin(), EndpointRules().end());
    return all;
  }());
  return rules;
}

}  // namespace gpuscaler
