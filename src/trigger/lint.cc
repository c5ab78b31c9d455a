#include "trigger/lint.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "trigger/grpc_target.h"
#include "trigger/lint_rules.h"
#include "trigger/manifest.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

constexpr LintRule kBadMetadata = {
    "bad-metadata", Finding::Severity::kError,
    "The scaler answers this metadata with INVALID_ARGUMENT, and KEDA scales nothing."};
constexpr LintRule kNotAString = {
    "metadata-not-a-string", Finding::Severity::kError,
    "Kubernetes takes only strings as metadata: numbers and true or false need quotes."};
constexpr LintRule kNotChecked = {"not-checked", Finding::Severity::kNote,
                                  "An external trigger that is not known for this scaler's."};

constexpr LintRule kNothingToCheck = {"nothing-to-check", Finding::Severity::kNote,
                                      "A file without a ScaledObject or ScaledJob."};

constexpr LintRule kNotAllowed = {"endpoint-not-allowed", Finding::Severity::kWarning,
                                  "An endpoint of another namespace, that the scaler reads only "
                                  "where its --allow-endpoints names "
                                  "it."};

constexpr absl::string_view kOurHostPart = "gpu-scaler";

// Keys that other external scalers have as well, so they do not identify a trigger of this scaler.
constexpr std::array<absl::string_view, 5> kCommonKeys = {"activationThreshold", "metricName",
                                                          "scope", "targetValue", "window"};
// Keys that do not identify it beside an address of an unknown host either.
constexpr std::array<absl::string_view, 3> kGenericKeys = {"aggregation", "metricType", "profile"};

