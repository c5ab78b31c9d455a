#include "page/endpoint_rules.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/host_name.h"
#include "page/host_pattern.h"

namespace gpuscaler {
namespace {

// Blocks and what they are: IANA's special-purpose registries, and addresses at which clouds serve
// credentials to any client.
constexpr std::pair<absl::string_view, absl::string_view> kForbidden[] = {
    {"0.0.0.0/8", "this host (RFC 791)"},
    {"127.0.0.0/8", "loopback"},
    {"169.254.0.0/16", "link-local, where clouds have their metadata service"},
    {"100.100.100.200", "the metadata service of Alibaba Cloud"},
    {"168.63.129.16", "the wire server of Azure"},
    {"192.0.0.192", "the metadata service of Oracle Cloud"},
    {"224.0.0.0/4", "multicast"},
    {"255.255.255.255", "broadcast"},
    {"::", "unspecified"},
    {"::1", "loopback"},
    {"fe80::/10", "link-local"},
    {"fd00:ec2::/32", "the metadata service of AWS"},
    {"fd20:ce::254", "the metadata service of Google Cloud"},
    {"ff00::/8", "multicast"},
    {"fec0::/10", "site-local (RFC 3879)"},
    // Prefixes that embed an IPv4 address: a gateway or tunnel leads to it. Earlier rows are more
    // specific.
    {"::/96", "IPv4-compatible, which embeds another address (RFC 4291)"},
    {"::ffff:0:0:0/96", "IPv4-translated, which embeds another address (RFC 2765)"},
    {"64:ff9b:1::/48", "local-use NAT64, which embeds another address (RFC 8215)"},
    {"2001::/32", "Teredo, which embeds another address (RFC 4380)"},
    {"2002::/16", "6to4, which embeds another address (RFC 3056)"},
};

// RFC 6052: a gateway forwards to the IPv4 address in the last four bytes.
IpAddress BehindNat64(const IpAddress& address) {
  static const CidrBlock kNat64 = *ParseCidrBlock("64:ff9b::/96");
  if (!kNat64.Contains(address)) return address;
  IpAddress behind = *ParseIpAddress("0.0.0.0");
  std::copy(address.bytes.end() - 4, address.bytes.end(), behind.bytes.end() - 4);
  return behind;
}

}  // namespace

absl::StatusOr<AllowedEndpoints> ParseAllowedEndpoints(absl::string_view text) {
  AllowedEndpoints allowed;
  if (text.empty()) return allowed;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::string entry = absl::AsciiStrToLower(absl::StripAsciiWhitespace(part));
    if (const std::optional<CidrBlock> block = ParseCidrBlock(entry)) {
      allowed.blocks.push_back(*block);
    } else if (IsHostName(absl::StripPrefix(entry, "*."))) {
      allowed.hosts.push_back(entry);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", part,
                       "\" is no host name (redis.infra.svc, *.infra.svc), IP address or block of "
                       "addresses (10.1.0.0/16, without bits behind the prefix)"));
    }
  }
  return allowed;
}

absl::Status CheckClusterDomain(absl::string_view text) {
  const bool is_lower = std::ranges::none_of(text, [](char c) { return absl::ascii_isupper(c); });
  if (is_lower && !absl::EndsWith(text, ".") && IsHostName(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "use a DNS name in lower case, without a dot at its end, such as cluster.local");
}

bool EndpointRules::AllowsHost(absl::string_view host) const {
  return std::ranges::any_of(allowed_.hosts, [&](absl::string_view allowed) {
    return absl::ConsumePrefix(&allowed, "*") ? absl::EndsWith(host, allowed) : host == allowed;
  });
}

bool EndpointRules::AllowsAddress(const IpAddress& address) const {
  return std::ranges::any_of(allowed_.blocks,
                             [&](const CidrBlock& block) { return block.Contains(address); });
}

std::string EndpointRules::InNamespace(absl::string_view host,
                                       absl::string_view namespace_name) const {
  const std::string domain = absl::StrCat(".svc.", cluster_domain_);
  const bool bare = host.find('.') == absl::string_view::npos;
  if (bare) return absl::StrCat(host, ".", namespace_name, domain, ".");
  absl::ConsumeSuffix(&host, domain) || absl::ConsumeSuffix(&host, ".svc");
  const bool own = absl::EndsWith(host, absl::StrCat(".", namespace_name));
  return own ? absl::StrCat(host, domain, ".") : "";
}

absl::StatusOr<std::string> EndpointRules::NameToResolve(absl::string_view host,
                                                         absl::string_view namespace_name) const {
  const std::string name = absl::AsciiStrToLower(absl::StripSuffix(host, "."));
  if (const std::optional<IpAddress> address = ParseIpAddress(name)) {
    if (AllowsAddress(*address)) return name;
    return absl::PermissionDeniedError(
        absl::StrCat("an IP address may belong to another namespace: use the name of a Service of ",
                     "namespace ", namespace_name, ", or add the address to --allow-endpoints"));
  }
  if (AllowsHost(name)) return name;
  std::string own = InNamespace(name, namespace_name);
  if (IsHostName(own)) return own;
  if (!IsHostName(name)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", host, "\" is no host name"));
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "host ", name, " is not of namespace ", namespace_name, ": use NAME, NAME.", namespace_name,
      " or NAME.", namespace_name, ".svc, or add the host to --allow-endpoints"));
}

absl::Status EndpointRules::CheckAddress(const IpAddress& address) const {
  if (AllowsAddress(address)) return absl::OkStatus();
  const IpAddress reached = BehindNat64(address);
  for (const auto& [block, what] : kForbidden) {
    if (!ParseCidrBlock(block)->Contains(reached)) continue;
    return absl::PermissionDeniedError(absl::StrCat("address ", IpAddressText(address), " is ",
                                                    what, ": only --allow-endpoints can open it"));
  }
  return absl::OkStatus();
}

absl::Status EndpointRules::CheckAlias(absl::string_view name, absl::string_view namespace_name,
                                       absl::string_view canonical_name,
                                       const std::vector<IpAddress>& addresses) const {
  name = absl::StripSuffix(name, ".");
  const std::string alias = absl::AsciiStrToLower(absl::StripSuffix(canonical_name, "."));
  // A canonical name is absolute: "llm.team-a" is in the top-level domain team-a.
  const std::string own = absl::StrCat(".", namespace_name, ".svc.", cluster_domain_);
  if (alias == name || absl::EndsWith(alias, own)) return absl::OkStatus();
  if (MatchesAny(allowed_.hosts, name, cluster_domain_)) return absl::OkStatus();
  if (MatchesAny(allowed_.hosts, alias, cluster_domain_)) return absl::OkStatus();
  const auto is_allowed = [&](const IpAddress& address) { return AllowsAddress(address); };
  if (!addresses.empty() && std::ranges::all_of(addresses, is_allowed)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("host ", name, " is an alias of ", alias,
                                                  ", which is not of namespace ", namespace_name,
                                                  ": only --allow-endpoints can open it"));
}

}  // namespace gpuscaler
