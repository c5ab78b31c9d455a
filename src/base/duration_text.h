// Durations as people write them: 500ms, 30s, 2m, 1h30m.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gpuscaler {

// Finite and not negative, with a unit (a bare 0 needs none). INVALID_ARGUMENT says what is
// allowed.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

// "1m30s", "500ms"; what ParseDuration reads back as the same duration.
std::string DurationText(absl::Duration duration);

// For an age that grows from one message to the next: whole seconds from 1 s on, so that messages
// about one thing stay alike and Kubernetes folds its events.
std::string AgeText(absl::Duration age);

}  // namespace gpuscaler