template <size_t kSize>
bool Contains(const std::array<absl::string_view, kSize>& keys, absl::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

bool IsOurHost(absl::string_view host, const std::vector<std::string>& our_hosts) {
  return absl::StrContains(host, kOurHostPart) ||
         std::ranges::any_of(our_hosts, [host](const std::string& known) {
           return host == known || absl::StartsWith(host, absl::StrCat(known, "."));
         });
}

// Returns true if the trigger's address is this scaler's. If its host is unknown, two keys that
// only this scaler has are needed. Without an address one such key suffices, because no other
// scaler works without an address.
bool IsOurs(const ManifestTrigger& trigger, const std::vector<std::string>& our_hosts) {
  const LocatedText* address = trigger.ScalerAddress();
  if (address != nullptr && IsOurHost(GrpcTargetIn(address->text).host, our_hosts)) return true;
  const auto own_keys = std::ranges::count_if(trigger.metadata, [&](const auto& entry) {
    const absl::string_view key = NameIn(entry.first).name;
    return FindKey(key) != nullptr && !Contains(kCommonKeys, key) &&
           !(address != nullptr && Contains(kGenericKeys, key));
  });
  return own_keys >= (address != nullptr ? 2 : 1);
}

RuleViolation NotChecked(const ManifestTrigger& trigger) {
  const LocatedText* address = trigger.ScalerAddress();
  if (address == nullptr) {
    return {"not checked: it has no scalerAddress, and no key of this scaler", trigger.line};
  }
  const absl::string_view host = GrpcTargetIn(address->text).host;
  const bool is_host = !host.empty() && !HasPlaceholder(address->text);
  return {absl::StrCat("not checked: ", Quoted(is_host ? host : address->text),
                       " is not known to be this scaler (known by \"", kOurHostPart,
                       "\" in the host's name, or by two keys that only it has); if it is, name it "
                       "with --scaler-address"),
          address->line};
}

bool IsOurFromEnv(absl::string_view key) {
  const KeyName spelled = NameIn(key);
  return spelled.from_env && FindKey(spelled.name) != nullptr;
}

// Returns true if this is a key of this scaler, and its value is a placeholder.
bool IsFilledIn(const ManifestTrigger& declaration, absl::string_view key) {
  const auto found = declaration.metadata.find(key);
  return FindKey(key) != nullptr && found != declaration.metadata.end() &&
         HasPlaceholder(found->second.text);
}

// A FromEnv key has a variable of the workload, not the value, so only the key's name is checked; a
// missing secret changes no setting. A placeholder is not the value either.
ScalerTrigger ReadScalerTrigger(const ManifestTrigger& declaration, const Manifest& manifest,
                                const Profiles& profiles, const RelatedObjects& related_objects) {
  Metadata metadata;
  bool settings_are_known = true;
  for (const auto& [key, value] : declaration.metadata) {
    metadata[key] = value.text;
    const bool only_from_env =
        IsOurFromEnv(key) && !declaration.metadata.contains(NameIn(key).name);
    if (only_from_env && !FindKey(NameIn(key).name)->secret) {
      settings_are_known = false;
    }
    if (IsFilledIn(declaration, key)) settings_are_known = false;
  }
  ScalerTrigger scaler_trigger{.declaration = &declaration,
                               .metadata = ParseMetadata(metadata, profiles),
                               .parsed = {},
                               .endpoint = {}};
  std::erase_if(scaler_trigger.metadata.faults, [&declaration](const Fault& fault) {
    return IsOurFromEnv(fault.key) || IsFilledIn(declaration, fault.key);
  });
  if (settings_are_known && scaler_trigger.metadata.faults.empty())
    scaler_trigger.parsed = TriggerOf(scaler_trigger.metadata.settings);
  if (scaler_trigger.parsed)
    scaler_trigger.endpoint = EndpointNamedBy(*scaler_trigger.parsed, manifest, related_objects);
  return scaler_trigger;
}

class ManifestLinter {
 public:
  ManifestLinter(const Manifest& manifest, const Profiles& profiles, const LintContext& context,
                 const RelatedObjects& related_objects)
      : manifest_(manifest), context_(context) {
    std::vector<ScalerTrigger> scaler_triggers;
    for (size_t i = 0; i < manifest.triggers.size(); ++i) {
      const ManifestTrigger& trigger = manifest.triggers[i];
      if (!trigger.IsExternal()) continue;
      const std::string object = absl::StrCat(manifest.Title(), ", trigger ", i);
      if (IsOurs(trigger, context.our_hosts)) {
        scaler_triggers.push_back(ReadScalerTrigger(trigger, manifest, profiles, related_objects));
        scaler_triggers.back().finds_engines = context.finds_engines;
        scaler_triggers.back().target = related_objects.WorkloadNamed(
            manifest.target_kind, manifest.target_name, manifest.namespace_name);
        CheckTrigger(scaler_triggers.back(), object);
      } else {
        Add(kNotChecked, NotChecked(trigger), object);
      }
    }
    if (scaler_triggers.empty()) return;
    for (const std::span<const ObjectRule> rows : {ObjectRules(), RelatedObjectRules()}) {
      for (const ObjectRule& row : rows) {
        Add(row.rule, row.check(manifest, scaler_triggers), manifest.Title());
      }
    }
  }

  std::vector<Finding> Take() && { return std::move(findings_); }

 private:
  void CheckTrigger(const ScalerTrigger& scaler_trigger, const std::string& object) {
    for (const TriggerRule& row : AddressRules()) Add(row.rule, row.check(scaler_trigger), object);
    for (const auto& [key, value] : scaler_trigger.declaration->metadata) {
      if (value.is_string) continue;
      Add(kNotAString,
          RuleViolation{absl::StrCat(Quoted(key),
                                     " is not a string: Kubernetes refuses the manifest; "
                                     "write it in quotes"),
                        value.line},
          object);
    }
    for (const Fault& fault : scaler_trigger.metadata.faults) {
      Add(kBadMetadata,
          RuleViolation{fault.message, scaler_trigger.declaration->LineOf({fault.key})}, object);
    }
    if (!scaler_trigger.parsed) return;
    CheckSource(scaler_trigger, object);
    for (const TriggerRule& row : TriggerRules()) Add(row.rule, row.check(scaler_trigger), object);
  }

  // Permission errors are ignored if the file has no namespace: its own hosts are then unknown.
  void CheckSource(const ScalerTrigger& scaler_trigger, const std::string& object) {
    if (context_.check_source == nullptr) return;
    CheckSource(scaler_trigger, SourceOf(*scaler_trigger.parsed, manifest_.namespace_name),
                scaler_trigger.parsed->endpoint_key, object);
    CheckSource(scaler_trigger, GatewayOf(*scaler_trigger.parsed, manifest_.namespace_name),
                scaler_trigger.parsed->gateway_key, object);
  }

  void CheckSource(const ScalerTrigger& scaler_trigger, const std::optional<SignalSource>& source,
                   absl::string_view endpoint_key, const std::string& object) {
    if (!source.has_value()) return;
    const absl::Status status = context_.check_source(*source, endpoint_key);
    const bool is_denied = absl::IsPermissionDenied(status);
    if (status.ok() || (is_denied && manifest_.namespace_name.empty())) return;
    const std::string message(status.message());  // "redisAddress: ..."
    const int line = scaler_trigger.declaration->LineOf({message.substr(0, message.find(':'))});
    Add(is_denied ? kNotAllowed : kBadMetadata, RuleViolation{message, line}, object);
  }

  void Add(const LintRule& rule, const std::optional<RuleViolation>& violation,
           const std::string& object) {
    if (!violation) return;
    findings_.push_back({.severity = rule.severity,
                         .rule = std::string(rule.id),
                         .message = violation->message,
                         .object = object,
                         .line = violation->line});
  }

  const Manifest& manifest_;
  const LintContext& context_;
  std::vector<Finding> findings_;
};

// A file needs no ScaledObject if another file of the same run has one.
std::optional<Finding> NothingToCheck(const ManifestFile& file, const LintContext& context) {
  const std::optional<LocatedText>& mistyped = file.mistyped_kind;
  const bool has_some = !file.manifests.empty() || context.has_objects_beside;
  if (!mistyped && has_some) return std::nullopt;
  const std::string why =
      mistyped ? absl::StrCat("kind ", Quoted(mistyped->text), " is passed over; did you mean ",
                              Quoted(CorrectedKind(mistyped->text)), "?")
               : "no ScaledObject or ScaledJob in it";
  return Finding{.severity = kNothingToCheck.severity,
                 .rule = std::string(kNothingToCheck.id),
                 .message = why,
                 .object = "the file",
                 .line = mistyped ? mistyped->line : 1};
}

}  // namespace

