// Rules on how much load a target allows per replica of an engine.
#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "lint/batch_limit_flag.h"
#include "lint/lint_rules.h"
#include "trigger/suited_profile.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

// The largest targets that keep a constant load of up to `replicas` engines steady, by `tools/bench
// loop`. Each is that of the engine model that allows the most. Above it the HPA removes a replica,
// the others queue, the count doubles, and the cycle repeats after 300 s.
struct LargestSafeTargets {
  int replicas;
  double pressure_percent;
  double requests_in_flight;
};
constexpr std::array<LargestSafeTargets, 4> kLargestSafeTargets = {
    {{2, 52, 39}, {4, 62, 52}, {10, 70, 64}, {20, 74, 69}}};

int LineOfTarget(const OurTrigger& our) {
  return our.written->LineOf({"targetValue", "targetMemoryUtilization", "profile", "metricType"});
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

std::optional<Complaint> RequestsTargetHigh(const Manifest&, const std::vector<OurTrigger>& ours) {
  constexpr double kLargestShare = 2.0 / 3;
  const auto our = std::ranges::find_if(ours, [&](const OurTrigger& trigger) {
    const auto& settings = trigger.settings;
    return settings && CountsRequests(*settings) && settings->max_concurrency &&
           settings->target >= kLargestShare * *settings->max_concurrency;
  });
  if (our == ours.end()) return std::nullopt;
  const double limit = *our->settings->max_concurrency;
  return Complaint{
      absl::StrCat("the target of ", NumberText(our->settings->target),
                   " requests is two thirds of maxConcurrency ", NumberText(limit),
                   " or more: answers slow down as the batch fills, so replicas queue before the "
                   "next one is asked for; use ",
                   NumberText(std::max(1.0, std::floor(limit / 2))), " or less"),
      LineOfTarget(*our)};
}

// Demand is linear in the load, so no target of it cycles. If demand is never available, pressure
// counts instead.
bool FollowsDemand(const Trigger& trigger) {
  return CountsDemand(trigger) && !ReportsNoAnswers(trigger.engine_endpoint.engine);
}

// Ollama and TEI export no pressure, so the GPUs count. A test of app compares both names with the
// engines' table.
bool FollowsPressure(const Trigger& trigger) {
  const absl::string_view engine = trigger.engine_endpoint.engine;
  return CountsPressure(trigger) && engine != "ollama" && engine != "tei";
}

std::optional<Complaint> TargetCycles(const Manifest& manifest,
                                      const std::vector<OurTrigger>& ours) {
  if (!CanCycle(manifest)) return std::nullopt;
  const LargestSafeTargets& safe = LargestSafeTargetsOf(manifest);
  for (const OurTrigger& our : ours) {
    if (!our.settings || FollowsDemand(*our.settings)) continue;
    const bool of_pressure = FollowsPressure(*our.settings);
    if (!of_pressure && !CountsRequests(*our.settings)) continue;
    const double largest = of_pressure ? safe.pressure_percent : safe.requests_in_flight;
    if (our.settings->target <= largest) continue;
    return Complaint{
        absl::StrCat("the target ", NumberText(our.settings->target), " ",
                     of_pressure ? "% of an engine's pressure" : "requests in flight",
                     " cycles under constant load with every engine of `tools/bench loop`: a "
                     "replica is removed, the others queue, and the count doubles; for ",
                     safe.replicas, " replicas use ", NumberText(largest), " or less"),
        LineOfTarget(our)};
  }
  return std::nullopt;
}

// These metrics are low until replicas are full, and then not proportional to the missing replicas.
bool LagsBehindLoad(const OurTrigger& our) {
  constexpr std::array<EngineMetric, 4> kLagging = {
      EngineMetric::kRequestsWaiting, EngineMetric::kQueueWaitMs, EngineMetric::kTimeToFirstTokenMs,
      EngineMetric::kTimePerOutputTokenMs};
  return our.settings && ReadsEngines(*our.settings) &&
         std::ranges::count(kLagging, InfoOf(our.settings->metric).engine_metric) > 0;
}

bool IsOfTriton(const Trigger& trigger) {
  return trigger.engine_endpoint.engine == "triton" || InfoOf(trigger.metric).engine == "triton";
}

std::optional<Complaint> QueueOrLatencyAlone(const Manifest& manifest,
                                             const std::vector<OurTrigger>& ours) {
  const bool has_others = ours.size() != manifest.triggers.size();
  if (!CanCycle(manifest) || has_others || !std::ranges::all_of(ours, LagsBehindLoad)) {
    return std::nullopt;
  }
  const Trigger& trigger = *ours.front().settings;
  return Complaint{
      absl::StrCat("no trigger follows the load: ", InfoOf(trigger.metric).name,
                   " is low until replicas are full and then grows without bound, so the count "
                   "goes from too few to maxReplicaCount and back; add a trigger that follows the "
                   "load, such as profile ",
                   IsOfTriton(trigger) ? "triton-request-rate or triton-inference"
                                       : "vllm-inference or vllm-requests"),
      ours.front().written->LineOf({"profile", "metricType"})};
}

// Returns nullptr if no file has the workload, or if it runs no engine with a matching profile.
const SuitedProfile* SuitedTo(const ManifestWorkload* workload) {
  if (workload == nullptr) return nullptr;
  for (const ManifestContainer& container : workload->containers) {
    if (const SuitedProfile* const suited = ProfileForImage(container.image)) return suited;
  }
  return nullptr;
}

std::optional<Complaint> EngineWithoutProfile(const Manifest&,
                                              const std::vector<OurTrigger>& ours) {
  const auto our = std::ranges::find_if(ours, [](const OurTrigger& trigger) {
    return trigger.settings && SuitedTo(trigger.target) != nullptr &&
           LacksProfile(*trigger.settings) && !trigger.written->metadata.contains("metricType");
  });
  if (our == ours.end()) return std::nullopt;
  const SuitedProfile& suited = *SuitedTo(our->target);
  return Complaint{
      absl::StrCat("the workload runs ", suited.title, ", and the trigger has no profile: ",
                   "GPU utilisation is near 100 % whenever anything runs; ", AdviceText(suited)),
      our->written->line};
}

// Returns nullopt if the trigger's engines may belong to another workload than the scale target.
std::optional<BatchLimitFlag> FlagOfEngines(const Manifest& manifest, const OurTrigger& our) {
  if (!our.settings || !our.settings->max_concurrency || our.target == nullptr) return std::nullopt;
  const bool is_elsewhere = !our.settings->engine_endpoint.url.empty() && our.endpoint &&
                            our.endpoint->service != nullptr && !our.endpoint->is_of_target;
  if (is_elsewhere || CountsAnother(manifest, our)) return std::nullopt;
  return BatchLimitFlagIn(*our.target);
}

// "maxConcurrency 256 is above the engine's limit (Deployment/llm has --max-num-seqs 64)"
std::string Compared(const OurTrigger& our, absl::string_view comparison,
                     const BatchLimitFlag& flag) {
  return absl::StrCat("maxConcurrency ", NumberText(*our.settings->max_concurrency), " is ",
                      comparison, " the engine's limit (", our.target->kind, "/", our.target->name,
                      " has ", flag.name, " ", flag.value, ")");
}

std::optional<Complaint> LimitAboveFlag(const Manifest& manifest,
                                        const std::vector<OurTrigger>& ours) {
  for (const OurTrigger& our : ours) {
    const auto flag = FlagOfEngines(manifest, our);
    if (!flag || *our.settings->max_concurrency <= flag->value) continue;
    return Complaint{
        absl::StrCat(Compared(our, "above", *flag),
                     ": it never runs that many, so requests wait before its batch counts as full; "
                     "use ",
                     flag->value),
        our.written->LineOf({"maxConcurrency"})};
  }
  return std::nullopt;
}

std::optional<Complaint> LimitBelowFlag(const Manifest& manifest,
                                        const std::vector<OurTrigger>& ours) {
  for (const OurTrigger& our : ours) {
    const auto flag = FlagOfEngines(manifest, our);
    if (!flag || *our.settings->max_concurrency >= flag->value) continue;
    return Complaint{
        absl::StrCat(Compared(our, "below", *flag),
                     ": replicas are planned for fewer requests than they run; use ", flag->value,
                     ", unless tokens take too long in larger batches (tpotSloMs bounds that too)"),
        our.written->LineOf({"maxConcurrency"})};
  }
  return std::nullopt;
}

bool ReadsPageGauge(const OurTrigger& our) {
  return our.settings && our.settings->metric == MetricType::kPrometheus &&
         !our.settings->page.rate;
}

bool HasNoGateway(const OurTrigger& our) {
  return our.settings && CountsDemand(*our.settings) && !CountsHeldRequests(*our.settings);
}

std::optional<Complaint> HeldBesideDemand(const Manifest& manifest,
                                          const std::vector<OurTrigger>& ours) {
  const auto gateway = std::ranges::find_if(ours, ReadsPageGauge);
  const auto engines = std::ranges::find_if(ours, HasNoGateway);
  // With a target this high the trigger only activates, and rarely requests a second replica.
  constexpr double kOnlyActivates = 1000;
  if (manifest.is_job || gateway == ours.end() || engines == ours.end()) return std::nullopt;
  if (gateway->settings->target >= kOnlyActivates) return std::nullopt;
  return Complaint{
      "what a gateway holds grows for as long as the first replica starts, so this trigger asks "
      "for more replicas the longer the start takes; give its URL to the trigger on engines as "
      "gatewayUrl, with prometheusMetric, and remove this trigger",
      gateway->written->LineOf({"prometheusEndpoint"})};
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
