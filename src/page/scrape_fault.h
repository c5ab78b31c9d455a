// Errors of a scrape, described from the server's side instead of libcurl's.
#pragma once

#include <curl/curl.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// `os_error`: errno of the connection, or 0. `detail`: libcurl's own text, needed mostly for
// certificates.
//   UNAVAILABLE          refused, broken or truncated: the next attempt may succeed
//   FAILED_PRECONDITION  bad certificate, or no HTTP at all: the next attempt will fail
//   INVALID_ARGUMENT     our side: the CA is no certificate, or ours cannot be used
absl::Status TransferFault(CURLcode code, int os_error, absl::string_view detail);

// Returns the error for an HTTP status other than 200: UNAVAILABLE for 429 and 5xx (loading,
// overloaded), NOT_FOUND for 404, UNAUTHENTICATED for 401 and 403, FAILED_PRECONDITION otherwise.
// Redirects are not followed. `redirect_url` is the target of a redirect, or empty; the error names
// its host.
absl::Status HttpStatusFault(long http_status, absl::string_view redirect_url);

}  // namespace gpuscaler
