#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "trigger/lint_rules.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

// KEDA's defaults.
constexpr int kDefaultCooldownSeconds = 300;
constexpr int kDefaultPollingSeconds = 30;
constexpr int kDefaultMaxReplicas = 100;

int ValueOr(const std::optional<LocatedInt>& number, int otherwise) {
  return number ? number->value : otherwise;
}

int LineOfMinimum(const Manifest& manifest) {
  if (manifest.idle_replicas) return manifest.idle_replicas->line;
  return manifest.min_replicas ? manifest.min_replicas->line : manifest.line;
}

std::optional<RuleViolation> NothingWakes(const Manifest& manifest,
                                          const std::vector<ScalerTrigger>& scaler_triggers) {
  const bool woken = std::ranges::any_of(manifest.triggers, [&](const ManifestTrigger& trigger) {
    return CanWake(manifest, trigger, scaler_triggers);
  });
  if (!GoesToZero(manifest) || woken) return std::nullopt;
  return RuleViolation{
      "it goes to zero (minReplicaCount is 0 unless given), and no trigger can wake it: at zero "
      "replicas there is no GPU or engine to read; add a trigger on demand (a queue, a gateway, "
      "cron), or set minReplicaCount to 1",
      LineOfMinimum(manifest)};
}

bool IsNeverZero(MetricType metric) {
  return metric == MetricType::kPowerDraw || metric == MetricType::kTemperature ||
         metric == MetricType::kMemoryUsedMib;
}

// These metrics of an idle GPU are above 0. With an activationThreshold above 0, lint cannot check
// it: the idle value depends on the GPU.
std::optional<RuleViolation> NeverSleeps(const Manifest& manifest,
                                         const std::vector<ScalerTrigger>& scaler_triggers) {
  if (manifest.is_job || !GoesToZero(manifest)) return std::nullopt;
  const auto scaler_trigger =
      std::ranges::find_if(scaler_triggers, [](const ScalerTrigger& trigger) {
        return trigger.parsed && !trigger.parsed->always_active &&
               trigger.parsed->activation_threshold == 0 && IsNeverZero(trigger.parsed->metric);
      });
  if (scaler_trigger == scaler_triggers.end()) return std::nullopt;
  return RuleViolation{
      absl::StrCat(InfoOf(scaler_trigger->parsed->metric).name,
                   " is above 0 on an idle GPU too: with activationThreshold 0 the trigger stays "
                   "active as long as a replica holds one, and it never goes to zero; give an "
                   "activationThreshold above what an idle replica shows"),
      scaler_trigger->declaration->LineOf({"activationThreshold", "metricType", "profile"})};
}

int LineOfCooldown(const Manifest& manifest) {
  if (manifest.cooldown_seconds) return manifest.cooldown_seconds->line;
  return manifest.polling_seconds ? manifest.polling_seconds->line : manifest.line;
}

double LongestWarmupSeconds(const std::vector<ScalerTrigger>& scaler_triggers) {
  double longest = 0;
  for (const ScalerTrigger& scaler_trigger : scaler_triggers) {
    if (scaler_trigger.parsed)
      longest = std::max(longest, absl::ToDoubleSeconds(scaler_trigger.parsed->warmup));
  }
  return longest;
}

// Another trigger wakes a workload at zero. Until its replica holds a GPU, this scaler does not see
// it, so only that trigger and the cooldown keep it. With a cooldown
// shorter than pollingInterval, the first inactive poll scales to zero.
std::optional<RuleViolation> CooldownShort(const Manifest& manifest,
                                           const std::vector<ScalerTrigger>& scaler_triggers) {
  if (manifest.is_job || !GoesToZero(manifest)) return std::nullopt;  // ScaledJobs have none
  const int cooldown = ValueOr(manifest.cooldown_seconds, kDefaultCooldownSeconds);
  const int polling = ValueOr(manifest.polling_seconds, kDefaultPollingSeconds);
  const double warmup = LongestWarmupSeconds(scaler_triggers);
  if (cooldown < warmup) {
    return RuleViolation{
        absl::StrCat("cooldownPeriod ", cooldown, " is shorter than a start (", NumberText(warmup),
                     " s of warm-up): until a replica holds its GPU nothing here sees it, "
                     "and KEDA may take it away again; use ",
                     NumberText(warmup), " or more"),
        LineOfCooldown(manifest)};
  }
  if (cooldown >= polling) return std::nullopt;
  return RuleViolation{
      absl::StrCat("cooldownPeriod ", cooldown, " is shorter than pollingInterval ", polling,
                   ": the first inactive answer takes the workload to zero; use several polls, or "
                   "leave it out (300)"),
      LineOfCooldown(manifest)};
}

