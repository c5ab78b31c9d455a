// A small HTTP server for pages that are rendered for each request: /metrics, /healthz, /readyz.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "serve/http_daemon.h"

namespace gpuscaler {

struct HttpReply {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Serves GET and HEAD, one request per connection. Thread-safe.
class HttpServer {
 public:
  // Called on the server's thread; must not block. Keyed by exact path.
  using Handlers = std::map<std::string, std::function<HttpReply()>>;

  // "/" lists the paths of `handlers` unless there is such a page. Returns the errors of
  // HttpDaemon::Start().
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                           Handlers handlers);

  int port() const { return daemon_->port(); }
  absl::Status ReloadTls() { return daemon_->ReloadTls(); }

 private:
  explicit HttpServer(std::unique_ptr<HttpDaemon> daemon) : daemon_(std::move(daemon)) {}

  const std::unique_ptr<HttpDaemon> daemon_;
};

}  // namespace gpuscaler
