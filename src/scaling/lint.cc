#include "scaling/lint.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "scaling/lint_rules.h"
#include "scaling/manifest.h"
#include "scaling/trigger_source.h"

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
constexpr LintRule kNotChecked = {"not-checked", Finding::Severity::kNote,
                                  "An external trigger that is not known for this scaler's."};

constexpr LintRule kNotAllowed = {"endpoint-not-allowed", Finding::Severity::kWarning,
                                  "An endpoint of another namespace, that the scaler reads only "
                                  "where its --allow-endpoints names "
                                  "it."};

constexpr absl::string_view kInOurHosts = "gpu-scaler";

// Keys that scalers of other people have as well: they do not tell whose a trigger is.
constexpr std::array<absl::string_view, 5> kCommonKeys = {"activationThreshold", "metricName",
                                                          "scope", "targetValue", "window"};
// Nor do these beside an address that is not known for ours.
constexpr std::array<absl::string_view, 3> kPlainKeys = {"aggregation", "metricType", "profile"};

template <size_t kSize>
bool Contains(const std::array<absl::string_view, kSize>& keys, absl::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

// Of "host:port" or, as gRPC has it too, "dns:///host:port".
absl::string_view HostOf(absl::string_view address) {
  address.remove_prefix(address.rfind('/') + 1);
  return address.substr(0, address.find(':'));
}

bool IsOurHost(absl::string_view host, const std::vector<std::string>& our_hosts) {
  return absl::StrContains(host, kInOurHosts) ||
         std::ranges::any_of(our_hosts, [host](const std::string& our) {
           return host == our || absl::StartsWith(host, absl::StrCat(our, "."));
         });
}

// By its address; one that says nothing may still have two keys that only ours has. Without any
// address one key is enough: nobody else's works like that.
bool IsOurs(const ManifestTrigger& trigger, const std::vector<std::string>& our_hosts) {
  const auto address = trigger.metadata.find("scalerAddress");
  const bool has_address = address != trigger.metadata.end();
  if (has_address && IsOurHost(HostOf(address->second.text), our_hosts)) return true;
  const auto telling = std::ranges::count_if(trigger.metadata, [&](const auto& entry) {
    const absl::string_view key = NameIn(entry.first).name;
    return FindKey(key) != nullptr && !Contains(kCommonKeys, key) &&
           !(has_address && Contains(kPlainKeys, key));
  });
  return telling >= (has_address ? 2 : 1);
}

Complaint NotChecked(const ManifestTrigger& trigger) {
  const auto address = trigger.metadata.find("scalerAddress");
  if (address == trigger.metadata.end()) {
    return {"not checked: it has no scalerAddress, and no key of this scaler", trigger.line};
  }
  const absl::string_view host = HostOf(address->second.text);
  return {absl::StrCat("not checked: ", Quoted(host),
                       " is not known to be this scaler (known by \"", kInOurHosts,
                       "\" in the host's name, or by two keys that only it has); if it is, name it "
                       "with --scaler-address"),
          address->second.line};
}

bool IsOurFromEnv(absl::string_view key) {
  const KeyName spelled = NameIn(key);
  return spelled.from_env && FindKey(spelled.name) != nullptr;
}

// A FromEnv key names a variable of the workload here, not the value: only its name can be judged,
// and a secret's does not matter.
OurTrigger ReadOurTrigger(const ManifestTrigger& written, const Manifest& manifest,
                          const Profiles& profiles, const Surroundings& surroundings) {
  Metadata metadata;
  bool settings_are_known = true;
  for (const auto& [key, value] : written.metadata) {
    metadata[key] = value.text;
    const bool only_from_env = IsOurFromEnv(key) && !written.metadata.contains(NameIn(key).name);
    if (only_from_env && !FindKey(NameIn(key).name)->secret) {
      settings_are_known = false;
    }
  }
  OurTrigger our{.written = &written,
                 .reading = ReadMetadata(metadata, profiles),
                 .settings = {},
                 .endpoint = {}};
  std::erase_if(our.reading.faults, [](const Fault& fault) { return IsOurFromEnv(fault.key); });
  if (settings_are_known && our.reading.faults.empty()) our.settings = TriggerOf(our.reading);
  if (our.settings) our.endpoint = EndpointNamedBy(*our.settings, manifest, surroundings);
  return our;
}

class FindingsOf {
 public:
  FindingsOf(const Manifest& manifest, const Profiles& profiles, const LintContext& context,
             const Surroundings& surroundings)
      : manifest_(manifest), context_(context) {
    std::vector<OurTrigger> ours;
    for (size_t i = 0; i < manifest.triggers.size(); ++i) {
      const ManifestTrigger& trigger = manifest.triggers[i];
      if (!trigger.IsExternal()) continue;
      const std::string object = absl::StrCat(manifest.Title(), ", trigger ", i);
      if (IsOurs(trigger, context.our_hosts)) {
        ours.push_back(ReadOurTrigger(trigger, manifest, profiles, surroundings));
        CheckTrigger(ours.back(), object);
      } else {
        Add(kNotChecked, NotChecked(trigger), object);
      }
    }
    if (ours.empty()) return;
    for (const std::span<const ObjectRule> rows : {ObjectRules(), SurroundingRules()}) {
      for (const ObjectRule& row : rows) {
        Add(row.rule, row.check(manifest, ours), manifest.Title());
      }
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
    CheckSource(our, object);
    for (const TriggerRule& row : TriggerRules()) Add(row.rule, row.check(our), object);
  }

  // Without a namespace in the file nobody knows whose hosts are its own.
  void CheckSource(const OurTrigger& our, const std::string& object) {
    if (context_.check_source == nullptr) return;
    const auto source = SourceOf(
        *our.settings,
        {.namespace_name = manifest_.namespace_name, .name = manifest_.name, .opened = {}});
    if (!source.has_value()) return;
    const absl::Status status = context_.check_source(*source);
    const bool is_denied = absl::IsPermissionDenied(status);
    if (status.ok() || (is_denied && manifest_.namespace_name.empty())) return;
    const std::string message(status.message());  // "redisAddress: ..."
    const int line = our.written->LineOf({message.substr(0, message.find(':'))});
    Add(is_denied ? kNotAllowed : kBadMetadata, Complaint{message, line}, object);
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

  const Manifest& manifest_;
  const LintContext& context_;
  std::vector<Finding> findings_;
};

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

absl::StatusOr<std::vector<Finding>> Lint(absl::string_view yaml, const Profiles& profiles,
                                          const LintContext& context) {
  ASSIGN_OR_RETURN(const std::vector<Manifest> manifests, ReadManifests(yaml));
  ASSIGN_OR_RETURN(Surroundings surroundings, ReadSurroundings(yaml));
  surroundings.Add(context.beside);
  std::vector<Finding> findings;
  for (const Manifest& manifest : manifests) {
    for (Finding& finding : FindingsOf(manifest, profiles, context, surroundings).Take()) {
      findings.push_back(std::move(finding));
    }
  }
  std::ranges::stable_sort(findings, {}, &Finding::line);
  return findings;
}

std::vector<LintRule> LintRules() {
  std::vector<LintRule> rules = {kBadMetadata, kNotAString, kNoAddress, kNotAllowed, kNotChecked};
  for (const TriggerRule& row : TriggerRules()) rules.push_back(row.rule);
  for (const ObjectRule& row : ObjectRules()) rules.push_back(row.rule);
  for (const ObjectRule& row : SurroundingRules()) rules.push_back(row.rule);
  return rules;
}

}  // namespace gpuscaler
