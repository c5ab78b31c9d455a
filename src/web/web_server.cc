#include "web/web_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "web/gzip.h"

namespace gpuscaler {
namespace {

constexpr int kWorkers = 2;
constexpr size_t kMaxWaiting = 32;              // requests
constexpr size_t kLeastCompressedBytes = 1024;  // less fits into a packet

absl::string_view HeaderOf(MHD_Connection* connection, const char* name) {
  const char* const value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

bool IsFromThisHost(MHD_Connection* connection) {
  const sockaddr* const peer =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
  // The rest of 127.0.0.0/8 is excluded, as in IsOnThisHost().
  if (peer->sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(peer)->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
  }
  if (peer->sa_family != AF_INET6) return false;
  const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(peer)->sin6_addr;
  if (!IN6_IS_ADDR_V4MAPPED(&address)) return IN6_IS_ADDR_LOOPBACK(&address);
  return address.s6_addr[12] == 127 && address.s6_addr[13] == 0 && address.s6_addr[14] == 0 &&
         address.s6_addr[15] == 1;
}

WebRequest RequestOf(MHD_Connection* connection, const char* path) {
  WebRequest request{.path = path, .query = {}};
  const MHD_KeyValueIterator add = [](void* query, MHD_ValueKind /*kind*/, const char* key,
                                      const char* value) {
    auto& values = *static_cast<std::map<std::string, std::string>*>(query);
    values[key] = value == nullptr ? "" : value;
    return MHD_YES;
  };
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add, &request.query);
  return request;
}

bool Queue(MHD_Connection* connection, int status, MHD_Response* response) {
  const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(status), response);
  MHD_destroy_response(response);
  return queued == MHD_YES;
}

}  // namespace

// A request that waits for its reply.
struct WebServer::Exchange {
  MHD_Connection* connection;
  WebRequest request;
  bool accepts_gzip;
  std::optional<WebReply> reply;  // nullopt: none yet, or no longer
};

WebServer::WebServer(const WebServerOptions& options, std::unique_ptr<WebAccess> access,
                     Handler handler, EventStreams::NextBatch next_events)
    : options_(options),
      access_(std::move(access)),
      handler_(std::move(handler)),
      streams_(options.events, std::move(next_events)),
      unread_(options.most_unread_bytes),
      workers_("web", kWorkers) {}

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(const WebServerOptions& options,
                                                            Handler handler,
                                                            EventStreams::NextBatch next_events) {
  ASSIGN_OR_RETURN(auto access, WebAccess::Open(options.access));
  std::unique_ptr<WebServer> server(
      new WebServer(options, std::move(access), std::move(handler), std::move(next_events)));
  HttpDaemon::Callbacks callbacks;
  callbacks.request = [self = server.get()](MHD_Connection* connection, const char* method,
                                            const char* path, void*& context) {
    return self->Answer(connection, method, path, context);
  };
  callbacks.completed = [](void* context) { delete static_cast<Exchange*>(context); };
  ASSIGN_OR_RETURN(server->daemon_, HttpDaemon::Start(options.http, std::move(callbacks)));
  return server;
}

WebServer::~WebServer() {
  is_stopping_ = true;
  streams_.End();
  workers_.Stop();
  daemon_ = nullptr;
}

bool WebServer::Answer(MHD_Connection* connection, const char* method, const char* path,
                       void*& context) {
  if (context != nullptr) {
    // The exchange lasts until the request is completed, and would hold a refused reply so long.
    // A daemon that stops drops the response, and calls again.
    const auto reply = std::exchange(static_cast<Exchange*>(context)->reply, std::nullopt);
    return reply.has_value() && Send(connection, *reply);
  }
  const absl::string_view verb = method;
  if (verb != "GET" && verb != "HEAD") {
    WebReply reply = JsonReply(R"({"error":"GET and HEAD only"})");
    reply.status = MHD_HTTP_METHOD_NOT_ALLOWED;
    return Send(connection, reply);
  }
  if (const absl::Status checked = Check(connection, path); !checked.ok()) {
    return Send(connection, ErrorReply(checked));
  }
  if (absl::string_view(path) == kEventsPath) return SendEvents(connection);
  if (is_stopping_) return false;
  Defer(connection, path, context);
  return true;
}

