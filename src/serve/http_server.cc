#include "serve/http_server.h"

#include <microhttpd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bound_port.h"
#include "base/log.h"
#include "base/open_files.h"
#include "base/status_macros.h"
#include "serve/http_tls.h"

namespace gpuscaler {
namespace {

// A scrape or probe request has a few hundred bytes, on a connection of its own.
constexpr size_t kConnectionMemoryBytes = 16 * 1024;
constexpr char kTlsVersions[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

void LogLibrary(void* /*unused*/, const char* format, va_list arguments) {
  char text[256];
  std::vsnprintf(text, sizeof(text), format, arguments);
  absl::string_view line = text;
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  LogDebug("http_connection", {{"what", line}});
}

HttpReply NotFound(const HttpServer::Handlers& handlers) {
  const std::string paths = absl::StrJoin(
      handlers, " ", [](std::string* out, const auto& handler) { *out += handler.first; });
  return {.status = 404, .body = absl::StrCat("not found; there are: ", paths, "\n")};
}

HttpReply Index(const HttpServer::Handlers& handlers) {
  HttpReply reply{.content_type = "text/html; charset=utf-8",
                  .body = "<!doctype html><title>keda-gpu-scaler</title><ul>\n"};
  for (const auto& [path, handler] : handlers) {
    absl::StrAppend(&reply.body, "<li><a href=\"", path, "\">", path, "</a>\n");
  }
  return reply;
}

// `path` has no query. Returns 404 with the existing paths for an unknown one, and 405 for methods
// other than GET and HEAD. The library omits the body for HEAD.
HttpReply AnswerRequest(const HttpServer::Handlers& handlers, absl::string_view method,
                        const std::string& path) {
  if (method != "GET" && method != "HEAD") return {.status = 405, .body = "GET and HEAD only\n"};
  const auto handler = handlers.find(path);
  if (handler != handlers.end()) return handler->second();
  return path == "/" ? Index(handlers) : NotFound(handlers);
}

MHD_Result Send(MHD_Connection* connection, const HttpReply& reply) {
  MHD_Response* const response = MHD_create_response_from_buffer(
      reply.body.size(), const_cast<char*>(reply.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.content_type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  if (reply.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned>(reply.status), response);
  MHD_destroy_response(response);
  return queued;
}

int SocketOf(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

int MostConnections(const HttpServerOptions& options) {
  const size_t share = std::max<size_t>(MostOpenFiles() / 32, 1);
  return static_cast<int>(std::min(static_cast<size_t>(options.max_connections), share));
}

}  // namespace

HttpServer::HttpServer(const HttpServerOptions& options, Handlers handlers,
                       std::unique_ptr<HttpTls> tls)
    : handlers_(std::move(handlers)),
      tls_(std::move(tls)),
      connections_(MostConnections(options)) {}

HttpServer::~HttpServer() { MHD_stop_daemon(daemon_); }

absl::Status HttpServer::ReloadTls() { return tls_ == nullptr ? absl::OkStatus() : tls_->Reload(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                              Handlers handlers) {
  std::unique_ptr<HttpTls> tls;
  if (options.tls.Enabled()) {
    ASSIGN_OR_RETURN(tls, HttpTls::Open(options.tls));
  }
  ASSIGN_OR_RETURN(BoundPort bound, BoundPort::Open(options.bind_address, options.port));
  std::unique_ptr<HttpServer> server(new HttpServer(options, std::move(handlers), std::move(tls)));
  server->port_ = bound.port();
  ASSIGN_OR_RETURN(const int listening, std::move(bound).Listen());
  if (server->Serve(listening, options)) return server;
  close(listening);
  return absl::UnavailableError("cannot start the HTTP server");
}

bool HttpServer::Serve(int listening, const HttpServerOptions& options) {
  // Called when the headers are read. A reply queued then makes the library refuse a body and close
  // the connection after the reply.
  const MHD_AccessHandlerCallback on_request = [](void* self, MHD_Connection* connection,
                                                  const char* path, const char* method,
                                                  const char* /*version*/, const char* /*upload*/,
                                                  size_t* /*upload_size*/, void** /*context*/) {
    return Send(connection, AnswerRequest(static_cast<HttpServer*>(self)->handlers_, method, path));
  };
  const MHD_NotifyConnectionCallback on_connection = [](void* self, MHD_Connection* connection,
                                                        void** /*context*/,
                                                        MHD_ConnectionNotificationCode what) {
    HttpServer& server = *static_cast<HttpServer*>(self);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED)
      server.connections_.Remove(SocketOf(connection));
    else
      server.Opened(connection);
  };
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG;
  // The library counts connections until they are closed.
  const unsigned limit = 2 * static_cast<unsigned>(MostConnections(options));
  const auto idle_seconds = static_cast<unsigned>(absl::ToInt64Seconds(options.idle_timeout));
  TlsPems pems;
  std::vector<MHD_OptionItem> items;
  if (tls_ != nullptr) {
    flags |= MHD_USE_TLS;
    pems = tls_->pems();  // the library requires a pair; Opened() replaces it
    items.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, pems.cert.data()});
    items.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, pems.key.data()});
    items.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsVersions)});
  }
  items.push_back({MHD_OPTION_END, 0, nullptr});
  daemon_ = MHD_start_daemon(
      flags, 0, nullptr, nullptr, on_request, this, MHD_OPTION_EXTERNAL_LOGGER, &LogLibrary,
      nullptr, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, limit,
      MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kConnectionMemoryBytes, MHD_OPTION_NOTIFY_CONNECTION, on_connection, this, MHD_OPTION_ARRAY,
      items.data(), MHD_OPTION_END);
  return daemon_ != nullptr;
}

void HttpServer::Opened(MHD_Connection* connection) {
  std::shared_ptr<const void> credentials;
  if (tls_ != nullptr) {
    credentials = tls_->Attach(static_cast<gnutls_session_t>(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session));
  }
  connections_.Add(SocketOf(connection), std::move(credentials));
}

}  // namespace gpuscaler
