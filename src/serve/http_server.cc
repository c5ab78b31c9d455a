#include "serve/http_server.h"

#include <microhttpd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

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

bool Send(MHD_Connection* connection, const HttpReply& reply) {
  MHD_Response* const response = MHD_create_response_from_buffer(
      reply.body.size(), const_cast<char*>(reply.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return false;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.content_type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  if (reply.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned>(reply.status), response);
  MHD_destroy_response(response);
  return queued == MHD_YES;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                              Handlers handlers) {
  HttpDaemon::Callbacks callbacks;
  callbacks.request = [handlers = std::move(handlers)](MHD_Connection* connection,
                                                       const char* method, const char* path,
                                                       void*& /*context*/) {
    return Send(connection, AnswerRequest(handlers, method, path));
  };
  ASSIGN_OR_RETURN(auto daemon, HttpDaemon::Start(options, std::move(callbacks)));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(daemon)));
}

}  // namespace gpuscaler
