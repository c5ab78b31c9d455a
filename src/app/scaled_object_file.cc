#include "app/scaled_object_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lint/manifest_file.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

// Of KEDA, for a manifest that says nothing.
constexpr int kDefaultMinReplicas = 0;
constexpr int kDefaultMaxReplicas = 100;

int ValueOr(const std::optional<NumberAt>& number, int otherwise) {
  return number ? number->value : otherwise;
}

TriggerToAsk AskFor(const Manifest& manifest, size_t index) {
  const ManifestTrigger& trigger = manifest.triggers[index];
  TriggerToAsk ask;
  ask.ref = {.name = manifest.name, .namespace_name = manifest.namespace_name, .metadata = {}};
  for (const auto& [key, value] : trigger.metadata) {
    if (NameIn(key).from_env) {
      ask.left_out.push_back(key);
    } else {
      ask.ref.metadata[key] = value.text;
    }
  }
  ask.title = absl::StrCat(manifest.Title(), ", trigger ", index);
  if (trigger.metric_type.text == "Value") ask.target_type = TargetType::kValue;
  ask.is_job = manifest.is_job;
  ask.min_replicas = ValueOr(manifest.min_replicas, kDefaultMinReplicas);
  ask.max_replicas = ValueOr(manifest.max_replicas, kDefaultMaxReplicas);
  return ask;
}

}  // namespace

absl::StatusOr<std::vector<TriggerToAsk>> TriggersOfYaml(absl::string_view yaml) {
  ASSIGN_OR_RETURN(ManifestFile file, ReadManifestFile(yaml));
  std::vector<TriggerToAsk> triggers;
  for (Manifest& manifest : file.manifests) {
    if (manifest.name.empty()) manifest.name = "unnamed";
    if (manifest.namespace_name.empty()) manifest.namespace_name = "default";
    for (size_t i = 0; i < manifest.triggers.size(); ++i) {
      if (manifest.triggers[i].IsExternal()) triggers.push_back(AskFor(manifest, i));
    }
  }
  if (!triggers.empty()) return triggers;
  return absl::InvalidArgumentError(
      "no ScaledObject or ScaledJob with a trigger of type external or external-push");
}

}  // namespace gpuscaler
