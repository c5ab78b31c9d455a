// The texts of gRPC's header fields: timeouts, statuses, messages.
//
// Source: gRPC over HTTP2 (doc/PROTOCOL-HTTP2.md of grpc/grpc).
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gpuscaler {

// A `grpc-timeout` field is 1 to 8 digits and a unit of H, M, S, m, u or n. Empty: `text` is none.
std::optional<absl::Duration> ParseGrpcTimeout(absl::string_view text);

// The unit is the finest that fits 8 digits. The number is rounded up; a `timeout` below 0 is 0.
std::string GrpcTimeout(absl::Duration timeout);

// Printable ASCII but '%' stays; all other bytes become %XX.
std::string PercentEncoded(absl::string_view text);

// A '%' without two hexadecimal digits stays.
std::string PercentDecoded(absl::string_view text);

// The decimal digits of `grpc-status`.
std::string GrpcCode(absl::StatusCode code);

// An unknown code is UNKNOWN. An error without a message gets "no reason was given", because an
// empty text in a log looks like success.
absl::Status StatusOfTrailers(absl::string_view code, absl::string_view percent_encoded_message);

// Applies if `http_status` is not 200 and the answer has no `grpc-status`
// (doc/http-grpc-status-mapping.md of grpc/grpc).
absl::Status StatusOfHttp(int http_status);

}  // namespace gpuscaler
