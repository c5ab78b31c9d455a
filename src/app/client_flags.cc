#include "app/client_flags.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "role/config.h"

namespace gpuscaler {
namespace {

absl::Status Fault(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\": use HOST or HOST:PORT, with a port from 1 to 65535, such as ",
                   "localhost:6000"));
}

bool IsPort(absl::string_view text) {
  int port = 0;
  return std::ranges::all_of(text, absl::ascii_isdigit) && absl::SimpleAtoi(text, &port) &&
         port >= 1 && port <= 65535;
}

}  // namespace

std::vector<Flag> ClientFlags(ScalerClientOptions* client) {
  return {SwitchFlag("tls", "Use TLS, with the system's authorities.", &client->tls),
          TextFlag("tls-ca", "FILE", "CA of the scaler's certificate, PEM; implies --tls.",
                   &client->ca),
          TextFlag("tls-cert", "FILE", "Certificate of this client, PEM; implies --tls.",
                   &client->cert),
          TextFlag("tls-key", "FILE", "Private key of --tls-cert, PEM.", &client->key),
          TextFlag("tls-server-name", "NAME",
                   "Name in the scaler's certificate, where it is not the address's.",
                   &client->server_name)};
}

absl::StatusOr<std::string> ScalerAddress(absl::string_view text) {
  if (absl::StartsWith(text, "unix:")) return std::string(text);
  text = absl::StripPrefix(text, "dns:///");
  if (text.empty() || text.find_first_of("/ ") != absl::string_view::npos) return Fault(text);
  // An address with more than one colon and no brackets is IPv6.
  const bool ipv6 = text[0] != '[' && std::ranges::count(text, ':') > 1;
  const std::string address = ipv6 ? absl::StrCat("[", text, "]") : std::string(text);
  const size_t bracket = address.rfind(']');
  const size_t colon = address.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon == std::string::npos) return absl::StrCat(address, ":", Config().port);
  if (colon == 0 || !IsPort(absl::string_view(address).substr(colon + 1))) return Fault(text);
  return address;
}

absl::StatusOr<std::unique_ptr<ScalerClient>> OpenClient(const std::string& address,
                                                         ScalerClientOptions client) {
  ASSIGN_OR_RETURN(client.address, ScalerAddress(address));
  client.tls = client.tls || !client.ca.empty() || !client.cert.empty();
  return ScalerClient::Open(client);
}

}  // namespace gpuscaler
