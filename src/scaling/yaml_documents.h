// The documents of a YAML file, apart.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Each document by itself, after as many empty lines as stand before it, so that lines keep their
// numbers. For YAML::Load; YAML::LoadAll does not end on some broken files (", a}").
std::vector<std::string> YamlDocuments(absl::string_view yaml);

}  // namespace gpuscaler
