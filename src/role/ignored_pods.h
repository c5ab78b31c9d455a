// The option --ignore-pods: NAMESPACE[/PREFIX],...
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/ignored_pods.h"

namespace gpuscaler {

// Returns none for an empty text. Returns INVALID_ARGUMENT with the allowed form, without the name
// of the option.
absl::StatusOr<std::vector<IgnoredPods>> ParseIgnoredPods(absl::string_view text);

}  // namespace gpuscaler
