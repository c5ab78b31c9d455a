#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/nearest.h"
#include "base/status_macros.h"
#include "trigger/metadata_parser.h"
#include "trigger/profile.h"
#include "trigger/trigger_keys.h"
#include "trigger/trigger_words.h"
#include "trigger/yaml_documents.h"

namespace gpuscaler {
namespace {

// The largest size of a ConfigMap.
constexpr size_t kLargestFileBytes = 1 << 20;
constexpr size_t kMaxProfiles = 1000;

// Keys of the trigger's metadata that a profile may set.
constexpr absl::string_view kMetadataKeys[] = {
    "metricType",       "targetValue", "activationThreshold", "window",
    "activationWindow", "scaleIn",     "warmupSeconds",
};

// Returns the keys of a profile that are no keys of metadata.
const std::vector<KeyRow>& OwnKeys() {
  static const auto& keys = *new std::vector<KeyRow>{
      {.name = "extends",
       .allowed = "a built-in profile, or one above it in the file",
       .help = "The profile to start from; the other keys go on top of it"},
      {.name = "description", .allowed = "any text", .help = "What the profile is for"},
      {.name = "standingMemory",
       .allowed = JoinedWithOr(AllWords<PreallocatedMemory>()),
       .help =
           "What a replica with preallocated VRAM counts: literal, its VRAM as read; pressure, how "
           "full its engine is, or engineFallback while none is read; activity, the target "
           "while it was busy within activationWindow, else 0. Of metricType memory_used_percent "
           "only; that of the profile it extends, else activity"},
  };
  return keys;
}

constexpr char kExample[] = R"(profiles:
  our-llm:
    extends: vllm-inference
    description: Llama on the nodes with 80 GB
    targetValue: 70
)";

struct Draft {
  std::string help;
  Settings settings;
  std::optional<PreallocatedMemory> preallocated_memory;
};

absl::Status ErrorAt(const YAML::Node& node, absl::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", std::max(node.Mark().line + 1, 1), ": ", message));
}

std::vector<absl::string_view> AllKeys() {
  std::vector<absl::string_view> keys(std::begin(kMetadataKeys), std::end(kMetadataKeys));
  for (const KeyRow& key : OwnKeys()) keys.push_back(key.name);
  return keys;
}

std::vector<absl::string_view> NamesOf(const Profiles& profiles) {
  std::vector<absl::string_view> names;
  for (const auto& [name, profile] : profiles) names.push_back(name);
  return names;
}

std::string Assignment(const Draft& draft, absl::string_view key, absl::string_view value) {
  return absl::StrCat("profile ", Quoted(draft.settings.trigger.profile), ": ", key, "=",
                      Quoted(value), ": ");
}

absl::Status ReadExtends(const YAML::Node& value, const Profiles& profiles, Draft& draft) {
  const auto found = profiles.find(value.Scalar());
  if (found == profiles.end()) {
    return ErrorAt(value, absl::StrCat(Assignment(draft, "extends", value.Scalar()),
                                       "no such profile above it or built in",
                                       DidYouMean(value.Scalar(), NamesOf(profiles))));
  }
  const std::string name = draft.settings.trigger.profile;
  draft.help = found->second.help;
  draft.settings.trigger = found->second.trigger;
  draft.settings.trigger.profile = name;
  return absl::OkStatus();
}

absl::Status ReadOwnKey(absl::string_view key, const YAML::Node& value, Draft& draft) {
  if (key == "description") draft.help = value.Scalar();
  if (key != "standingMemory") return absl::OkStatus();
  draft.preallocated_memory = FromWord<PreallocatedMemory>(value.Scalar());
  if (draft.preallocated_memory) return absl::OkStatus();
  const std::vector<absl::string_view> words = AllWords<PreallocatedMemory>();
  return ErrorAt(value, absl::StrCat(Assignment(draft, key, value.Scalar()), "use ",
                                     JoinedWithOr(words), DidYouMean(value.Scalar(), words)));
}

absl::Status ReadKey(const YAML::Node& key, const YAML::Node& value, Draft& draft) {
  const std::string& name = key.Scalar();
  if (std::ranges::count(OwnKeys(), name, &KeyRow::name) > 0) {
    return ReadOwnKey(name, value, draft);
  }
  if (std::ranges::find(kMetadataKeys, name) == std::end(kMetadataKeys)) {
    const std::vector<absl::string_view> known = AllKeys();
    return ErrorAt(key, absl::StrCat(Assignment(draft, Quoted(name), value.Scalar()), "use ",
                                     JoinedWithOr(known), DidYouMean(name, known)));
  }
  const KeyRow& row = *FindKey(name);
  if (row.read(value.Scalar(), draft.settings)) return absl::OkStatus();
  return ErrorAt(value,
                 absl::StrCat(Assignment(draft, name, value.Scalar()), row.Advice(value.Scalar())));
}

// Preallocated VRAM does not depend on the load, in any profile.
PreallocatedMemory DefaultPreallocatedMemory(const Trigger& base, MetricType metric) {
  if (metric != MetricType::kMemoryUsedPercent) return PreallocatedMemory::kLiteral;
  return base.metric == metric ? base.preallocated_memory : PreallocatedMemory::kActivity;
}

Profile MakeProfile(const Draft& draft) {
  const Trigger& base = draft.settings.trigger;
  Trigger trigger = TriggerOf(draft.settings);
  trigger.preallocated_memory =
      draft.preallocated_memory.value_or(DefaultPreallocatedMemory(base, trigger.metric));
  return {.help = draft.help, .trigger = std::move(trigger)};
}

absl::StatusOr<Profile> ReadProfile(const YAML::Node& name, const YAML::Node& body,
                                    const Profiles& profiles) {
  Draft draft;
  const std::string text = name.IsScalar() ? name.Scalar() : "";
  draft.settings.trigger.profile = text;
  if (!IsPathSafe(text)) {
    return ErrorAt(name, absl::StrCat("profile ", Quoted(text),
                                      ": use letters, digits, - _ or . (it names the metric)"));
  }
  if (!body.IsMap()) {
    return ErrorAt(name, absl::StrCat("profile ", Quoted(text), ": use keys, one of ",
                                      JoinedWithOr(AllKeys())));
  }
  if (const YAML::Node extends = body["extends"]; extends.IsDefined() && extends.IsScalar()) {
    RETURN_IF_ERROR(ReadExtends(extends, profiles, draft));  // first: all other keys override it
  }
  std::set<std::string> seen;
  for (const auto& entry : body) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar()) {
      return ErrorAt(entry.first,
                     absl::StrCat("profile ", Quoted(text), ": a key has one plain value"));
    }
    if (!seen.insert(entry.first.Scalar()).second) {
      return ErrorAt(entry.first, absl::StrCat("profile ", Quoted(text), ": ",
                                               Quoted(entry.first.Scalar()), " is there twice"));
    }
    RETURN_IF_ERROR(ReadKey(entry.first, entry.second, draft));
  }
  if (draft.preallocated_memory && draft.settings.metric.value_or(draft.settings.trigger.metric) !=
                                       MetricType::kMemoryUsedPercent) {
    return ErrorAt(name, absl::StrCat("profile ", Quoted(text),
                                      ": standingMemory needs metricType memory_used_percent"));
  }
  return MakeProfile(draft);
}

