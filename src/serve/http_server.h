// A small HTTP server for pages that are rendered for each request: /metrics, /healthz, /readyz.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "serve/open_connections.h"
#include "wire/tls_files.h"

// libmicrohttpd's types.
struct MHD_Connection;
struct MHD_Daemon;

namespace gpuscaler {

class HttpTls;

struct HttpReply {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

struct HttpServerOptions {
  std::string bind_address;
  int port = 0;  // 0: any free one
  TlsFiles tls;
  // A new connection beyond the limit closes the oldest one, so that many silent or slow clients
  // keep no other out. The limit is at most 1/32 of the files that the process may open. With the
  // connections that are being closed, two such servers hold 1/8 (WireServerOptions).
  int max_connections = 192;
  absl::Duration idle_timeout = absl::Seconds(10);  // in whole seconds, at least one
};

// Serves GET and HEAD, one request per connection. Silent and slow clients delay no other. With a
// client CA, the handshake of all clients without its certificate fails. Thread-safe.
class HttpServer {
 public:
  // Called on the server's thread; must not block. Keyed by exact path.
  using Handlers = std::map<std::string, std::function<HttpReply()>>;

  // "/" lists the paths of `handlers` unless there is such a page. Returns INVALID_ARGUMENT if the
  // bind address is no IP address or the TLS files are unusable, and UNAVAILABLE if the address
  // cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                           Handlers handlers);
  ~HttpServer();

  int port() const { return port_; }

  // Same as GrpcServer::ReloadTls(). New connections use the new files.
  absl::Status ReloadTls();

 private:
  HttpServer(const HttpServerOptions& options, Handlers handlers, std::unique_ptr<HttpTls> tls);

  // Returns false if the library refuses; the caller must then close the socket.
  bool Serve(int listening, const HttpServerOptions& options);
  void Opened(MHD_Connection* connection);

  const Handlers handlers_;
  const std::unique_ptr<HttpTls> tls_;  // null: plain text
  OpenConnections connections_;         // the daemon's thread alone
  int port_ = 0;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace gpuscaler
