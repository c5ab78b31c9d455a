#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/nearest.h"
#include "trigger/lint_rules.h"
#include "trigger/workload_kinds.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

// Returns true if the file names the scale target without placeholders.
bool NamesTarget(const Manifest& manifest) {
  return !manifest.target_name.empty() && !HasPlaceholder(manifest.target_name) &&
         !HasPlaceholder(manifest.target_kind);
}

bool NamesWorkload(const ScalerTrigger& scaler_trigger) {
  return scaler_trigger.parsed && !scaler_trigger.parsed->workload.empty();
}

bool IsOfKind(const ScalerTrigger& scaler_trigger, absl::string_view kind) {
  return absl::EqualsIgnoreCase(scaler_trigger.parsed->workload_kind, kind);
}

// KServe names the Deployment of an InferenceService like this, so its pods belong to both.
bool IsPredictorOf(const Manifest& manifest, const ScalerTrigger& scaler_trigger) {
  return IsOfKind(scaler_trigger, "InferenceService") &&
         absl::EqualsIgnoreCase(manifest.target_kind, "Deployment") &&
         manifest.target_name == absl::StrCat(scaler_trigger.parsed->workload, "-predictor");
}

bool NamesAnother(const Manifest& manifest, const ScalerTrigger& scaler_trigger) {
  return NamesWorkload(scaler_trigger) && NamesTarget(manifest) &&
         scaler_trigger.parsed->workload != manifest.target_name &&
         !IsPredictorOf(manifest, scaler_trigger);
}

// Only kinds with known pods are compared. An operator's kind may have pods of any kind: it may
// create a Deployment of the same name.
bool NamesAnotherKind(const Manifest& manifest, const ScalerTrigger& scaler_trigger) {
  return NamesWorkload(scaler_trigger) && scaler_trigger.parsed->workload == manifest.target_name &&
         !scaler_trigger.parsed->workload_kind.empty() && IsWorkloadKind(manifest.target_kind) &&
         !IsOfKind(scaler_trigger, manifest.target_kind);
}

bool NamesAlikeKind(const Manifest& manifest, const ScalerTrigger& scaler_trigger) {
  return NamesAnotherKind(manifest, scaler_trigger) &&
         HaveSamePodNames(scaler_trigger.parsed->workload_kind, manifest.target_kind);
}

// Returns true if pods of the named kind never belong to the scale target.
bool NamesUnlikeKind(const Manifest& manifest, const ScalerTrigger& scaler_trigger) {
  return NamesAnotherKind(manifest, scaler_trigger) && !NamesAlikeKind(manifest, scaler_trigger);
}

std::string WorkloadText(const Trigger& trigger) {
  return absl::StrCat(trigger.workload_kind, trigger.workload_kind.empty() ? "" : "/",
                      trigger.workload);
}

// Returns true if nothing names the workload that owns the counted GPUs. The ScaledObject's name is
// a hint only if it equals the target's.
bool IsGuessed(const Manifest& manifest, const ScalerTrigger& scaler_trigger) {
  return scaler_trigger.parsed && scaler_trigger.parsed->scope == Scope::kWorkload &&
         scaler_trigger.parsed->workload.empty() && scaler_trigger.parsed->pod_regex == nullptr &&
         NamesTarget(manifest) && !HasPlaceholder(manifest.name) &&
         manifest.target_name != manifest.name;
}

std::optional<RuleViolation> GuessedWorkload(const Manifest& manifest,
                                             const std::vector<ScalerTrigger>& scaler_triggers) {
  const auto scaler_trigger = std::ranges::find_if(
      scaler_triggers, [&](const ScalerTrigger& trigger) { return IsGuessed(manifest, trigger); });
  if (scaler_trigger == scaler_triggers.end()) return std::nullopt;
  const absl::string_view why =
      GoesToZero(manifest)
          ? " is at zero, any other workload that is alone in the namespace to hold GPUs is taken "
            "for it, and wakes it"
          : " has no pod on a GPU, any other workload that is alone in the namespace to hold GPUs "
            "is taken for it";
  return RuleViolation{absl::StrCat("the workload is a guess: while ", manifest.target_name, why,
                                    "; add workload: ", manifest.target_name,
                                    " to the metadata, or name the ScaledObject like it"),
                       scaler_trigger->declaration->line};
}