absl::StatusOr<Profiles> ReadDocument(const YAML::Node& document) {
  Profiles profiles = BuiltInProfiles();
  if (!document.IsDefined() || document.IsNull()) return profiles;
  if (!document.IsMap()) return ErrorAt(document, "use a map with the one key \"profiles\"");
  for (const auto& entry : document) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != "profiles") {
      return ErrorAt(entry.first, "use the one key \"profiles\"");
    }
    if (entry.second.IsNull()) continue;
    if (!entry.second.IsMap()) return ErrorAt(entry.second, "profiles: use a map of profiles");
    if (entry.second.size() > kMaxProfiles) {
      return ErrorAt(entry.second, absl::StrCat("use at most ", kMaxProfiles, " profiles"));
    }
    std::set<std::string> seen;
    for (const auto& named : entry.second) {
      ASSIGN_OR_RETURN(Profile profile, ReadProfile(named.first, named.second, profiles));
      const std::string name = profile.trigger.profile;
      if (!seen.insert(name).second) {
        return ErrorAt(named.first, absl::StrCat("profile ", Quoted(name), " is there twice"));
      }
      profiles[name] = std::move(profile);
    }
  }
  return profiles;
}

}  // namespace

std::vector<KeyRow> ProfileKeys() {
  std::vector<KeyRow> keys = OwnKeys();
  for (const absl::string_view name : kMetadataKeys) keys.push_back(*FindKey(name));
  return keys;
}

absl::string_view ExampleProfiles() { return kExample; }

absl::StatusOr<Profiles> ParseProfiles(absl::string_view yaml) {
  if (yaml.size() > kLargestFileBytes) {
    return absl::InvalidArgumentError("profiles: use at most 1 MiB");
  }
  try {
    const OnlyDocument only = OnlyYamlDocument(yaml);
    if (only.second_line > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", only.second_line, ": a second document: use one alone"));
    }
    return ReadDocument(only.root);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", std::max(error.mark.line + 1, 1), ": ", error.msg));
  }
}

}  // namespace gpuscaler
