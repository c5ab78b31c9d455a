// Sends many concurrent HTTP requests from one thread, on persistent connections.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "simulate/sender.h"

namespace gpuscaler {

struct HttpWork {
  std::string url;                             // http or https
  std::string body;                            // JSON, sent by POST
  absl::Duration timeout = absl::Seconds(60);  // per request, from the time it is sent
};

// Sends the same body to any server.
class HttpSender : public Sender {
 public:
  virtual void SendTo(const std::string& url, int64_t id) = 0;
};

// The sender ignores proxies of the environment and does not follow redirects. A reply other than
// 2xx is an error. Returns INVALID_ARGUMENT if the URL is invalid, and UNAVAILABLE without libcurl.
absl::StatusOr<std::unique_ptr<HttpSender>> OpenCurlSender(const HttpWork& work);

}  // namespace gpuscaler