std::optional<RuleViolation> FallbackWakes(const Manifest& manifest,
                                           const std::vector<ScalerTrigger>&) {
  if (!manifest.fallback || !GoesToZero(manifest)) return std::nullopt;
  return RuleViolation{
      "a fallback counts as active, so an outage wakes what sleeps at zero; without one KEDA holds "
      "what there is: remove fallback, or set minReplicaCount to 1",
      manifest.fallback->line};
}

std::optional<RuleViolation> FallbackShrinks(const Manifest& manifest,
                                             const std::vector<ScalerTrigger>&) {
  if (!manifest.fallback || GoesToZero(manifest)) return std::nullopt;
  const ManifestFallback& fallback = *manifest.fallback;
  const bool may_lower =
      fallback.behavior.text == "static" || fallback.behavior.text == "currentReplicasIfLower";
  const bool is_the_maximum =
      ValueOr(fallback.replicas, 0) >= ValueOr(manifest.max_replicas, kDefaultMaxReplicas);
  if (!may_lower || is_the_maximum) return std::nullopt;
  return RuleViolation{absl::StrCat("fallback behavior ", fallback.behavior.text,
                                    " shrinks a busy workload when its metrics fail; use behavior: "
                                    "currentReplicasIfHigher"),
                       fallback.behavior.line};
}

constexpr std::array<ObjectRule, 5> kOwnObjectRules = {{
    {{"nothing-wakes", kWarning,
      "It goes to zero, and none of its triggers can see demand from there."},
     NothingWakes},
    {{"never-sleeps", kWarning,
      "It goes to zero, and a trigger on watts, degrees or MiB would keep it from there."},
     NeverSleeps},
    {{"cooldown-short", kWarning,
      "cooldownPeriod is shorter than a start or than the gap between two polls."},
     CooldownShort},
    {{"fallback-wakes", kWarning, "A fallback wakes what sleeps at zero replicas."}, FallbackWakes},
    {{"fallback-shrinks", kWarning, "A fallback may take replicas from a busy workload."},
     FallbackShrinks},
}};

}  // namespace

std::span<const ObjectRule> ObjectRules() {
  static const auto& rules = *new std::vector<ObjectRule>([] {
    std::vector<ObjectRule> all(kOwnObjectRules.begin(), kOwnObjectRules.end());
    all.insert(all.end(), WorkloadRules().begin(), WorkloadRules().end());
    all.insert(all.end(), CapacityRules().begin(), CapacityRules().end());
    all.insert(all.end(), FormulaRules().begin(), FormulaRules().end());
    return all;
  }());
  return rules;
}

bool GoesToZero(const Manifest& manifest) {
  if (manifest.has_replica_placeholder) return false;  // unknown: a placeholder
  if (manifest.idle_replicas) return manifest.idle_replicas->value == 0;
  return ValueOr(manifest.min_replicas, 0) == 0;
}

bool CanWake(const Manifest& manifest, const ManifestTrigger& trigger,
             const std::vector<ScalerTrigger>& scaler_triggers) {
  const auto scaler_trigger =
      std::ranges::find(scaler_triggers, &trigger, &ScalerTrigger::declaration);
  // cpu and memory triggers read pods.
  if (scaler_trigger == scaler_triggers.end())
    return trigger.type != "cpu" && trigger.type != "memory";
  // A trigger with values that the file does not show is assumed to wake; a wrong one is not.
  if (!scaler_trigger->parsed) return scaler_trigger->metadata.faults.empty();
  if (!IsOfReplicas(InfoOf(scaler_trigger->parsed->metric).origin)) return true;
  // On a node or in a fleet the GPUs of other workloads count, even at zero replicas.
  return scaler_trigger->parsed->always_active || CountsHeldRequests(*scaler_trigger->parsed) ||
         scaler_trigger->parsed->scope != Scope::kWorkload ||
         CountsAnother(manifest, *scaler_trigger);
}

}  // namespace gpuscaler
