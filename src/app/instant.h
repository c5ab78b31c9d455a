// An instant as a user types it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gpuscaler {

// Parses an RFC 3339 time, the time of day in `zone` ("15:04" or "15:04:05", the last one before
// `now`), or how long ago it was ("10m"). Returns INVALID_ARGUMENT for any other text and for a
// time after `now`.
absl::StatusOr<absl::Time> ParseInstant(absl::string_view text, absl::Time now,
                                        absl::TimeZone zone);

// Returns "2026-01-01 15:04:05 +01:00".
std::string InstantText(absl::Time time, absl::TimeZone zone);

}  // namespace gpuscaler
