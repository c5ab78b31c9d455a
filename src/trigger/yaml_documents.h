// The documents of a YAML file, apart.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "yaml-cpp/yaml.h"

namespace gpuscaler {

struct YamlDocument {
  YAML::Node root;  // its marks count from the document's first line
  absl::string_view text;
  int lines_before = 0;
};

// Each document by itself: YAML::LoadAll does not end on some broken files (", a}"). Throws
// YAML::Exception, with the line of the whole text.
void ReadYamlDocuments(absl::string_view yaml, absl::FunctionRef<void(const YamlDocument&)> read);

// The document of a file that may have but one with content.
struct OnlyDocument {
  YAML::Node root;      // null where there is none; its marks are those of the whole text
  int second_line = 0;  // where another one begins, from 1 on; 0: nowhere
};
// Throws YAML::Exception.
OnlyDocument OnlyYamlDocument(absl::string_view yaml);

}  // namespace gpuscaler
