// Rules on how much load a target allows per replica of an engine.
#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "trigger/batch_limit_flag.h"
#include "trigger/lint_rules.h"
#include "trigger/recommended_profile.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

// The largest targets with which a constant load of up to `replicas` engines stays steady, with the
// engine that allows the most. They were computed with the presets small-batch, 8b, 8b-long-prompts
// and llm-d (simulate/engine_preset.h). Above them the count cycles with each of these: the HPA
// removes a replica, the others queue, the count doubles, and the cycle repeats after 300 s.
struct LargestSafeTargets {
  int replicas;
  double pressure_percent;
  double requests_in_flight;
};
constexpr std::array<LargestSafeTargets, 4> kLargestSafeTargets = {
    {{2, 52, 39}, {4, 62, 52}, {10, 70, 64}, {20, 74, 69}}};

int LineOfTarget(const ScalerTrigger& scaler_trigger) {
  return scaler_trigger.declaration->LineOf(
      {"targetValue", "targetMemoryUtilization", "profile", "metricType"});
}

const LargestSafeTargets& LargestSafeTargetsOf(const Manifest& manifest) {
  if (!manifest.max_replicas) return kLargestSafeTargets.back();
  const auto row = std::ranges::lower_bound(kLargestSafeTargets, manifest.max_replicas->value, {},
                                            &LargestSafeTargets::replicas);
  return row == kLargestSafeTargets.end() ? kLargestSafeTargets.back() : *row;
}

// A single replica cannot be removed, and the HPA scales no Jobs.
bool CanCycle(const Manifest& manifest) {
  return !manifest.is_job && !(manifest.max_replicas && manifest.max_replicas->value < 2);
}

std::optional<RuleViolation> RequestsTargetHigh(const Manifest&,
                                                const std::vector<ScalerTrigger>& scaler_triggers) {
  constexpr double kLargestShare = 2.0 / 3;
  const auto scaler_trigger =
      std::ranges::find_if(scaler_triggers, [&](const ScalerTrigger& trigger) {
        const auto& settings = trigger.parsed;
        return settings && CountsRequests(*settings) && settings->max_concurrency &&
               settings->target >= kLargestShare * *settings->max_concurrency;
      });
  if (scaler_trigger == scaler_triggers.end()) return std::nullopt;
  const double limit = *scaler_trigger->parsed->max_concurrency;
  return RuleViolation{
      absl::StrCat("the target of ", NumberText(scaler_trigger->parsed->target),
                   " requests is two thirds of maxConcurrency ", NumberText(limit),
                   " or more: answers slow down as the batch fills, so replicas queue before the "
                   "next one is requested; use ",
                   NumberText(std::max(1.0, std::floor(limit / 2))), " or less"),
      LineOfTarget(*scaler_trigger)};
}

// Demand is linear in the load, so no target of it cycles. If demand is never available, pressure
// counts instead.
bool FollowsDemand(const Trigger& trigger) {
  return CountsDemand(trigger) && !NeverReportsDemand(trigger.engine_endpoint.engine);
}

// Ollama and TEI export no pressure, so the GPUs count. A test of app compares both names with the
// engines' table.
bool FollowsPressure(const Trigger& trigger) {
  const absl::string_view engine = trigger.engine_endpoint.engine;
  return CountsPressure(trigger) && engine != "ollama" && engine != "tei";
}

std::optional<RuleViolation> TargetCycles(const Manifest& manifest,
                                          const std::vector<ScalerTrigger>& scaler_triggers) {
  if (!CanCycle(manifest)) return std::nullopt;
  const LargestSafeTargets& safe = LargestSafeTargetsOf(manifest);
  for (const ScalerTrigger& scaler_trigger : scaler_triggers) {
    if (!scaler_trigger.parsed || FollowsDemand(*scaler_trigger.parsed)) continue;
    const bool of_pressure = FollowsPressure(*scaler_trigger.parsed);
    if (!of_pressure && !CountsRequests(*scaler_trigger.parsed)) continue;
    const double largest = of_pressure ? safe.pressure_percent : safe.requests_in_flight;
    if (scaler_trigger.parsed->target <= largest) continue;
    return RuleViolation{
        absl::StrCat("the target ", NumberText(scaler_trigger.parsed->target), " ",
                     of_pressure ? "% of an engine's pressure" : "requests in flight",
                     " cycles under constant load with each simulated engine: a replica is "
                     "removed, the others queue, and the count doubles; for ",
                     safe.replicas, " replicas use ", NumberText(largest), " or less"),
        LineOfTarget(scaler_trigger)};
  }
  return std::nullopt;
}

