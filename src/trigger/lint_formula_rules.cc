#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/nearest.h"
#include "trigger/formula.h"
#include "trigger/lint_rules.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

// Names of cpu and memory triggers are left out, as KEDA does.
std::vector<absl::string_view> TriggerNames(const Manifest& manifest) {
  std::vector<absl::string_view> names;
  for (const ManifestTrigger& trigger : manifest.triggers) {
    const bool is_of_pods = trigger.type == "cpu" || trigger.type == "memory";
    if (!trigger.name.empty() && !is_of_pods) names.push_back(trigger.name);
  }
  return names;
}

std::optional<RuleViolation> UnknownTriggerInFormula(const Manifest& manifest,
                                                     const std::vector<ScalerTrigger>&) {
  if (!manifest.formula) return std::nullopt;
  const std::vector<absl::string_view> names = TriggerNames(manifest);
  const std::vector<std::string> used = TriggersIn(manifest.formula->text);
  const auto unknown = std::ranges::find_if(
      used, [&](const std::string& name) { return std::ranges::find(names, name) == names.end(); });
  if (unknown == used.end()) return std::nullopt;
  const std::string known = names.empty() ? "no trigger has a name"
                                          : absl::StrCat("they are called ", JoinedWithOr(names));
  return RuleViolation{
      absl::StrCat("the formula names ", Quoted(*unknown),
                   ", and no trigger has that as its name (", known,
                   "): KEDA refuses the ScaledObject", DidYouMean(*unknown, names)),
      manifest.formula->line};
}

// Returns the trigger of this scaler with that name if it is always 0 at zero replicas, else
// nullptr.
const ScalerTrigger* ZeroWithoutReplicas(const Manifest& manifest,
                                         const std::vector<ScalerTrigger>& scaler_triggers,
                                         const std::string& name) {
  const auto scaler_trigger =
      std::ranges::find_if(scaler_triggers, [&](const ScalerTrigger& trigger) {
        return trigger.parsed && trigger.declaration->name == name &&
               !CanWake(manifest, *trigger.declaration, scaler_triggers);
      });
  return scaler_trigger == scaler_triggers.end() ? nullptr : &*scaler_trigger;
}

std::optional<RuleViolation> FormulaNeverWakes(const Manifest& manifest,
                                               const std::vector<ScalerTrigger>& scaler_triggers) {
  if (!manifest.formula || !GoesToZero(manifest)) return std::nullopt;
  for (const std::string& name : TriggersInMin(manifest.formula->text)) {
    const ScalerTrigger* const always_zero = ZeroWithoutReplicas(manifest, scaler_triggers, name);
    if (always_zero == nullptr) continue;
    return RuleViolation{
        absl::StrCat("it goes to zero (minReplicaCount is 0 unless given) and never wakes: there ",
                     Quoted(name), " (", InfoOf(always_zero->parsed->metric).name,
                     ") has no replica to read and is 0, and so is the formula's min(), whatever "
                     "waits; set minReplicaCount to 1"),
        manifest.formula->line};
  }
  return std::nullopt;
}

constexpr std::array<ObjectRule, 2> kFormulaRules = {{
    {{"formula-unknown-trigger", kError, "A formula uses a name that no trigger has."},
     UnknownTriggerInFormula},
    {{"formula-never-wakes", kWarning,
      "A formula that is a min() over replicas' metrics is 0 at zero replicas, for ever."},
     FormulaNeverWakes},
}};

}  // namespace

std::span<const ObjectRule> FormulaRules() { return kFormulaRules; }

}  // namespace gpuscaler
