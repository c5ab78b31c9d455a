#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/nearest.h"
#include "lint/lint_rules.h"
#include "lint/placeholder.h"
#include "trigger/workload_kinds.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

// Returns true if the file names the scale target without placeholders.
bool NamesTarget(const Manifest& manifest) {
  return !manifest.target_name.empty() && !HasPlaceholder(manifest.target_name) &&
         !HasPlaceholder(manifest.target_kind);
}

// Returns true if the trigger names the workload that owns the counted GPUs.
bool NamesWorkload(const OurTrigger& our) {
  return our.settings && !our.settings->workload.empty();
}

bool IsOfKind(const OurTrigger& our, absl::string_view kind) {
  return absl::EqualsIgnoreCase(our.settings->workload_kind, kind);
}

// KServe names the Deployment of an InferenceService like this, so its pods belong to both.
bool IsPredictorOf(const Manifest& manifest, const OurTrigger& our) {
  return IsOfKind(our, "InferenceService") &&
         absl::EqualsIgnoreCase(manifest.target_kind, "Deployment") &&
         manifest.target_name == absl::StrCat(our.settings->workload, "-predictor");
}

bool NamesAnother(const Manifest& manifest, const OurTrigger& our) {
  return NamesWorkload(our) && NamesTarget(manifest) &&
         our.settings->workload != manifest.target_name && !IsPredictorOf(manifest, our);
}

// Only kinds with known pods are compared. An operator's kind may have pods of any kind: it may
// create a Deployment of the same name.
bool NamesAnotherKind(const Manifest& manifest, const OurTrigger& our) {
  return NamesWorkload(our) && our.settings->workload == manifest.target_name &&
         !our.settings->workload_kind.empty() && IsWorkloadKind(manifest.target_kind) &&
         !IsOfKind(our, manifest.target_kind);
}

bool NamesAlikeKind(const Manifest& manifest, const OurTrigger& our) {
  return NamesAnotherKind(manifest, our) &&
         HaveSamePodNames(our.settings->workload_kind, manifest.target_kind);
}

// Returns true if pods of the named kind never belong to the scale target.
bool NamesUnlikeKind(const Manifest& manifest, const OurTrigger& our) {
  return NamesAnotherKind(manifest, our) && !NamesAlikeKind(manifest, our);
}

std::string WorkloadText(const Trigger& trigger) {
  return absl::StrCat(trigger.workload_kind, trigger.workload_kind.empty() ? "" : "/",
                      trigger.workload);
}

// Returns true if nothing names the workload that owns the counted GPUs. The ScaledObject's name is
// a hint only if it equals the target's.
bool IsGuessed(const Manifest& manifest, const OurTrigger& our) {
  return our.settings && our.settings->scope == Scope::kWorkload &&
         our.settings->workload.empty() && our.settings->pod_regex == nullptr &&
         NamesTarget(manifest) && !HasPlaceholder(manifest.name) &&
         manifest.target_name != manifest.name;
}

std::optional<Complaint> GuessedWorkload(const Manifest& manifest,
                                         const std::vector<OurTrigger>& ours) {
  const auto our = std::ranges::find_if(
      ours, [&](const OurTrigger& trigger) { return IsGuessed(manifest, trigger); });
  if (our == ours.end()) return std::nullopt;
  const absl::string_view why =
      GoesToZero(manifest)
          ? " is at zero, any other workload that is alone in the namespace to hold GPUs is taken "
            "for it, and wakes it"
          : " has no pod on a GPU, any other workload that is alone in the namespace to hold GPUs "
            "is taken for it";
  return Complaint{absl::StrCat("the workload is a guess: while ", manifest.target_name, why,
                                "; add workload: ", manifest.target_name,
                                " to the metadata, or name the ScaledObject like it"),
                   our->written->line};
}

std::optional<Complaint> LoadOfAnother(const Manifest& manifest,
                                       const std::vector<OurTrigger>& ours) {
  const auto our = std::ranges::find_if(
      ours, [&](const OurTrigger& trigger) { return NamesAnother(manifest, trigger); });
  if (our == ours.end()) return std::nullopt;
  return Complaint{absl::StrCat("scales ", manifest.target_kind, "/", manifest.target_name,
                                " on the load of ", WorkloadText(*our->settings),
                                ": its replicas are counted, and the target is for each of them"),
                   our->written->LineOf({"workload"})};
}

std::string TargetText(const Manifest& manifest) {
  return absl::StrCat(manifest.target_kind, "/", manifest.target_name);
}

