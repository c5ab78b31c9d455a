// The option --ignore-pods: NAMESPACE[/PREFIX],...
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/ignored_pods.h"

namespace gpuscaler {

// Empty for an empty text. INVALID_ARGUMENT: its text has what is allowed, without the name of the
// option.
absl::StatusOr<std::vector<IgnoredPods>> ParseIgnoredPods(absl::string_view text);

}  // namespace gpuscaler