absl::string_view Name(Finding::Severity severity) {
  switch (severity) {
    case Finding::Severity::kError:
      return "error";
    case Finding::Severity::kWarning:
      return "warning";
    case Finding::Severity::kNote:
      return "note";
  }
  return "";
}

std::vector<Finding> Lint(const ManifestFile& file, const Profiles& profiles,
                          const LintContext& context) {
  RelatedObjects related_objects = file.related_objects;
  related_objects.Add(context.applied_with);
  std::vector<Finding> findings;
  if (auto nothing = NothingToCheck(file, context)) findings.push_back(*std::move(nothing));
  for (const Manifest& manifest : file.manifests) {
    for (Finding& finding : ManifestLinter(manifest, profiles, context, related_objects).Take()) {
      findings.push_back(std::move(finding));
    }
  }
  std::ranges::stable_sort(findings, {}, &Finding::line);
  return findings;
}

std::vector<LintRule> LintRules() {
  std::vector<LintRule> rules = {kBadMetadata, kNotAString};
  for (const TriggerRule& row : AddressRules()) rules.push_back(row.rule);
  rules.insert(rules.end(), {kNotAllowed, kNotChecked, kNothingToCheck});
  for (const TriggerRule& row : TriggerRules()) rules.push_back(row.rule);
  for (const ObjectRule& row : ObjectRules()) rules.push_back(row.rule);
  for (const ObjectRule& row : RelatedObjectRules()) rules.push_back(row.rule);
  return rules;
}

}  // namespace gpuscaler
