// A small HTTP server for pages that are rendered anew for each request: /metrics, /healthz,
// /readyz.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "serve/tls_files.h"

namespace gpuscaler {

struct HttpReply {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

struct HttpServerOptions {
  std::string bind_address;
  int port = 0;  // 0: any free one
  TlsFiles tls;
};

// Answers GET and HEAD; silent and dripping clients delay nobody. Thread-safe.
class HttpServer {
 public:
  using Page = std::function<HttpReply()>;  // called on the server's thread; must not block

  // `pages` by exact path. INVALID_ARGUMENT for unusable TLS files, UNAVAILABLE when the address
  // cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                           std::map<std::string, Page> pages);
  ~HttpServer();

  int port() const;

  // As GrpcServer::ReloadTls().
  absl::Status ReloadTls();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
