// Splits a YAML file into its documents.
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

// Parses each document separately: YAML::LoadAll does not end on some broken files (", a}"). Throws
// YAML::Exception, with the line of the whole text.
void ReadYamlDocuments(absl::string_view yaml, absl::FunctionRef<void(const YamlDocument&)> read);

// The document of a file that may have only one with content.
struct OnlyDocument {
  YAML::Node root;      // null if there is none; its marks are those of the whole text
  int second_line = 0;  // first line of another document, from 1 on; 0: none
};
// Throws YAML::Exception.
OnlyDocument OnlyYamlDocument(absl::string_view yaml);

}  // namespace gpuscaler
