#include "page/http_endpoint.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/host_name.h"
#include "base/status_macros.h"
#include "page/cidr_block.h"

namespace gpuscaler {
namespace {

constexpr size_t kLongestUrl = 2000;  // supported by all common servers and proxies

absl::Status Invalid(const std::string& fault) {
  return absl::InvalidArgumentError(
      absl::StrCat(fault, ": use http://HOST:PORT/PATH or https://HOST:PORT/PATH"));
}

bool ConsumeScheme(absl::string_view* url, absl::string_view scheme) {
  if (!absl::StartsWithIgnoreCase(*url, scheme)) return false;
  url->remove_prefix(scheme.size());
  return true;
}

// RFC 3986 3.3 and 3.4. All other characters must be percent-encoded.
bool IsPathCharacter(char c) {
  return absl::ascii_isalnum(c) || absl::StrContains("-._~%!$&'()*+,;=:@/?", c);
}

absl::StatusOr<std::string> PathOf(absl::string_view text) {
  if (absl::StrContains(text, '#')) return Invalid("a fragment (#...) is never sent to a server");
  if (!std::ranges::all_of(text, IsPathCharacter)) {
    return Invalid("a path or query has a character that must be percent-encoded there");
  }
  return absl::StartsWith(text, "?") ? absl::StrCat("/", text) : std::string(text);
}

absl::StatusOr<std::string> HostOf(absl::string_view text) {
  if (text.empty()) return Invalid("no host");
  absl::string_view inner = text;
  if (absl::ConsumePrefix(&inner, "[") && absl::ConsumeSuffix(&inner, "]")) {
    const std::optional<IpAddress> address = ParseIpAddress(inner);
    if (address.has_value() && absl::StrContains(inner, ':')) return IpAddressText(*address);
    return Invalid(absl::StrCat("\"", inner, "\" is no IPv6 address"));
  }
  std::string host = absl::AsciiStrToLower(text);
  if (IsHostName(host)) return host;
  const std::optional<IpAddress> address = ParseIpAddress(host);
  if (!address.has_value()) return Invalid(absl::StrCat("\"", text, "\" is no host"));
  if (!absl::StrContains(host, ':')) return host;
  return Invalid(absl::StrCat("\"", text, "\" is an IPv6 address: write it in brackets"));
}

absl::StatusOr<int> PortOf(absl::string_view text) {
  int port = 0;
  if (text.empty() || !std::ranges::all_of(text, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &port) || port < 1 || port > 65535) {
    return Invalid(absl::StrCat("\"", text, "\" is no port 1-65535"));
  }
  return port;
}

// The port follows the last colon, unless that is part of an IPv6 address.
size_t PortStart(absl::string_view authority) {
  const size_t colon = authority.rfind(':');
  if (colon == absl::string_view::npos) return authority.size();
  const bool is_bracketed = absl::StartsWith(authority, "[");
  if (is_bracketed) return authority[colon - 1] == ']' ? colon : authority.size();
  const bool is_only_one = authority.find(':') == colon;
  return is_only_one ? colon : authority.size();
}

absl::Status ReadAuthority(absl::string_view authority, HttpEndpoint& endpoint) {
  const size_t port_start = PortStart(authority);
  ASSIGN_OR_RETURN(endpoint.host, HostOf(authority.substr(0, port_start)));
  if (port_start < authority.size()) {
    ASSIGN_OR_RETURN(endpoint.port, PortOf(authority.substr(port_start + 1)));
  }
  return absl::OkStatus();
}

std::string Bracketed(absl::string_view host) {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]") : std::string(host);
}

}  // namespace

absl::StatusOr<HttpEndpoint> ParseHttpEndpoint(absl::string_view url) {
  if (url.size() > kLongestUrl) {
    return Invalid(absl::StrCat("longer than ", kLongestUrl, " characters"));
  }
  HttpEndpoint endpoint;
  absl::string_view rest = url;
  endpoint.tls = ConsumeScheme(&rest, "https://");
  if (!endpoint.tls && !ConsumeScheme(&rest, "http://"))
    return Invalid("neither http:// nor https://");
  const size_t authority_end = std::min(rest.find_first_of("/?#\\"), rest.size());
  const absl::string_view authority = rest.substr(0, authority_end);
  if (absl::StrContains(authority, '@')) {
    return Invalid("a user name or password does not belong into a URL (bearerToken is a key)");
  }
  ASSIGN_OR_RETURN(endpoint.path, PathOf(rest.substr(authority_end)));
  const absl::Status read = ReadAuthority(authority, endpoint);
  if (read.ok()) return endpoint;
  // A "/" or "?" in a password ends the authority too: the error must not quote the part before it.
  if (!absl::StrContains(rest, '@')) return read;
  return Invalid("no host and port, or a user name or password (bearerToken is a key)");
}

std::string HttpEndpoint::Text() const {
  return absl::StrCat(tls ? "https://" : "http://", Bracketed(host),
                      port.has_value() ? absl::StrCat(":", *port) : "",
                      path.substr(0, path.find('?')));
}

std::string HostAndPort(absl::string_view host, int port) {
  return absl::StrCat(Bracketed(host), ":", port);
}

}  // namespace gpuscaler
