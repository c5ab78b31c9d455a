#include "app/web_client.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file_text.h"
#include "base/status_macros.h"
#include "page/cidr_block.h"
#include "page/http_endpoint.h"

namespace gpuscaler {
namespace {

// Returns "" for an empty path.
absl::StatusOr<std::string> TextOfFile(const std::string& path) {
  return path.empty() ? "" : ReadFileText(path);
}

bool IsLoopback(const std::string& host) {
  const bool is_address = ParseIpAddress(host).has_value();  // no name such as 127.example.com
  return host == "localhost" || host == "::1" || (is_address && absl::StartsWith(host, "127."));
}

}  // namespace

std::vector<Flag> WebClientFlags(WebClientOptions* client) {
  std::vector<Flag> flags = ConnectionFlags(client);
  flags.insert(flags.begin(),
               TextFlag("server", "URL",
                        "Web address of the aggregator or standalone scaler, its --web-port.",
                        &client->server));
  return flags;
}

std::vector<Flag> ConnectionFlags(WebClientOptions* client) {
  return {
      TextFlag("tls-ca", "FILE",
               "CA of the server's certificate, PEM; without it the system's authorities.",
               &client->ca),
      TextFlag("tls-cert", "FILE", "Certificate of this client, PEM.", &client->cert),
      TextFlag("tls-key", "FILE", "Private key of --tls-cert, PEM.", &client->key),
      TextFlag("tls-server-name", "NAME",
               "Name in the server's certificate, where it is not the address's.",
               &client->server_name),
      TextFlag("token-file", "FILE", "Bearer token, sent with each request.", &client->token_file)};
}

std::string UrlEscaped(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_unreserved =
        absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (is_unreserved) {
      encoded += c;
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

absl::StatusOr<std::unique_ptr<HttpClient>> OpenWebClient(const WebClientOptions& options,
                                                          absl::string_view flag) {
  const absl::StatusOr<HttpEndpoint> server = ParseHttpEndpoint(options.server);
  if (!server.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --", flag, "=", options.server, ": ", server.status().message()));
  }
  if (!options.token_file.empty() && !server->tls && !IsLoopback(server->host)) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag --token-file: ", options.server,
                     " would get the token in plain text; use https, or kubectl port-forward"));
  }
  HttpClientOptions client = {.server_name = options.server_name, .timeout = options.timeout};
  ASSIGN_OR_RETURN(client.identity.ca, TextOfFile(options.ca));
  ASSIGN_OR_RETURN(client.identity.cert, TextOfFile(options.cert));
  ASSIGN_OR_RETURN(client.identity.key, TextOfFile(options.key));
  ASSIGN_OR_RETURN(const std::string token, TextOfFile(options.token_file));
  client.bearer_token = std::string(absl::StripAsciiWhitespace(token));
  return HttpClient::Open(options.server, client);
}

}  // namespace gpuscaler
