// A request to the web port and its reply, without the HTTP library.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace gpuscaler {

struct WebRequest {
  std::string path;                          // decoded, without the query
  std::map<std::string, std::string> query;  // decoded; the last one of each name
};

// The bytes may be shared by replies.
struct WebReply {
  int status = 200;
  std::string content_type = "application/json";
  std::shared_ptr<const std::string> body;  // never null
  std::shared_ptr<const std::string> gzip;  // the same, compressed; null: compressed if it is sent
};

inline WebReply JsonReply(std::string json) {
  return {.body = std::make_shared<const std::string>(std::move(json))};
}

// Returns {"error": "..."} with the HTTP status of the code: 400, 401, 403, 404, 410
// (OUT_OF_RANGE), or 503 for any other one.
WebReply ErrorReply(const absl::Status& error);

}  // namespace gpuscaler
