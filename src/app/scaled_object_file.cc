#include "app/scaled_object_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trigger/manifest_file.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

// KEDA's defaults.
constexpr int kDefaultMinReplicas = 0;
constexpr int kDefaultMaxReplicas = 100;

int ValueOr(const std::optional<LocatedInt>& number, int otherwise) {
  return number ? number->value : otherwise;
}

TriggerQuery QueryFor(const Manifest& manifest, size_t index) {
  const ManifestTrigger& trigger = manifest.triggers[index];
  TriggerQuery query;
  query.ref = {.name = manifest.name, .namespace_name = manifest.namespace_name, .metadata = {}};
  for (const auto& [key, value] : trigger.metadata) {
    if (NameIn(key).from_env) {
      query.left_out.push_back(key);
    } else {
      query.ref.metadata[key] = value.text;
    }
  }
  query.title = absl::StrCat(manifest.Title(), ", trigger ", index);
  if (trigger.metric_type.text == "Value") query.target_type = TargetType::kValue;
  query.is_job = manifest.is_job;
  query.min_replicas = ValueOr(manifest.min_replicas, kDefaultMinReplicas);
  query.max_replicas = ValueOr(manifest.max_replicas, kDefaultMaxReplicas);
  return query;
}

}  // namespace

absl::StatusOr<std::vector<TriggerQuery>> TriggersOfYaml(absl::string_view yaml) {
  ASSIGN_OR_RETURN(ManifestFile file, ReadManifestFile(yaml));
  std::vector<TriggerQuery> triggers;
  for (Manifest& manifest : file.manifests) {
    if (manifest.name.empty()) manifest.name = "unnamed";
    if (manifest.namespace_name.empty()) manifest.namespace_name = "default";
    for (size_t i = 0; i < manifest.triggers.size(); ++i) {
      if (manifest.triggers[i].IsExternal()) triggers.push_back(QueryFor(manifest, i));
    }
  }
  if (!triggers.empty()) return triggers;
  return absl::InvalidArgumentError(
      "no ScaledObject or ScaledJob with a trigger of type external or external-push");
}

}  // namespace gpuscaler