// These metrics are low until replicas are full, and then not proportional to the missing replicas.
bool LagsBehindLoad(const ScalerTrigger& scaler_trigger) {
  constexpr std::array<EngineMetric, 4> kLagging = {
      EngineMetric::kRequestsWaiting, EngineMetric::kQueueWaitMs, EngineMetric::kTimeToFirstTokenMs,
      EngineMetric::kTimePerOutputTokenMs};
  return scaler_trigger.parsed && ReadsEngines(*scaler_trigger.parsed) &&
         std::ranges::count(kLagging, InfoOf(scaler_trigger.parsed->metric).engine_metric) > 0;
}

bool IsOfTriton(const Trigger& trigger) {
  return trigger.engine_endpoint.engine == "triton" || InfoOf(trigger.metric).engine == "triton";
}

std::optional<RuleViolation> QueueOrLatencyAlone(
    const Manifest& manifest, const std::vector<ScalerTrigger>& scaler_triggers) {
  const bool has_others = scaler_triggers.size() != manifest.triggers.size();
  if (!CanCycle(manifest) || has_others || !std::ranges::all_of(scaler_triggers, LagsBehindLoad)) {
    return std::nullopt;
  }
  const Trigger& trigger = *scaler_triggers.front().parsed;
  return RuleViolation{
      absl::StrCat("no trigger follows the load: ", InfoOf(trigger.metric).name,
                   " is low until replicas are full and then grows without bound, so the count "
                   "goes from too few to maxReplicaCount and back; add a trigger that follows the "
                   "load, such as profile ",
                   IsOfTriton(trigger) ? "triton-request-rate or triton-inference"
                                       : "vllm-inference or vllm-requests"),
      scaler_triggers.front().declaration->LineOf({"profile", "metricType"})};
}

// Returns nullptr if no file has the workload, or if it runs no engine with a matching profile.
const RecommendedProfile* RecommendedFor(const ManifestWorkload* workload) {
  if (workload == nullptr) return nullptr;
  for (const ManifestContainer& container : workload->containers) {
    if (const RecommendedProfile* const recommended = ProfileForImage(container.image))
      return recommended;
  }
  return nullptr;
}

std::optional<RuleViolation> EngineWithoutProfile(
    const Manifest&, const std::vector<ScalerTrigger>& scaler_triggers) {
  const auto scaler_trigger =
      std::ranges::find_if(scaler_triggers, [](const ScalerTrigger& trigger) {
        return trigger.parsed && RecommendedFor(trigger.target) != nullptr &&
               LacksProfile(*trigger.parsed) &&
               !trigger.declaration->metadata.contains("metricType");
      });
  if (scaler_trigger == scaler_triggers.end()) return std::nullopt;
  const RecommendedProfile& recommended = *RecommendedFor(scaler_trigger->target);
  return RuleViolation{
      absl::StrCat("the workload runs ", recommended.title, ", and the trigger has no profile: ",
                   "GPU utilization is near 100 % whenever anything runs; ",
                   AdviceText(recommended)),
      scaler_trigger->declaration->line};
}

// Returns nullopt if the trigger's engines may belong to another workload than the scale target.
std::optional<BatchLimitFlag> FlagOfEngines(const Manifest& manifest,
                                            const ScalerTrigger& scaler_trigger) {
  if (!scaler_trigger.parsed || !scaler_trigger.parsed->max_concurrency ||
      scaler_trigger.target == nullptr)
    return std::nullopt;
  const bool is_elsewhere =
      !scaler_trigger.parsed->engine_endpoint.url.empty() && scaler_trigger.endpoint &&
      scaler_trigger.endpoint->service != nullptr && !scaler_trigger.endpoint->selects_target;
  if (is_elsewhere || CountsAnother(manifest, scaler_trigger)) return std::nullopt;
  return BatchLimitFlagIn(*scaler_trigger.target);
}

// "maxConcurrency 256 is above the engine's limit (Deployment/llm has --max-num-seqs 64)"
std::string Compared(const ScalerTrigger& scaler_trigger, absl::string_view comparison,
                     const BatchLimitFlag& flag) {
  return absl::StrCat("maxConcurrency ", NumberText(*scaler_trigger.parsed->max_concurrency),
                      " is ", comparison, " the engine's limit (", scaler_trigger.target->kind, "/",
                      scaler_trigger.target->name, " has ", flag.name, " ", flag.value, ")");
}

