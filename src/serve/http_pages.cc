#include "serve/http_pages.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gpuscaler {
namespace {

HttpReply NotFound(const HttpHandlers& handlers) {
  const std::string paths = absl::StrJoin(
      handlers, " ", [](std::string* out, const auto& handler) { *out += handler.first; });
  return {.status = 404, .body = absl::StrCat("not found; there are: ", paths, "\n")};
}

HttpReply Index(const HttpHandlers& handlers) {
  HttpReply reply{.content_type = "text/html; charset=utf-8",
                  .body = "<!doctype html><title>keda-gpu-scaler</title><ul>\n"};
  for (const auto& [path, handler] : handlers) {
    absl::StrAppend(&reply.body, "<li><a href=\"", path, "\">", path, "</a>\n");
  }
  return reply;
}

}  // namespace

HttpReply AnswerRequest(const HttpHandlers& handlers, absl::string_view method,
                        const std::string& path) {
  if (method != "GET" && method != "HEAD") return {.status = 405, .body = "GET and HEAD only\n"};
  const auto handler = handlers.find(path);
  if (handler != handlers.end()) return handler->second();
  return path == "/" ? Index(handlers) : NotFound(handlers);
}

}  // namespace gpuscaler