std::optional<RuleViolation> LoadOfAnother(const Manifest& manifest,
                                           const std::vector<ScalerTrigger>& scaler_triggers) {
  const auto scaler_trigger = std::ranges::find_if(
      scaler_triggers,
      [&](const ScalerTrigger& trigger) { return NamesAnother(manifest, trigger); });
  if (scaler_trigger == scaler_triggers.end()) return std::nullopt;
  return RuleViolation{
      absl::StrCat("scales ", manifest.target_kind, "/", manifest.target_name, " on the load of ",
                   WorkloadText(*scaler_trigger->parsed),
                   ": its replicas are counted, and the target is for each of them"),
      scaler_trigger->declaration->LineOf({"workload"})};
}

std::string TargetText(const Manifest& manifest) {
  return absl::StrCat(manifest.target_kind, "/", manifest.target_name);
}

// The key `workload` has the name of the scale target but another kind; `why` states the
// consequence.
RuleViolation OtherKindViolation(const Manifest& manifest, const ScalerTrigger& scaler_trigger,
                                 absl::string_view why) {
  return {absl::StrCat("workload ", WorkloadText(*scaler_trigger.parsed),
                       " has the name of what is scaled, ", TargetText(manifest),
                       ", and is of another kind: ", why, "; use workload: ", TargetText(manifest)),
          scaler_trigger.declaration->LineOf({"workload"})};
}

std::optional<RuleViolation> KindOfAnother(const Manifest& manifest,
                                           const std::vector<ScalerTrigger>& scaler_triggers) {
  const auto scaler_trigger = std::ranges::find_if(
      scaler_triggers,
      [&](const ScalerTrigger& trigger) { return NamesUnlikeKind(manifest, trigger); });
  if (scaler_trigger == scaler_triggers.end()) return std::nullopt;
  return OtherKindViolation(manifest, *scaler_trigger, "what is scaled does not count");
}

std::optional<RuleViolation> KindAlike(const Manifest& manifest,
                                       const std::vector<ScalerTrigger>& scaler_triggers) {
  const auto scaler_trigger = std::ranges::find_if(
      scaler_triggers,
      [&](const ScalerTrigger& trigger) { return NamesAlikeKind(manifest, trigger); });
  if (scaler_trigger == scaler_triggers.end()) return std::nullopt;
  // The StatefulSet of the leaders has the name of its LeaderWorkerSet.
  const bool is_of_leaders = absl::EqualsIgnoreCase(manifest.target_kind, "LeaderWorkerSet") &&
                             IsOfKind(*scaler_trigger, "StatefulSet");
  return OtherKindViolation(manifest, *scaler_trigger,
                            is_of_leaders
                                ? "of what is scaled the leader of each group counts alone"
                                : "what is scaled counts where only the pods' names show "
                                  "their owners, and not where their owners are known");
}

// Returns nullptr if every named kind is known or is the scale target's, which therefore exists.
const ScalerTrigger* TriggerOfUnknownKind(const Manifest& manifest,
                                          const std::vector<ScalerTrigger>& scaler_triggers) {
  const auto scaler_trigger =
      std::ranges::find_if(scaler_triggers, [&](const ScalerTrigger& trigger) {
        return NamesWorkload(trigger) && !trigger.parsed->workload_kind.empty() &&
               !IsWorkloadKind(trigger.parsed->workload_kind) &&
               !IsOfKind(trigger, manifest.target_kind) && !NamesAnotherKind(manifest, trigger);
      });
  return scaler_trigger == scaler_triggers.end() ? nullptr : &*scaler_trigger;
}

