// The option --ignore-pods: NAMESPACE[/PREFIX],...
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/ignored_pods.h"

namespace gpuscaler {

// Empty for an empty text. INVALID_ARGUMENT says what is allowed, without naming the option.
absl::StatusOr<std::vector<IgnoredPods>> ParseIgnoredPods(absl::string_view text);

}  // namespace gpuscaler
