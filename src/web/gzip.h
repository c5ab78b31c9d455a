// Compresses and decompresses bodies of HTTP replies (RFC 1952).
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Uses the fastest level: replies are sent once or twice.
std::string Gzip(absl::string_view bytes);

// Returns INVALID_ARGUMENT if the bytes are no whole gzip stream, or expand to more than
// `max_bytes`.
absl::StatusOr<std::string> Gunzip(absl::string_view bytes, size_t max_bytes);

// Returns true if the Accept-Encoding header allows gzip: it lists gzip or "*" with a weight above
// 0.
bool AcceptsGzip(absl::string_view accept_encoding);

}  // namespace gpuscaler
