// Which page answers which path.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "serve/http_server.h"

namespace gpuscaler {

using HttpPages = std::map<std::string, HttpServer::Page>;

// 404 lists the paths there are, 405 comes for anything but GET and HEAD (whose body the caller
// leaves out). `path` without its query.
HttpReply AnswerRequest(const HttpPages& pages, absl::string_view method, const std::string& path);

}  // namespace gpuscaler
