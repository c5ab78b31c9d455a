#include "scaling/lint.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "scaling/lint_manifest.h"
#include "scaling/lint_rules.h"

namespace gpuscaler {
namespace {

constexpr LintRule kBadMetadata = {
    "bad-metadata", Finding::Severity::kError,
    "The scaler answers this metadata with INVALID_ARGUMENT, and KEDA scales nothing."};
constexpr LintRule kNotAString = {
    "metadata-not-a-string", Finding::Severity::kError,
    "Kubernetes takes only strings as metadata: numbers and true or false want quotes."};
constexpr LintRule kNoAddress = {"no-scaler-address", Finding::Severity::kError,
                                 "KEDA needs scalerAddress to find the scaler."};

// Keys that scalers of other people have as well: they do not tell whose a trigger is.
constexpr std::array<absl::string_view, 5> kCommonKeys = {"activationThreshold", "metricName",
                                                          "scope", "targetValue", "window"};
// Nor do these beside an address that is not known for ours.
constexpr std::array<absl::string_view, 3> kPlainKeys = {"aggregation", "metricType", "profile"};

template <size_t kSize>
bool Contains(const std::array<absl::string_view, kSize>& keys, absl::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

// By its address; one that says nothing may still have two keys that only ours has. Without any
// address one key is enough: nobody else's works like that.
bool IsOurs(const ManifestTrigger& trigger) {
  if (trigger.type != "external" && trigger.type != "external-push") return false;
  const auto address = trigger.metadata.find("scalerAddress");
  const bool has_address = address != trigger.metadata.end();
  if (has_address && absl::StrContains(address->second.text, "gpu-scaler")) return true;
  const auto telling = std::ranges::count_if(trigger.metadata, [&](const auto& entry) {
    const absl::string_view key = NameIn(entry.first).name;
    return FindKey(key) != nullptr && !Contains(kCommonKeys, key) &&
           !(has_address && Contains(kPlainKeys, key));
  });
  return telling >= (has_address ? 2 : 1);
}

bool IsOurFromEnv(absl::string_view key) {
  const KeyName spelled = NameIn(key);
  return spelled.from_env && FindKey(spelled.name) != nullptr;
}

// A FromEnv key names a variable of the workload here, not the value: only its name can be judged.
OurTrigger ReadOurTrigger(const ManifestTrigger& written, const Profiles& profiles) {
  Metadata metadata;
  bool settings_are_known = true;
  for (const auto& [key, value] : written.metadata) {
    metadata[key] = value.text;
    if (IsOurFromEnv(key) && !written.metadata.contains(NameIn(key).name)) {
      settings_are_known = false;
    }
  }
  OurTrigger our{.written = &written, .reading = ReadMetadata(metadata, profiles), .settings = {}};
  std::erase_if(our.reading.faults, [](const Fault& fault) { return IsOurFromEnv(fault.key); });
  if (settings_are_known && our.reading.faults.empty()) our.settings = TriggerOf(our.reading);
  return our;
}

class FindingsOf {
 public:
  FindingsOf(const Manifest& manifest, const Profiles& profiles) {
    std::vector<OurTrigger> ours;
    for (size_t i = 0; i < manifest.triggers.size(); ++i) {
      if (!IsOurs(manifest.triggers[i])) continue;
      ours.push_back(ReadOurTrigger(manifest.triggers[i], profiles));
      CheckTrigger(ours.back(), absl::StrCat(manifest.object, ", trigger ", i));
    }
    if (ours.empty()) return;
    for (const ObjectRule& row : ObjectRules()) {
      Add(row.rule, row.check(manifest, ours), manifest.object);
    }
  }

  std::vector<Finding> Take() && { return std::move(findings_); }

 private:
  void CheckTrigger(const OurTrigger& our, const std::string& object) {
    const auto& metadata = our.written->metadata;
    if (!metadata.contains("scalerAddress")) {
      Add(kNoAddress,
          Complaint{"scalerAddress is missing: KEDA refuses the trigger", our.written->line},
          object);
    }
    for (const auto& [key, value] : metadata) {
      if (value.is_string) continue;
      Add(kNotAString,
          Complaint{absl::StrCat(Quoted(key),
                                 " is not a string: Kubernetes refuses the manifest; "
                                 "write it in quotes"),
                    value.line},
          object);
    }
    for (const Fault& fault : our.reading.faults) {
      Add(kBadMetadata, Complaint{fault.message, our.written->LineOf({fault.key})}, object);
    }
    if (!our.settings) return;
    for (const TriggerRule& row : TriggerRules()) Add(row.rule, row.check(our), object);
  }

  void Add(const LintRule& rule, const std::optional<Complaint>& complaint,
           const std::string& object) {
    if (!complaint) return;
    findings_.push_back({.severity = rule.severity,
                         .rule = std::string(rule.id),
                         .message = complaint->message,
                         .object = object,
                         .line = complaint->line});
  }

  std::vector<Finding> findings_;
};

}  // namespace

absl::StatusOr<std::vector<Finding>> Lint(absl::string_view yaml, const Profiles& profiles) {
  ASSIGN_OR_RETURN(const std::vector<Manifest> manifests, ReadManifests(yaml));
  std::vector<Finding> findings;
  for (const Manifest& manifest : manifests) {
    for (Finding& finding : FindingsOf(manifest, profiles).Take()) {
      findings.push_back(std::move(finding));
    }
  }
  std::ranges::stable_sort(findings, {}, &Finding::line);
  return findings;
}

std::vector<LintRule> LintRules() {
  std::vector<LintRule> rules = {kBadMetadata, kNotAString, kNoAddress};
  for (const TriggerRule& row : TriggerRules()) rules.push_back(row.rule);
  for (const ObjectRule& row : ObjectRules()) rules.push_back(row.rule);
  return rules;
}

}  // namespace gpuscaler
