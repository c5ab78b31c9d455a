// Requests over HTTP, many at once from one thread, on connections that are kept.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "load/sender.h"

namespace gpuscaler {

struct HttpWork {
  std::string url;                             // http or https
  std::string body;                            // JSON, sent by POST
  absl::Duration timeout = absl::Seconds(60);  // of one request, from when it is sent
};

// Proxies of the environment are not used, redirections not followed; an answer other than 2xx is
// an error. INVALID_ARGUMENT: no such URL.
// UNAVAILABLE: there is no libcurl.
absl::StatusOr<std::unique_ptr<Sender>> OpenCurlSender(const HttpWork& work);

}  // namespace gpuscaler
