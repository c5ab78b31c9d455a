#include "app/scaled_object_file.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "scaling/yaml_documents.h"
#include "yaml-cpp/yaml.h"

namespace gpuscaler {
namespace {

std::string Text(const YAML::Node& map, const char* key, const char* otherwise) {
  const YAML::Node value = map[key];
  return value && value.IsScalar() ? value.Scalar() : otherwise;
}

int Number(const YAML::Node& map, const char* key, int otherwise) {
  const YAML::Node value = map[key];
  return value ? value.as<int>(otherwise) : otherwise;
}

void ReadMetadata(const YAML::Node& trigger, TriggerToAsk& ask) {
  const YAML::Node map = trigger["metadata"];
  if (!map || !map.IsMap()) return;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar()) continue;
    const std::string& key = entry.first.Scalar();
    if (absl::EndsWith(key, "FromEnv")) {
      ask.left_out.push_back(key);
    } else {
      ask.ref.metadata[key] = entry.second.Scalar();
    }
  }
}

bool IsExternal(const YAML::Node& trigger) {
  if (!trigger.IsMap()) return false;
  const std::string type = Text(trigger, "type", "");
  return type == "external" || type == "external-push";
}

// KEDA's own defaults of a ScaledObject: minReplicaCount 0, maxReplicaCount 100.
void AppendTriggers(const YAML::Node& document, std::vector<TriggerToAsk>& triggers) {
  if (!document.IsMap()) return;
  const YAML::Node metadata = document["metadata"];
  const YAML::Node spec = document["spec"];
  if (!spec || !spec.IsMap() || !spec["triggers"]) return;
  const bool named = metadata && metadata.IsMap();
  int index = 0;
  for (const YAML::Node& trigger : spec["triggers"]) {
    TriggerToAsk ask;
    ask.ref.name = named ? Text(metadata, "name", "unnamed") : "unnamed";
    ask.ref.namespace_name = named ? Text(metadata, "namespace", "default") : "default";
    ask.title = absl::StrCat(Text(document, "kind", "ScaledObject"), " ", ask.ref.namespace_name,
                             "/", ask.ref.name, ", trigger ", index++);
    if (!IsExternal(trigger)) continue;
    ReadMetadata(trigger, ask);
    if (Text(trigger, "metricType", "AverageValue") == "Value") {
      ask.target_type = TargetType::kValue;
    }
    ask.min_replicas = Number(spec, "minReplicaCount", 0);
    ask.max_replicas = Number(spec, "maxReplicaCount", 100);
    triggers.push_back(std::move(ask));
  }
}

}  // namespace

absl::StatusOr<std::vector<TriggerToAsk>> TriggersOfYaml(absl::string_view yaml) try {
  std::vector<TriggerToAsk> triggers;
  for (const std::string& document : YamlDocuments(yaml)) {
    AppendTriggers(YAML::Load(document), triggers);
  }
  if (!triggers.empty()) return triggers;
  return absl::InvalidArgumentError("no trigger of type external or external-push");
} catch (const YAML::Exception& exception) {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", exception.mark.line + 1, ": ", exception.msg));
}

}  // namespace gpuscaler