absl::Status WebServer::Check(MHD_Connection* connection, absl::string_view path) const {
  if (options_.only_this_host && !IsFromThisHost(connection)) {
    return absl::PermissionDeniedError(
        "this port serves its own host alone: use kubectl port-forward");
  }
  RETURN_IF_ERROR(access_->CheckHost(HeaderOf(connection, MHD_HTTP_HEADER_HOST)));
  if (path == "/" || path == "/index.html") return absl::OkStatus();
  RETURN_IF_ERROR(WebAccess::CheckSite(HeaderOf(connection, "Sec-Fetch-Site")));
  return access_->CheckToken(HeaderOf(connection, MHD_HTTP_HEADER_AUTHORIZATION));
}

void WebServer::Defer(MHD_Connection* connection, const char* path, void*& context) {
  auto* const exchange = new Exchange{
      .connection = connection,
      .request = RequestOf(connection, path),
      .accepts_gzip = AcceptsGzip(HeaderOf(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING)),
      .reply = std::nullopt};
  context = exchange;
  MHD_suspend_connection(connection);
  // The library keeps the connection, and so the exchange, until it is resumed.
  const bool is_queued = workers_.Run(
      [this, exchange] {
        if (!is_stopping_) exchange->reply = ReplyTo(*exchange);
        MHD_resume_connection(exchange->connection);
      },
      kMaxWaiting);
  if (is_queued) return;
  exchange->reply = ErrorReply(absl::UnavailableError("too many requests are waiting"));
  MHD_resume_connection(connection);
}

WebReply WebServer::ReplyTo(const Exchange& exchange) const {
  WebReply reply = handler_(exchange.request);
  if (!exchange.accepts_gzip || reply.body->size() < kLeastCompressedBytes) {
    reply.gzip = nullptr;
    return reply;
  }
  if (reply.gzip == nullptr) reply.gzip = std::make_shared<const std::string>(Gzip(*reply.body));
  reply.body = nullptr;  // is not sent; a slow reader would hold it
  return reply;
}

void WebServer::AddHeaders(MHD_Response* response, const std::string& content_type) const {
  const auto add = [response](const char* name, const char* value) {
    MHD_add_response_header(response, name, value);
  };
  add(MHD_HTTP_HEADER_CONTENT_TYPE, content_type.c_str());
  add(MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  add("Content-Security-Policy", options_.content_security_policy.c_str());
  add("X-Content-Type-Options", "nosniff");
  add("Referrer-Policy", "no-referrer");
  add("Cross-Origin-Resource-Policy", "same-origin");
}

bool WebServer::Send(MHD_Connection* connection, const WebReply& reply) {
  using Body = UnreadReplies::Body;
  const bool is_compressed = reply.gzip != nullptr;
  Body unread = unread_.Add(is_compressed ? reply.gzip : reply.body);
  if (unread == nullptr) {
    return Send(connection, ErrorReply(absl::UnavailableError(
                                "too many bytes of replies wait for slow clients: try again")));
  }
  auto* const body = new Body(std::move(unread));
  MHD_Response* const response = MHD_create_response_from_buffer_with_free_callback_cls(
      (*body)->size(), const_cast<char*>((*body)->data()),
      [](void* sent) { delete static_cast<Body*>(sent); }, body);
  if (response == nullptr) {
    delete body;
    return false;
  }
  AddHeaders(response, reply.content_type);
  MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT_ENCODING);
  if (is_compressed) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
  }
  if (reply.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  if (reply.status == MHD_HTTP_UNAUTHORIZED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
  }
  return Queue(connection, reply.status, response);
}

bool WebServer::SendEvents(MHD_Connection* connection) {
  MHD_Response* const response = streams_.Open(connection);
  if (response == nullptr) {
    return Send(connection,
                ErrorReply(absl::UnavailableError("too many event streams are open already")));
  }
  AddHeaders(response, "text/event-stream");
  HttpDaemon::MarkAsStream(connection);
  return Queue(connection, MHD_HTTP_OK, response);
}

}  // namespace gpuscaler
