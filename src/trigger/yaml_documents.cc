#include "trigger/yaml_documents.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace gpuscaler {
namespace {

bool IsMarker(absl::string_view line, absl::string_view marker) {
  return absl::ConsumePrefix(&line, marker) && (line.empty() || absl::ascii_isspace(line[0]));
}

// Removes the first document from `rest`, which must not be empty, and returns it.
absl::string_view TakeDocument(absl::string_view& rest) {
  size_t size = 0;
  while (size < rest.size()) {
    const size_t end = std::min(rest.find('\n', size), rest.size());
    const absl::string_view line = rest.substr(size, end - size);
    if (size > 0 && IsMarker(line, "---")) break;
    size = std::min(end + 1, rest.size());
    if (IsMarker(line, "...")) break;
  }
  const absl::string_view document = rest.substr(0, size);
  rest.remove_prefix(size);
  return document;
}

}  // namespace

void ReadYamlDocuments(absl::string_view yaml, absl::FunctionRef<void(const YamlDocument&)> read) {
  int lines = 0;
  while (!yaml.empty()) {
    const absl::string_view text = TakeDocument(yaml);
    try {
      read({.root = YAML::Load(std::string(text)), .text = text, .lines_before = lines});
    } catch (const YAML::Exception& error) {
      YAML::Mark mark = error.mark;
      if (!mark.is_null()) mark.line += lines;
      throw YAML::Exception(mark, error.msg);
    }
    lines += static_cast<int>(std::ranges::count(text, '\n'));
  }
}

OnlyDocument OnlyYamlDocument(absl::string_view yaml) {
  OnlyDocument only;
  ReadYamlDocuments(yaml, [&only](const YamlDocument& document) {
    if (document.root.IsNull() || only.second_line > 0) return;
    if (only.root.IsNull()) {
      const size_t lines_before = static_cast<size_t>(document.lines_before);
      only.root = YAML::Load(absl::StrCat(std::string(lines_before, '\n'), document.text));
    } else {
      only.second_line = document.lines_before + document.root.Mark().line + 1;
    }
  });
  return only;
}

}  // namespace gpuscaler
