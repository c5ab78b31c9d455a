// The HTTP server of the web UI and its API: checks access, runs requests on threads of its own,
// and sends events.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/worker_threads.h"
#include "serve/http_daemon.h"
#include "web/event_streams.h"
#include "web/unread_replies.h"
#include "web/web_access.h"
#include "web/web_reply.h"

namespace gpuscaler {

struct WebServerOptions {
  HttpServerOptions http;
  WebAccessOptions access;
  EventStreamsOptions events;
  // The most bytes of replies that clients have not read yet, all together. A reply that would
  // exceed it is replaced by 503. Each event stream may hold a batch in addition.
  size_t most_unread_bytes = size_t{64} << 20;
  // Refuses clients with another address than 127.0.0.1 and ::1, as of other hosts if a NAT rule
  // leads their connections here.
  bool only_this_host = true;
  std::string content_security_policy;
};

// Serves GET and HEAD, one request per connection. Thread-safe.
class WebServer {
 public:
  // Runs on a thread of the server, and may block. Replies for every path but that of the events.
  // No token is needed for "/" and "/index.html": the page asks for it.
  using Handler = std::function<WebReply(const WebRequest&)>;

  static constexpr char kEventsPath[] = "/api/v1/events";

  // Returns the errors of HttpDaemon::Start() and WebAccess::Open().
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const WebServerOptions& options,
                                                          Handler handler,
                                                          EventStreams::NextBatch next_events);
  // Ends the streams, waits for running handlers, and closes the connections of all other requests.
  ~WebServer();

  int port() const { return daemon_->port(); }
  int open_streams() const { return streams_.open(); }
  size_t unread_bytes() const { return unread_.bytes(); }
  // How many replies were refused because of `most_unread_bytes`.
  int64_t refused_replies() const { return unread_.refused(); }

  absl::Status ReloadTls() { return daemon_->ReloadTls(); }
  absl::Status ReloadToken() { return access_->ReloadToken(); }
  bool HasToken() const { return access_->HasToken(); }

 private:
  struct Exchange;

  WebServer(const WebServerOptions& options, std::unique_ptr<WebAccess> access, Handler handler,
            EventStreams::NextBatch next_events);

  // These run on the daemon's thread.
  bool Answer(MHD_Connection* connection, const char* method, const char* path, void*& context);
  absl::Status Check(MHD_Connection* connection, absl::string_view path) const;
  bool Send(MHD_Connection* connection, const WebReply& reply);
  bool SendEvents(MHD_Connection* connection);
  void AddHeaders(MHD_Response* response, const std::string& content_type) const;
  // Suspends the connection until a worker has the reply.
  void Defer(MHD_Connection* connection, const char* path, void*& context);

  // Runs the handler, on a thread of `workers_`.
  WebReply ReplyTo(const Exchange& exchange) const;

  const WebServerOptions options_;
  const std::unique_ptr<WebAccess> access_;
  const Handler handler_;
  EventStreams streams_;
  UnreadReplies unread_;
  WorkerThreads workers_;
  std::atomic<bool> is_stopping_ = false;
  std::unique_ptr<HttpDaemon> daemon_;
};

}  // namespace gpuscaler
