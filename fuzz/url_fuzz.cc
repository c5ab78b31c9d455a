// Endpoint URLs, which tenants write, and the rules on where they may lead. An input has a line
// each: a URL, a host or IP address, the canonical name in a DNS reply.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/host_name.h"
#include "fuzz_assert.h"
#include "page/cidr_block.h"
#include "page/endpoint_rules.h"
#include "page/http_endpoint.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kSecret = "hunter2hunter2";
constexpr absl::string_view kNamespace = "team-a";
constexpr absl::string_view kDomain = ".team-a.svc.cluster.local";

bool IsClean(absl::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c >= 0x7f || c == '#' || c == '\\') return false;
  }
  return true;
}

// Returns the URL with a secret in place of each "*" that is in a query or before an @.
std::string WithSecrets(absl::string_view url) {
  const size_t query = url.find('?'), at = url.rfind('@');
  std::string planted;
  for (size_t i = 0; i < url.size(); ++i) {
    const bool is_secret = i > query || (at != absl::string_view::npos && i < at);
    const absl::string_view part = url[i] == '*' && is_secret ? kSecret : url.substr(i, 1);
    absl::StrAppend(&planted, part);
  }
  return planted;
}

void CheckUrl(absl::string_view written) {
  const std::string url = WithSecrets(written);
  const auto endpoint = ParseHttpEndpoint(url);
  if (!endpoint.ok()) {
    FUZZ_ASSERT(endpoint.status().code() == absl::StatusCode::kInvalidArgument);
    FUZZ_ASSERT(!endpoint.status().message().empty());
    FUZZ_ASSERT(absl::StrContains(written, kSecret) ||
                !absl::StrContains(endpoint.status().message(), kSecret));
    return;
  }
  FUZZ_ASSERT(IsHostName(endpoint->host) || ParseIpAddress(endpoint->host).has_value());
  FUZZ_ASSERT(endpoint->PortOfScheme() >= 1 && endpoint->PortOfScheme() <= 65535);
  FUZZ_ASSERT(endpoint->path.empty() || absl::StartsWith(endpoint->path, "/"));
  FUZZ_ASSERT(IsClean(endpoint->path) && !absl::StrContains(endpoint->Text(), '?'));

  HttpEndpoint without_query = *endpoint;
  without_query.path = without_query.path.substr(0, without_query.path.find('?'));
  const auto again = ParseHttpEndpoint(endpoint->Text());
  FUZZ_ASSERT(again.ok() && *again == without_query);
}

// The rules allow nothing besides the namespace's own Services.
void CheckNames(const EndpointRules& rules, absl::string_view host, absl::string_view canonical) {
  const auto name = rules.NameToResolve(host, kNamespace);
  if (!name.ok()) {
    FUZZ_ASSERT(absl::IsPermissionDenied(name.status()) || absl::IsInvalidArgument(name.status()));
    return;
  }
  FUZZ_ASSERT(absl::EndsWith(*name, absl::StrCat(kDomain, ".")) && name->front() != '.');
  FUZZ_ASSERT(std::ranges::all_of(
      *name, [](char c) { return absl::ascii_isalnum(c) || absl::StrContains("-_.", c); }));
  FUZZ_ASSERT(*name == absl::AsciiStrToLower(*name) && !ParseIpAddress(*name).has_value());
  const absl::Status alias = rules.CheckAlias(*name, kNamespace, canonical, {});
  const std::string absolute = absl::AsciiStrToLower(absl::StripSuffix(canonical, "."));
  FUZZ_ASSERT(alias.ok() == absl::EndsWith(absolute, kDomain));
}

// `first` has the first bytes of the address, `last` the last ones.
IpAddress AddressOf(const std::vector<uint8_t>& first, const std::vector<uint8_t>& last) {
  IpAddress address;
  std::ranges::copy(first, address.bytes.begin());
  std::ranges::copy(last, address.bytes.end() - static_cast<std::ptrdiff_t>(last.size()));
  return address;
}

// Returns an address of this host or link, or a multicast one, in one of the forms that embed it.
IpAddress ForbiddenAddress(uint8_t kind, uint8_t form, uint8_t b, uint8_t c, uint8_t d) {
  const std::vector<uint8_t> kinds[] = {{0, b, c, d},
                                        {127, b, c, d},
                                        {169, 254, c, d},
                                        {static_cast<uint8_t>(224 + b % 16), b, c, d}};
  const std::vector<uint8_t>& ipv4 = kinds[kind % std::size(kinds)];
  const IpAddress forms[] = {
      AddressOf({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, ipv4),  // ::ffff:127.0.0.1
      AddressOf({0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, ipv4),        // ::ffff:0:127.0.0.1
      AddressOf({}, ipv4),                                          // ::127.0.0.1
      AddressOf({0, 0x64, 0xff, 0x9b}, ipv4),                       // 64:ff9b::127.0.0.1
      AddressOf({0, 0x64, 0xff, 0x9b, 0, 1, b, c, d}, ipv4),        // 64:ff9b:1::127.0.0.1
      AddressOf({0x20, 0x01, 0, 0, b, c, d}, ipv4),                 // Teredo
      AddressOf({0x20, 0x02, ipv4[0], ipv4[1], ipv4[2], ipv4[3]}, {b, c, d}),  // 6to4
      AddressOf({0xfe, static_cast<uint8_t>(128 + b % 128)}, {c, d}),          // fe80::, fec0::
      AddressOf({0xff, b}, {c, d}),
      AddressOf({}, {1})};
  return forms[form % std::size(forms)];
}

void CheckInput(absl::string_view text) {
  static const EndpointRules& rules = *new EndpointRules(AllowedEndpoints{});
  std::vector<std::string> lines = absl::StrSplit(text, absl::MaxSplits('\n', 2));
  lines.resize(3);
  CheckUrl(lines[0]);
  CheckNames(rules, lines[1], lines[2]);
  lines[1].resize(5);
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(lines[1][i]); };
  const IpAddress address = ForbiddenAddress(byte(0), byte(1), byte(2), byte(3), byte(4));
  FUZZ_ASSERT(absl::IsPermissionDenied(rules.CheckAddress(address)));
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