// Returns the kind that was probably meant, or "" if it may be a custom controller's. A typo keeps
// the first and last letter; TFJob and NIMService differ from Job and RayService in one of them.
absl::string_view IntendedKind(const Manifest& manifest, absl::string_view kind) {
  constexpr size_t kMaxExtraLetters = 2;
  std::vector<absl::string_view> known = WorkloadKinds();
  if (!manifest.target_kind.empty()) known.push_back(manifest.target_kind);
  const absl::string_view nearest = Nearest(kind, known);
  if (nearest.empty() || absl::StartsWithIgnoreCase(nearest, kind)) return nearest;
  const auto is_alike = [](char a, char b) {
    return absl::ascii_tolower(a) == absl::ascii_tolower(b);
  };
  const size_t longer = std::max(kind.size(), nearest.size());
  const bool is_typo = is_alike(kind.front(), nearest.front()) &&
                       is_alike(kind.back(), nearest.back()) &&
                       longer - std::min(kind.size(), nearest.size()) <= kMaxExtraLetters;
  return is_typo ? nearest : "";
}

RuleViolation UnknownKindViolation(const ScalerTrigger& scaler_trigger, absl::string_view meant) {
  const std::string& kind = scaler_trigger.parsed->workload_kind;
  return {absl::StrCat("workload ", WorkloadText(*scaler_trigger.parsed), ": ", Quoted(kind),
                       " is no kind that pods are known to be of (", JoinedWithOr(WorkloadKinds()),
                       "), and of a controller of your own it is only where the kubelet's Pods API "
                       "lists owners",
                       meant.empty() ? "" : absl::StrCat("; did you mean ", Quoted(meant), "?")),
          scaler_trigger.declaration->LineOf({"workload"})};
}

std::optional<RuleViolation> MistypedKind(const Manifest& manifest,
                                          const std::vector<ScalerTrigger>& scaler_triggers) {
  const ScalerTrigger* const scaler_trigger = TriggerOfUnknownKind(manifest, scaler_triggers);
  if (scaler_trigger == nullptr) return std::nullopt;
  const absl::string_view meant = IntendedKind(manifest, scaler_trigger->parsed->workload_kind);
  if (meant.empty()) return std::nullopt;
  return UnknownKindViolation(*scaler_trigger, meant);
}

std::optional<RuleViolation> UnknownKind(const Manifest& manifest,
                                         const std::vector<ScalerTrigger>& scaler_triggers) {
  const ScalerTrigger* const scaler_trigger = TriggerOfUnknownKind(manifest, scaler_triggers);
  if (scaler_trigger == nullptr) return std::nullopt;
  if (!IntendedKind(manifest, scaler_trigger->parsed->workload_kind).empty()) return std::nullopt;
  return UnknownKindViolation(*scaler_trigger, "");
}

constexpr std::array<ObjectRule, 6> kWorkloadRules = {{
    {{"workload-guessed", kWarning, "It is not named like what it scales, and names no workload."},
     GuessedWorkload},
    {{"load-of-another", kNote, "It scales one workload on the load of another."}, LoadOfAnother},
    {{"workload-of-another-kind", kWarning,
      "workload has the name of what is scaled, and a kind that its pods are never of."},
     KindOfAnother},
    {{"workload-kind-alike", kNote,
      "workload has the name of what is scaled, and another kind with pods that are named alike."},
     KindAlike},
    {{"workload-kind-mistyped", kWarning,
      "workload's kind is almost one that pods are known to be of."},
     MistypedKind},
    {{"workload-kind-unknown", kNote,
      "workload's kind is of a controller of one's own: only the kubelet's Pods API shows its "
      "pods."},
     UnknownKind},
}};

}  // namespace

std::span<const ObjectRule> WorkloadRules() { return kWorkloadRules; }

bool CountsAnother(const Manifest& manifest, const ScalerTrigger& scaler_trigger) {
  return NamesAnother(manifest, scaler_trigger) || NamesUnlikeKind(manifest, scaler_trigger);
}

}  // namespace gpuscaler
