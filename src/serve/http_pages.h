// Dispatches HTTP requests by path.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "serve/http_server.h"

namespace gpuscaler {

using HttpHandlers = std::map<std::string, HttpServer::Handler>;

// `path` has no query. Returns 404 with the existing paths for an unknown one, and 405 for methods
// other than GET and HEAD. The caller omits the body for HEAD.
HttpReply AnswerRequest(const HttpHandlers& handlers, absl::string_view method,
                        const std::string& path);

}  // namespace gpuscaler
