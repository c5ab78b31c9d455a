// The socket, the TLS and the thread of an HTTP server, above libmicrohttpd.
#pragma once

#include <functional>
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

struct HttpServerOptions {
  std::string bind_address;
  int port = 0;  // 0: any free one
  TlsFiles tls;
  // A new connection beyond the limit closes an older one (OpenConnections), so that silent or slow
  // clients cannot lock others out. The limit is at least one, and at most 1/48 of the files that
  // the process may open. As many connections may be in the course of closing. So three such
  // servers hold at most 1/8 of the files, which the gRPC server leaves to them
  // (WireServerOptions::spare_descriptors).
  int max_connections = 192;
  absl::Duration idle_timeout = absl::Seconds(10);  // in whole seconds, at least one
};

// One request per connection. Silent and slow clients delay no other. With a client CA, the
// handshake of all clients without its certificate fails. Thread-safe.
class HttpDaemon {
 public:
  // All run on the daemon's thread and must not block.
  struct Callbacks {
    // Called when the headers are read. Must queue a response, or suspend the connection: it is
    // called again when that is resumed. `context` is null at first and stays with the request.
    // Returns false to close the connection. A response makes the library refuse a body and close
    // the connection afterwards. While the daemon stops, the library drops the response and calls
    // again.
    std::function<bool(MHD_Connection* connection, const char* method, const char* path,
                       void*& context)>
        request;
    // Called once for each request, with its `context`. Null: nothing is called, and no connection
    // may be suspended.
    std::function<void(void* context)> completed;
  };

  // Returns INVALID_ARGUMENT if the bind address is no IP address or the TLS files are unusable,
  // and UNAVAILABLE if the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpDaemon>> Start(const HttpServerOptions& options,
                                                           Callbacks callbacks);
  ~HttpDaemon();  // requires that every suspended connection has been resumed

  int port() const { return port_; }

  // Beyond the limit of connections, those that are no streams are closed first. Must be called
  // from a callback of the connection.
  static void MarkAsStream(MHD_Connection* connection);

  // Same as GrpcServer::ReloadTls(). New connections use the new files.
  absl::Status ReloadTls();

 private:
  HttpDaemon(const HttpServerOptions& options, Callbacks callbacks, std::unique_ptr<HttpTls> tls);

  // Returns false if the library refuses; the caller must then close the socket.
  bool Serve(int listening, const HttpServerOptions& options);
  void Opened(MHD_Connection* connection);

  const Callbacks callbacks_;
  const std::unique_ptr<HttpTls> tls_;  // null: plain text
  OpenConnections connections_;         // the daemon's thread alone
  int port_ = 0;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace gpuscaler
