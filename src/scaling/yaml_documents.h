// The documents of a YAML file, apart.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "yaml-cpp/yaml.h"

namespace gpuscaler {

// Each document by itself, after as many empty lines as stand before it, so that lines keep their
// numbers. For YAML::Load; YAML::LoadAll does not end on some broken files (", a}").
std::vector<std::string> YamlDocuments(absl::string_view yaml);

// The document of a file that may have but one with content.
struct OnlyDocument {
  YAML::Node root;      // null where there is none
  int second_line = 0;  // where another one begins, from 1 on; 0: nowhere
};
// Throws YAML::Exception.
OnlyDocument OnlyYamlDocument(absl::string_view yaml);

}  // namespace gpuscaler
