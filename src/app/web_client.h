// The address, TLS and token flags of commands that call the web API (docs/api.yaml) of a running
// scaler, or Prometheus.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "app/command.h"
#include "page/http_client.h"

namespace gpuscaler {

struct WebClientOptions {
  std::string server = "http://127.0.0.1:8082";
  std::string ca;  // files
  std::string cert;
  std::string key;
  std::string token_file;
  std::string server_name;  // in the certificate; empty: the host of `server`
  absl::Duration timeout = absl::Seconds(10);
};

// The flags set `client`, which must outlive them: --server, and those of ConnectionFlags().
std::vector<Flag> WebClientFlags(WebClientOptions* client);

// TLS and the token.
std::vector<Flag> ConnectionFlags(WebClientOptions* client);

// Percent-encodes all but the unreserved characters of RFC 3986.
std::string UrlEscaped(absl::string_view text);

// Returns INVALID_ARGUMENT for a bad URL, an unreadable file, or a token that would be sent in
// plain text to another host. `flag` is the one of `options.server`, for messages.
absl::StatusOr<std::unique_ptr<HttpClient>> OpenWebClient(const WebClientOptions& options,
                                                          absl::string_view flag = "server");

}  // namespace gpuscaler
