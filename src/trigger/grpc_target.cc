#include "trigger/grpc_target.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace gpuscaler {
namespace {

constexpr std::array<absl::string_view, 2> kHostSchemes = {"dns", "passthrough"};
// Schemes that KEDA's libraries add.
constexpr std::array<absl::string_view, 4> kOtherSchemes = {"unix", "unix-abstract", "xds",
                                                            "google-c2p"};

template <size_t kSize>
bool IsAmong(const std::array<absl::string_view, kSize>& schemes, absl::string_view scheme) {
  return std::ranges::any_of(
      schemes, [scheme](absl::string_view known) { return absl::EqualsIgnoreCase(known, scheme); });
}

// fd00::1 has no port, so gRPC uses 443.
bool IsBareIpv6(absl::string_view endpoint) {
  return std::ranges::count(endpoint, ':') > 1 &&
         endpoint.find_first_not_of("0123456789abcdefABCDEF:.") == absl::string_view::npos;
}

void TakeHost(absl::string_view endpoint, GrpcTarget& target) {
  if (IsBareIpv6(endpoint)) {
    target.host = endpoint;
    return;
  }
  const bool in_brackets = absl::ConsumePrefix(&endpoint, "[");
  const size_t end = std::min(endpoint.find(in_brackets ? ']' : ':'), endpoint.size());
  target.host = endpoint.substr(0, end);
  endpoint.remove_prefix(end);
  if (in_brackets) absl::ConsumePrefix(&endpoint, "]");
  absl::ConsumePrefix(&endpoint, ":");
  target.port = endpoint;
}

// Parses the part after "dns:".
void TakeEndpoint(absl::string_view rest, GrpcTarget& target) {
  absl::string_view authority;
  if (absl::ConsumePrefix(&rest, "//")) {
    authority = rest.substr(0, rest.find('/'));
    rest.remove_prefix(authority.size());
  }
  absl::ConsumePrefix(&rest, "/");
  target.is_dns_server = rest.empty() && !authority.empty();
  TakeHost(target.is_dns_server ? authority : rest, target);
}

}  // namespace

bool IsHostAndPort(const GrpcTarget& target) {
  return target.scheme.empty() || IsAmong(kHostSchemes, target.scheme);
}

bool IsSocketOrMesh(const GrpcTarget& target) { return IsAmong(kOtherSchemes, target.scheme); }

GrpcTarget GrpcTargetIn(absl::string_view address) {
  GrpcTarget target;
  const size_t colon = std::min(address.find(':'), address.size());
  absl::string_view rest = absl::ClippedSubstr(address, colon + 1);
  target.scheme = address.substr(0, colon);
  const bool has_colon = colon < address.size();
  if (has_colon && IsAmong(kOtherSchemes, target.scheme)) return target;
  if (has_colon && IsAmong(kHostSchemes, target.scheme)) {
    TakeEndpoint(rest, target);
  } else if (absl::ConsumePrefix(&rest, "//")) {
    TakeHost(rest, target);
  } else {
    target.scheme = "";
    TakeHost(address, target);
  }
  return target;
}

}  // namespace gpuscaler
