#include "trigger/yaml_objects.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "trigger/yaml_documents.h"

namespace gpuscaler {

absl::Status ForEachObject(
    absl::string_view yaml,
    absl::FunctionRef<void(const YAML::Node& object, int lines_before)> take) {
  try {
    ReadYamlDocuments(yaml, [take](const YamlDocument& document) {
      take(document.root, document.lines_before);
      const YAML::Node items = Child(document.root, "items");
      if (!items.IsDefined() || !items.IsSequence()) return;
      for (const YAML::Node& item : items) take(item, document.lines_before);
    });
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", std::max(error.mark.line + 1, 1), ": not YAML: ", error.msg));
  }
  return absl::OkStatus();
}

YAML::Node Child(const YAML::Node& parent, const char* key) {
  return parent.IsDefined() && parent.IsMap() ? parent[key] : YAML::Node(YAML::NodeType::Undefined);
}

std::string ScalarOf(const YAML::Node& node) {
  return node.IsDefined() && node.IsScalar() ? node.Scalar() : "";
}

}  // namespace gpuscaler
