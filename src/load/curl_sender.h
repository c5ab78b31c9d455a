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

// Sends the same to any server.
class HttpSender : public Sender {
 public:
  virtual void SendTo(const std::string& url, int64_t id) = 0;
};

// Send() is to the work's URL. Proxies of the environment are not used, redirections not followed;
// an answer other than 2xx is an error. INVALID_ARGUMENT: no such URL. UNAVAILABLE: there is no
// libcurl.
absl::StatusOr<std::unique_ptr<HttpSender>> OpenCurlSender(const HttpWork& work);

}  // namespace gpuscaler
