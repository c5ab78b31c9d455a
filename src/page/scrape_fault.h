// Why there is no page, in the words of who runs the server and not of libcurl.
#pragma once

#include <curl/curl.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Of a transfer that did not end well. `os_error`: errno of the connection, 0: none; `detail`:
// libcurl's own text, of which certificates need the most.
//   UNAVAILABLE          refused, broken off, cut off: it may be there the next time
//   FAILED_PRECONDITION  its certificate, or no HTTP at all: it will not be
//   INVALID_ARGUMENT     our side: the CA is no certificate, or ours cannot be used
absl::Status TransferFault(CURLcode code, int os_error, absl::string_view detail);

// Of an answer other than 200. UNAVAILABLE for 429 and 5xx: loading, overloaded; NOT_FOUND for 404;
// UNAUTHENTICATED for 401 and 403; FAILED_PRECONDITION for the rest. Redirects are not followed:
// `redirect_url`, or nothing, is where one led to, and its host is named.
absl::Status AnswerFault(long http_status, absl::string_view redirect_url);

}  // namespace gpuscaler
