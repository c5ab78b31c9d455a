#include "serve/http_pages.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gpuscaler {
namespace {

HttpReply NotFound(const HttpPages& pages) {
  const std::string paths =
      absl::StrJoin(pages, " ", [](std::string* out, const auto& page) { *out += page.first; });
  return {.status = 404, .body = absl::StrCat("not found; there are: ", paths, "\n")};
}

HttpReply Index(const HttpPages& pages) {
  HttpReply reply{.content_type = "text/html; charset=utf-8",
                  .body = "<!doctype html><title>keda-gpu-scaler</title><ul>\n"};
  for (const auto& [path, page] : pages) {
    absl::StrAppend(&reply.body, "<li><a href=\"", path, "\">", path, "</a>\n");
  }
  return reply;
}

}  // namespace

HttpReply AnswerRequest(const HttpPages& pages, absl::string_view method, const std::string& path) {
  if (method != "GET" && method != "HEAD") return {.status = 405, .body = "GET and HEAD only\n"};
  const auto page = pages.find(path);
  if (page != pages.end()) return page->second();
  return path == "/" ? Index(pages) : NotFound(pages);
}

}  // namespace gpuscaler