std::optional<RuleViolation> LimitAboveFlag(const Manifest& manifest,
                                            const std::vector<ScalerTrigger>& scaler_triggers) {
  for (const ScalerTrigger& scaler_trigger : scaler_triggers) {
    const auto flag = FlagOfEngines(manifest, scaler_trigger);
    if (!flag || *scaler_trigger.parsed->max_concurrency <= flag->value) continue;
    return RuleViolation{
        absl::StrCat(Compared(scaler_trigger, "above", *flag),
                     ": it never runs that many, so requests wait before its batch counts as full; "
                     "use ",
                     flag->value),
        scaler_trigger.declaration->LineOf({"maxConcurrency"})};
  }
  return std::nullopt;
}

std::optional<RuleViolation> LimitBelowFlag(const Manifest& manifest,
                                            const std::vector<ScalerTrigger>& scaler_triggers) {
  for (const ScalerTrigger& scaler_trigger : scaler_triggers) {
    const auto flag = FlagOfEngines(manifest, scaler_trigger);
    if (!flag || *scaler_trigger.parsed->max_concurrency >= flag->value) continue;
    return RuleViolation{
        absl::StrCat(Compared(scaler_trigger, "below", *flag),
                     ": replicas are planned for fewer requests than they run; use ", flag->value,
                     ", unless tokens take too long in larger batches (tpotSloMs bounds that too)"),
        scaler_trigger.declaration->LineOf({"maxConcurrency"})};
  }
  return std::nullopt;
}

bool ReadsGauge(const ScalerTrigger& scaler_trigger) {
  return scaler_trigger.parsed && scaler_trigger.parsed->metric == MetricType::kPrometheus &&
         !scaler_trigger.parsed->metrics_endpoint.rate;
}

bool HasNoGateway(const ScalerTrigger& scaler_trigger) {
  return scaler_trigger.parsed && CountsDemand(*scaler_trigger.parsed) &&
         !CountsHeldRequests(*scaler_trigger.parsed);
}

std::optional<RuleViolation> HeldBesideDemand(const Manifest& manifest,
                                              const std::vector<ScalerTrigger>& scaler_triggers) {
  const auto gateway = std::ranges::find_if(scaler_triggers, ReadsGauge);
  const auto engines = std::ranges::find_if(scaler_triggers, HasNoGateway);
  // A trigger with a target this high only activates: it hardly ever requests a second replica.
  constexpr double kOnlyActivates = 1000;
  if (manifest.is_job || gateway == scaler_triggers.end() || engines == scaler_triggers.end())
    return std::nullopt;
  if (gateway->parsed->target >= kOnlyActivates) return std::nullopt;
  return RuleViolation{
      "what a gateway holds grows for as long as the first replica starts, so this trigger "
      "requests more replicas the longer the start takes; give its URL to the trigger on engines "
      "as gatewayUrl, with prometheusMetric, and remove this trigger",
      gateway->declaration->LineOf({"prometheusEndpoint"})};
}

constexpr std::array<ObjectRule, 7> kCapacityRules = {{
    {{"requests-target-high", kWarning,
      "A target of requests that is two thirds of maxConcurrency or more."},
     RequestsTargetHigh},
    {{"target-cycles", kWarning,
      "A target of an engine that makes the number of replicas cycle under constant load."},
     TargetCycles},
    {{"queue-or-latency-alone", kWarning,
      "An engine's queue, wait or latency, and no trigger that follows the load."},
     QueueOrLatencyAlone},
    {{"engine-without-profile", kWarning,
      "A trigger without a profile for a workload, in the same files, that runs a known engine."},
     EngineWithoutProfile},
    {{"max-concurrency-above-flag", kWarning,
      "maxConcurrency is above the batch limit that the workload's container, in the same files, "
      "gives its engine."},
     LimitAboveFlag},
    {{"max-concurrency-below-flag", kNote,
      "maxConcurrency is below the batch limit that the workload's container, in the same files, "
      "gives its engine."},
     LimitBelowFlag},
    {{"held-beside-demand", kWarning,
      "A trigger on what a gateway holds beside one on engines without gatewayUrl: it grows for as "
      "long as a start takes."},
     HeldBesideDemand},
}};

}  // namespace

bool CountsRequests(const Trigger& trigger) {
  return trigger.metric == MetricType::kRequestsInFlight ||
         trigger.metric == MetricType::kRequestsRunning;
}

std::span<const ObjectRule> CapacityRules() { return kCapacityRules; }

}  // namespace gpuscaler
