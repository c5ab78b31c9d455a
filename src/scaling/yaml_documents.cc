#include "scaling/yaml_documents.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gpuscaler {
namespace {

bool IsMarker(absl::string_view line, absl::string_view marker) {
  return absl::ConsumePrefix(&line, marker) && (line.empty() || absl::ascii_isspace(line[0]));
}

}  // namespace

std::vector<std::string> YamlDocuments(absl::string_view yaml) {
  std::vector<std::string> documents(1);
  size_t lines = 0;
  for (absl::string_view line : absl::StrSplit(yaml, '\n')) {
    if (IsMarker(line, "---")) documents.emplace_back(lines, '\n');
    absl::StrAppend(&documents.back(), line, "\n");
    ++lines;
    if (IsMarker(line, "...")) documents.emplace_back(lines, '\n');
  }
  return documents;
}

OnlyDocument OnlyYamlDocument(absl::string_view yaml) {
  OnlyDocument only;
  for (const std::string& text : YamlDocuments(yaml)) {
    const YAML::Node root = YAML::Load(text);
    if (root.IsNull()) continue;
    if (!only.root.IsNull()) {
      only.second_line = root.Mark().line + 1;
      break;
    }
    only.root.reset(root);
  }
  return only;
}

}  // namespace gpuscaler
