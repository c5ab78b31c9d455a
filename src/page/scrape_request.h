// A request for one metrics exposition, and its response.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "page/prometheus_text.h"
#include "page/server_address.h"

namespace gpuscaler {

// Equal requests have equal responses.
struct ScrapeRequest {
  ServerAddress server;
  std::string path = "/metrics";  // including its query
  std::string bearer_token;       // secret; empty: none
  std::string login;              // secret, "user:password" of basic auth; empty: none

  // Returns "llm.team-a.svc:8000/metrics (10.1.2.3)" for messages, without query and secrets.
  std::string Place() const;
  // Returns the fault of a response with Place() in front. The text of `fault` may be the server's.
  absl::Status AtPlace(const absl::Status& fault) const;

  friend auto operator<=>(const ScrapeRequest&, const ScrapeRequest&) = default;
};

struct Page {
  ExpositionFormat format = ExpositionFormat::kText;
  std::string body;
};

}  // namespace gpuscaler
