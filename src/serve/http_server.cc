#include "serve/http_server.h"

#include <microhttpd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/bound_port.h"
#include "base/log.h"
#include "base/open_files.h"
#include "base/status_macros.h"
#include "serve/http_pages.h"
#include "serve/http_tls.h"
#include "serve/open_connections.h"

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

int MostConnections(const HttpServerOptions& options) {
  const size_t share = std::max<size_t>(MostOpenFiles() / 32, 1);
  return static_cast<int>(std::min(static_cast<size_t>(options.max_connections), share));
}

}  // namespace

class HttpServer::Impl {
 public:
  static absl::StatusOr<std::unique_ptr<Impl>> Start(const HttpServerOptions& options,
                                                     HttpHandlers handlers);
  ~Impl() { MHD_stop_daemon(daemon_); }

  int port() const { return port_; }
  absl::Status ReloadTls() { return tls_ == nullptr ? absl::OkStatus() : tls_->Reload(); }

 private:
  Impl(const HttpServerOptions& options, HttpHandlers handlers, std::unique_ptr<HttpTls> tls)
      : handlers_(std::move(handlers)),
        tls_(std::move(tls)),
        connections_(MostConnections(options)) {}

  bool Serve(int listening, const HttpServerOptions& options);

  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path,
                              const char* method, const char* version, const char* upload,
                              size_t* upload_size, void** context);
  static void OnConnection(void* self, MHD_Connection* connection, void** context,
                           MHD_ConnectionNotificationCode what);

  const HttpHandlers handlers_;
  const std::unique_ptr<HttpTls> tls_;  // null: plain text
  OpenConnections connections_;         // the daemon's thread alone
  int port_ = 0;
  MHD_Daemon* daemon_ = nullptr;
};

absl::StatusOr<std::unique_ptr<HttpServer::Impl>> HttpServer::Impl::Start(
    const HttpServerOptions& options, HttpHandlers handlers) {
  std::unique_ptr<HttpTls> tls;
  if (options.tls.Enabled()) {
    ASSIGN_OR_RETURN(tls, HttpTls::Open(options.tls));
  }
  ASSIGN_OR_RETURN(BoundPort bound, BoundPort::Open(options.bind_address, options.port));
  std::unique_ptr<Impl> impl(new Impl(options, std::move(handlers), std::move(tls)));
  impl->port_ = bound.port();
  ASSIGN_OR_RETURN(const int listening, std::move(bound).Listen());
  if (impl->Serve(listening, options)) return impl;
  close(listening);
  return absl::UnavailableError("cannot start the HTTP server");
}

bool HttpServer::Impl::Serve(int listening, const HttpServerOptions& options) {
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG;
  // The library counts connections until they are closed.
  const unsigned limit = 2 * static_cast<unsigned>(MostConnections(options));
  const auto idle_seconds = static_cast<unsigned>(absl::ToInt64Seconds(options.idle_timeout));
  TlsPems pems;
  std::vector<MHD_OptionItem> items;
  if (tls_ != nullptr) {
    flags |= MHD_USE_TLS;
    pems = tls_->pems();  // the library requires a pair; OnConnection() replaces it
    items.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, pems.cert.data()});
    items.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, pems.key.data()});
    items.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsVersions)});
  }
  items.push_back({MHD_OPTION_END, 0, nullptr});
  daemon_ = MHD_start_daemon(
      flags, 0, nullptr, nullptr, &OnRequest, this, MHD_OPTION_EXTERNAL_LOGGER, &LogLibrary,
      nullptr, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, limit,
      MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kConnectionMemoryBytes, MHD_OPTION_NOTIFY_CONNECTION, &OnConnection, this, MHD_OPTION_ARRAY,
      items.data(), MHD_OPTION_END);
  return daemon_ != nullptr;
}

// Called when the headers are read. A reply queued then makes the library refuse a body and close
// the connection after the reply.
MHD_Result HttpServer::Impl::OnRequest(void* self, MHD_Connection* connection, const char* path,
                                       const char* method, const char* /*version*/,
                                       const char* /*upload*/, size_t* /*upload_size*/,
                                       void** /*context*/) {
  return Send(connection, AnswerRequest(static_cast<Impl*>(self)->handlers_, method, path));
}

void HttpServer::Impl::OnConnection(void* self, MHD_Connection* connection, void** /*context*/,
                                    MHD_ConnectionNotificationCode what) {
  Impl& impl = *static_cast<Impl*>(self);
  const int socket =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  if (what == MHD_CONNECTION_NOTIFY_CLOSED) return impl.connections_.Remove(socket);
  std::shared_ptr<const void> credentials;
  if (impl.tls_ != nullptr) {
    credentials = impl.tls_->Attach(static_cast<gnutls_session_t>(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session));
  }
  impl.connections_.Add(socket, std::move(credentials));
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const HttpServerOptions& options, std::map<std::string, Handler> handlers) {
  ASSIGN_OR_RETURN(auto impl, Impl::Start(options, std::move(handlers)));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return impl_->port(); }
absl::Status HttpServer::ReloadTls() { return impl_->ReloadTls(); }

}  // namespace gpuscaler
