// A small HTTP server for pages that are rendered anew for each request: /metrics, /healthz,
// /readyz.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "wire/tls_files.h"

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
  // The oldest connection gives way to the next one: silent and dripping clients, which are many
  // and old, keep nobody out. A thirty-second of the files that the process may open, at most: with
  // the connections that are being closed, two such servers hold an eighth (WireServerOptions).
  int max_connections = 192;
  absl::Duration idle_timeout = absl::Seconds(10);  // in whole seconds, at least one
};

// Answers GET and HEAD, one request a connection; silent and dripping clients delay nobody. With a
// client CA nobody else gets past the handshake. Thread-safe.
class HttpServer {
 public:
  using Page = std::function<HttpReply()>;  // called on the server's thread; must not block

  // `pages` by exact path; "/" lists them unless it is one. INVALID_ARGUMENT for what is no address
  // and for unusable TLS files, UNAVAILABLE when the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                           std::map<std::string, Page> pages);
  ~HttpServer();

  int port() const;

  // As GrpcServer::ReloadTls(); connections opened from now on use what was read.
  absl::Status ReloadTls();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
