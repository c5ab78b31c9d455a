#include "trigger/manifest.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "trigger/yaml_objects.h"
#include "yaml-cpp/yaml.h"

namespace gpuscaler {
namespace {

bool IsString(const YAML::Node& node) {
  if (!node.IsScalar()) return false;
  const bool plain = node.Tag() == "?";  // yaml-cpp's tag of unquoted scalars
  double number = 0;
  bool truth = false;
  return !plain ||
         !(YAML::convert<double>::decode(node, number) || YAML::convert<bool>::decode(node, truth));
}

// Reads one document that starts after `lines_before` lines of the file.
class ManifestReader {
 public:
  explicit ManifestReader(int lines_before) : lines_before_(lines_before) {}

  Manifest ReadManifest(const YAML::Node& node, const std::string& kind) const {
    const YAML::Node metadata = Child(node, "metadata");
    const YAML::Node spec = Child(node, "spec");

    Manifest manifest;
    manifest.is_job = kind == "ScaledJob";
    manifest.name = TextOr(Child(metadata, "name"), "", 1).text;
    manifest.namespace_name = TextOr(Child(metadata, "namespace"), "", 1).text;
    manifest.line = LineOf(node);
    const YAML::Node target = Child(spec, "scaleTargetRef");
    manifest.target_kind = TextOr(Child(target, "kind"), "Deployment", 1).text;
    manifest.target_name = TextOr(Child(target, "name"), "", 1).text;
    manifest.min_replicas = Number(Child(spec, "minReplicaCount"));
    manifest.max_replicas = Number(Child(spec, "maxReplicaCount"));
    manifest.idle_replicas = Number(Child(spec, "idleReplicaCount"));
    manifest.has_replica_placeholder = HasPlaceholder(ScalarOf(Child(spec, "minReplicaCount"))) ||
                                       HasPlaceholder(ScalarOf(Child(spec, "idleReplicaCount")));
    manifest.cooldown_seconds = Number(Child(spec, "cooldownPeriod"));
    manifest.polling_seconds = Number(Child(spec, "pollingInterval"));
    manifest.fallback = ReadFallback(Child(spec, "fallback"));
    manifest.formula = ReadFormula(spec);
    const YAML::Node triggers = Child(spec, "triggers");
    if (!triggers.IsDefined() || !triggers.IsSequence()) return manifest;
    for (const YAML::Node& trigger : triggers) manifest.triggers.push_back(ReadTrigger(trigger));
    return manifest;
  }

 private:
  int LineOf(const YAML::Node& node) const {
    return lines_before_ + std::max(node.Mark().line + 1, 1);
  }

  LocatedText Text(const YAML::Node& node) const {
    return {node.IsScalar() ? node.Scalar() : "", LineOf(node), IsString(node)};
  }

  LocatedText TextOr(const YAML::Node& node, const char* otherwise, int line) const {
    if (!node.IsDefined() || !node.IsScalar()) return {otherwise, line};
    return Text(node);
  }

  std::optional<LocatedInt> Number(const YAML::Node& node) const {
    LocatedInt number;
    if (!node.IsDefined() || !node.IsScalar() || !absl::SimpleAtoi(node.Scalar(), &number.value)) {
      return std::nullopt;
    }
    number.line = LineOf(node);
    return number;
  }

  void AddMetadata(const YAML::Node& map, ManifestTrigger& trigger) const {
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) continue;
      LocatedText value = Text(entry.second);
      value.line = LineOf(entry.first);  // an alias has the line of its anchor
      trigger.metadata.emplace(entry.first.Scalar(), value);
    }
  }

  void ParseMetadata(const YAML::Node& map, ManifestTrigger& trigger) const {
    if (!map.IsDefined() || !map.IsMap()) return;
    AddMetadata(map, trigger);
    const auto merged = trigger.metadata.find("<<");
    if (merged == trigger.metadata.end()) return;
    trigger.metadata.erase(merged);
    const YAML::Node base = map["<<"];  // YAML 1.1's merge key, which yaml-cpp leaves alone
    if (!base.IsMap()) return;
    AddMetadata(base, trigger);  // the trigger's own entries are already there and win
    trigger.metadata.erase("<<");
  }

  ManifestTrigger ReadTrigger(const YAML::Node& node) const {
    ManifestTrigger trigger;
    trigger.line = LineOf(node);
    trigger.name = ScalarOf(Child(node, "name"));
    trigger.type = TextOr(Child(node, "type"), "", trigger.line).text;
    trigger.metric_type = TextOr(Child(node, "metricType"), "AverageValue", trigger.line);
    ParseMetadata(Child(node, "metadata"), trigger);
    return trigger;
  }

  std::optional<ManifestFallback> ReadFallback(const YAML::Node& node) const {
    if (!node.IsDefined() || !node.IsMap()) return std::nullopt;
    const int line = LineOf(node);
    return ManifestFallback{.line = line,
                            .behavior = TextOr(Child(node, "behavior"), "static", line),
                            .replicas = Number(Child(node, "replicas"))};
  }

  std::optional<LocatedText> ReadFormula(const YAML::Node& spec) const {
    const YAML::Node formula = Child(Child(Child(spec, "advanced"), "scalingModifiers"), "formula");
    if (ScalarOf(formula).empty()) return std::nullopt;
    return Text(formula);
  }

  const int lines_before_;
};

}  // namespace

bool ManifestTrigger::IsExternal() const { return type == "external" || type == "external-push"; }

const LocatedText* ManifestTrigger::ScalerAddress() const {
  const auto found = metadata.find("scalerAddress");
  return found == metadata.end() ? nullptr : &found->second;
}

int ManifestTrigger::LineOf(const std::vector<absl::string_view>& keys) const {
  for (absl::string_view key : keys) {
    if (const auto found = metadata.find(key); found != metadata.end()) return found->second.line;
  }
  return line;
}

std::string Manifest::Title() const {
  return absl::StrCat(is_job ? "ScaledJob " : "ScaledObject ", namespace_name,
                      namespace_name.empty() ? "" : "/", name.empty() ? "(no name)" : name);
}

std::optional<Manifest> ManifestIn(const YAML::Node& object, int lines_before) {
  const std::string kind = ScalarOf(Child(object, "kind"));
  if (kind != "ScaledObject" && kind != "ScaledJob") return std::nullopt;
  return ManifestReader(lines_before).ReadManifest(object, kind);
}

bool HasPlaceholder(absl::string_view text) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const char next = text[i + 1];
    if (text[i] == '$' && (next == '{' || next == '(' || next == '_' || absl::ascii_isalpha(next)))
      return true;
  }
  return absl::StrContains(text, "{{");
}

}  // namespace gpuscaler