// Returns the finding that `workload` has the name of the scale target but another kind; `why`
// states the consequence.
Complaint OtherKindComplaint(const Manifest& manifest, const OurTrigger& our,
                             absl::string_view why) {
  return {absl::StrCat("workload ", WorkloadText(*our.settings),
                       " has the name of what is scaled, ", TargetText(manifest),
                       ", and is of another kind: ", why, "; use workload: ", TargetText(manifest)),
          our.written->LineOf({"workload"})};
}

std::optional<Complaint> KindOfAnother(const Manifest& manifest,
                                       const std::vector<OurTrigger>& ours) {
  const auto our = std::ranges::find_if(
      ours, [&](const OurTrigger& trigger) { return NamesUnlikeKind(manifest, trigger); });
  if (our == ours.end()) return std::nullopt;
  return OtherKindComplaint(manifest, *our, "what is scaled does not count");
}

std::optional<Complaint> KindAlike(const Manifest& manifest, const std::vector<OurTrigger>& ours) {
  const auto our = std::ranges::find_if(
      ours, [&](const OurTrigger& trigger) { return NamesAlikeKind(manifest, trigger); });
  if (our == ours.end()) return std::nullopt;
  // The StatefulSet of the leaders has the name of its LeaderWorkerSet.
  const bool is_of_leaders = absl::EqualsIgnoreCase(manifest.target_kind, "LeaderWorkerSet") &&
                             IsOfKind(*our, "StatefulSet");
  return OtherKindComplaint(manifest, *our,
                            is_of_leaders
                                ? "of what is scaled the leader of each group counts alone"
                                : "what is scaled counts where only the pods' names show "
                                  "their owners, and not where their owners are known");
}

// Returns nullptr if every named kind is known or is the scale target's, which therefore exists.
const OurTrigger* TriggerOfUnknownKind(const Manifest& manifest,
                                       const std::vector<OurTrigger>& ours) {
  const auto our = std::ranges::find_if(ours, [&](const OurTrigger& trigger) {
    return NamesWorkload(trigger) && !trigger.settings->workload_kind.empty() &&
           !IsWorkloadKind(trigger.settings->workload_kind) &&
           !IsOfKind(trigger, manifest.target_kind) && !NamesAnotherKind(manifest, trigger);
  });
  return our == ours.end() ? nullptr : &*our;
}

// Returns the kind that was probably meant, or "" if it may be a custom controller's. A typo keeps
// the first and last letter; TFJob and NIMService differ from Job and RayService in one of them.
absl::string_view IntendedKind(const Manifest& manifest, absl::string_view kind) {
  constexpr size_t kMostExtraLetters = 2;
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
                       longer - std::min(kind.size(), nearest.size()) <= kMostExtraLetters;
  return is_typo ? nearest : "";
}

Complaint UnknownKindComplaint(const OurTrigger& our, absl::string_view meant) {
  const std::string& kind = our.settings->workload_kind;
  return {absl::StrCat("workload ", WorkloadText(*our.settings), ": ", Quoted(kind),
                       " is no kind that pods are known to be of (", JoinedWithOr(WorkloadKinds()),
                       "), and of a controller of your own it is only where the kubelet's Pods API "
                       "lists owners",
                       meant.empty() ? "" : absl::StrCat("; did you mean ", Quoted(meant), "?")),
          our.written->LineOf({"workload"})};
}

std::optional<Complaint> MistypedKind(const Manifest& manifest,
                                      const std::vector<OurTrigger>& ours) {
  const OurTrigger* const our = TriggerOfUnknownKind(manifest, ours);
  if (our == nullptr) return std::nullopt;
  const absl::string_view meant = IntendedKind(manifest, our->settings->workload_kind);
  if (meant.empty()) return std::nullopt;
  return UnknownKindComplaint(*our, meant);
}

std::optional<Complaint> UnknownKind(const Manifest& manifest,
                                     const std::vector<OurTrigger>& ours) {
  const OurTrigger* const our = TriggerOfUnknownKind(manifest, ours);
  if (our == nullptr) return std::nullopt;
  if (!IntendedKind(manifest, our->settings->workload_kind).empty()) return std::nullopt;
  return UnknownKindComplaint(*our, "");
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

bool CountsAnother(const Manifest& manifest, const OurTrigger& our) {
  return NamesAnother(manifest, our) || NamesUnlikeKind(manifest, our);
}

}  // namespace gpuscaler
