// Reads the objects of Kubernetes manifests.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "yaml-cpp/yaml.h"

namespace gpuscaler {

// Calls `take` for every document and for every object of a List. `lines_before` counts the lines
// before the document, which YAML marks do not. Returns INVALID_ARGUMENT with the line at which it
// is not YAML.
absl::Status ForEachObject(
    absl::string_view yaml,
    absl::FunctionRef<void(const YAML::Node& object, int lines_before)> take);

// Returns an undefined node if `parent` is no map or has no such key.
YAML::Node Child(const YAML::Node& parent, const char* key);

// Returns "" if the node is no scalar.
std::string ScalarOf(const YAML::Node& node);

}  // namespace gpuscaler
