#include "role/option_checks.h"

#include <sys/un.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/host_name.h"
#include "base/status_macros.h"
#include "fleet/peer_addresses.h"
#include "page/cidr_block.h"
#include "role/allowed_namespaces.h"

namespace gpuscaler {
namespace {

bool IsAddress(absl::string_view text) { return ParseIpAddress(text).has_value(); }

}  // namespace

absl::Status CheckAddress(absl::string_view text) {
  if (IsAddress(text)) return absl::OkStatus();
  return absl::InvalidArgumentError("use an IPv4 or IPv6 address, without brackets or port");
}

absl::Status CheckAgents(absl::string_view text) {
  return text.empty() ? absl::OkStatus() : ParsePeers(text).status();
}

// Agents compare the IP addresses of readers, and names in a static list are not resolved.
absl::Status CheckAggregators(absl::string_view text) {
  if (text.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PeersOption option, ParsePeers(text));
  for (const std::string& address : option.addresses) {
    absl::string_view host = absl::string_view(address).substr(0, address.rfind(':'));
    if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
    if (IsAddress(host)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", host, "\" is no IP address; use static:IP:PORT,IP:PORT, or dns:///HOST:PORT"));
  }
  return absl::OkStatus();
}

absl::Status CheckHost(absl::string_view text) {
  if (text.empty() || IsHostName(text) || IsAddress(text)) return absl::OkStatus();
  return absl::InvalidArgumentError("use the name of a host (RFC 1123), without a port");
}

absl::Status CheckHosts(absl::string_view text) {
  for (const absl::string_view host : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    if (IsHostName(host) || IsAddress(host)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("use HOST,... without ports; \"", host, "\" is neither name nor IP address"));
  }
  return absl::OkStatus();
}

absl::Status CheckSocketPath(absl::string_view text) {
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (absl::StartsWith(text, "/") && text.size() <= kLongest) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("use an absolute path of at most ", kLongest,
                                                 " bytes, as the kernel takes for a socket"));
}

absl::Status CheckAnySocketPath(absl::string_view text) {
  return text.empty() ? absl::OkStatus() : CheckSocketPath(text);
}

absl::Status CheckOwnPod(absl::string_view text) {
  const size_t slash = text.find('/');
  const bool has_both = slash != absl::string_view::npos && slash > 0 && slash + 1 < text.size() &&
                        text.find('/', slash + 1) == absl::string_view::npos;
  if (text.empty() || has_both) return absl::OkStatus();
  return absl::InvalidArgumentError("use NAMESPACE/NAME, or leave it empty");
}

absl::Status CheckCurrency(absl::string_view text) {
  constexpr size_t kCodeLength = 3;
  const bool is_code = text.size() == kCodeLength && std::ranges::all_of(text, absl::ascii_isupper);
  if (text.empty() || is_code) return absl::OkStatus();
  return absl::InvalidArgumentError("use a currency's code of three capital letters, such as USD");
}

absl::Status CheckNamespaces(absl::string_view text) {
  for (const absl::string_view name : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    if (IsNamespace(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("use NAMESPACE,...; \"", name, "\" is no namespace's name"));
  }
  return absl::OkStatus();
}

}  // namespace gpuscaler
