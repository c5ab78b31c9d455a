// Durations as text: 500ms, 30s, 2m, 1h30m.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gpuscaler {

// The duration must be finite and not negative, and have a unit (a bare 0 needs none). Otherwise
// returns INVALID_ARGUMENT with the allowed form.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

// Returns "1m30s" or "500ms": ParseDuration() returns the same duration for it.
std::string DurationText(absl::Duration duration);

// Ages of 1 s or more are in whole seconds. Repeated messages with an age in them are then often
// equal, and Kubernetes merges equal events.
std::string AgeText(absl::Duration age);

}  // namespace gpuscaler
