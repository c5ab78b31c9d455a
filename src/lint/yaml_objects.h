// The objects of a manifest of Kubernetes.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "yaml-cpp/yaml.h"

namespace gpuscaler {

// Of every document, and those in a List too, with the lines before their document, which marks do
// not count. INVALID_ARGUMENT names the line where it stops being YAML.
absl::Status ForEachObject(
    absl::string_view yaml,
    absl::FunctionRef<void(const YAML::Node& object, int lines_before)> take);

// Undefined where `parent` is no map or has no such key.
YAML::Node Child(const YAML::Node& parent, const char* key);

// Empty where it is no scalar.
std::string ScalarOf(const YAML::Node& node);

}  // namespace gpuscaler
