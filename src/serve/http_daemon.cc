#include "serve/http_daemon.h"

#include <microhttpd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/bound_port.h"
#include "base/log.h"
#include "base/open_files.h"
#include "base/status_macros.h"
#include "serve/http_tls.h"

namespace gpuscaler {
namespace {

// A request has a few hundred bytes, on a connection of its own.
constexpr size_t kConnectionMemoryBytes = 16 * 1024;
// GnuTLS's priority string. Keys are exchanged on elliptic curves, as in wire/tls_messages.h.
constexpr char kTlsPriorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-DHE-RSA:-RSA:-GROUP-ALL:+GROUP-X25519:"
    "+GROUP-SECP256R1:+GROUP-SECP384R1:+GROUP-SECP521R1";

void LogLibrary(void* /*unused*/, const char* format, va_list arguments) {
  char text[256];
  std::vsnprintf(text, sizeof(text), format, arguments);
  absl::string_view line = text;
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  LogDebug("http_connection", {{"what", line}});
}

int SocketOf(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

int MostConnections(const HttpServerOptions& options) {
  const size_t share = std::max<size_t>(MostOpenFiles() / 48, 1);
  return static_cast<int>(std::min(static_cast<size_t>(options.max_connections), share));
}

}  // namespace

HttpDaemon::HttpDaemon(const HttpServerOptions& options, Callbacks callbacks,
                       std::unique_ptr<HttpTls> tls)
    : callbacks_(std::move(callbacks)),
      tls_(std::move(tls)),
      connections_(MostConnections(options)) {}

HttpDaemon::~HttpDaemon() { MHD_stop_daemon(daemon_); }

absl::Status HttpDaemon::ReloadTls() { return tls_ == nullptr ? absl::OkStatus() : tls_->Reload(); }

absl::StatusOr<std::unique_ptr<HttpDaemon>> HttpDaemon::Start(const HttpServerOptions& options,
                                                              Callbacks callbacks) {
  std::unique_ptr<HttpTls> tls;
  if (options.tls.Enabled()) {
    ASSIGN_OR_RETURN(tls, HttpTls::Open(options.tls));
  }
  ASSIGN_OR_RETURN(BoundPort bound, BoundPort::Open(options.bind_address, options.port));
  std::unique_ptr<HttpDaemon> daemon(new HttpDaemon(options, std::move(callbacks), std::move(tls)));
  daemon->port_ = bound.port();
  ASSIGN_OR_RETURN(const int listening, std::move(bound).Listen());
  if (daemon->Serve(listening, options)) return daemon;
  close(listening);
  return absl::UnavailableError("cannot start the HTTP server");
}

bool HttpDaemon::Serve(int listening, const HttpServerOptions& options) {
  const MHD_AccessHandlerCallback on_request =
      [](void* self, MHD_Connection* connection, const char* path, const char* method,
         const char* /*version*/, const char* /*upload*/, size_t* /*upload_size*/, void** context) {
        const Callbacks& callbacks = static_cast<HttpDaemon*>(self)->callbacks_;
        return callbacks.request(connection, method, path, *context) ? MHD_YES : MHD_NO;
      };
  const MHD_RequestCompletedCallback on_completed = [](void* self, MHD_Connection* /*connection*/,
                                                       void** context,
                                                       MHD_RequestTerminationCode /*how*/) {
    const Callbacks& callbacks = static_cast<HttpDaemon*>(self)->callbacks_;
    if (callbacks.completed != nullptr) callbacks.completed(std::exchange(*context, nullptr));
  };
  const MHD_NotifyConnectionCallback on_connection = [](void* self, MHD_Connection* connection,
                                                        void** daemon_of_connection,
                                                        MHD_ConnectionNotificationCode what) {
    HttpDaemon& daemon = *static_cast<HttpDaemon*>(self);
    *daemon_of_connection = self;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED)
      daemon.connections_.Remove(SocketOf(connection));
    else
      daemon.Opened(connection);
  };
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG;
  if (callbacks_.completed != nullptr) flags |= MHD_ALLOW_SUSPEND_RESUME;
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
    items.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsPriorities)});
  }
  items.push_back({MHD_OPTION_END, 0, nullptr});
  daemon_ = MHD_start_daemon(
      flags, 0, nullptr, nullptr, on_request, this, MHD_OPTION_EXTERNAL_LOGGER, &LogLibrary,
      nullptr, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, limit,
      MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kConnectionMemoryBytes, MHD_OPTION_NOTIFY_CONNECTION, on_connection, this,
      MHD_OPTION_NOTIFY_COMPLETED, on_completed, this, MHD_OPTION_ARRAY, items.data(),
      MHD_OPTION_END);
  return daemon_ != nullptr;
}

void HttpDaemon::MarkAsStream(MHD_Connection* connection) {
  auto* const daemon = static_cast<HttpDaemon*>(
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  daemon->connections_.MarkAsStream(SocketOf(connection));
}

void HttpDaemon::Opened(MHD_Connection* connection) {
  std::shared_ptr<const void> credentials;
  if (tls_ != nullptr) {
    credentials = tls_->Attach(static_cast<gnutls_session_t>(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session));
  }
  connections_.Add(SocketOf(connection), std::move(credentials));
}

}  // namespace gpuscaler
