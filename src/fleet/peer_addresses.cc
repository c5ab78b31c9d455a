#include "fleet/peer_addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/cluster_domain.h"
#include "base/host_name.h"
#include "base/resolve.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kSoonest = absl::Seconds(1);

absl::Status Bad(const std::string& fault) {
  return absl::InvalidArgumentError(
      absl::StrCat(fault, "; use dns:///HOST:PORT or static:HOST:PORT,HOST:PORT"));
}

// Returns "10.0.0.7:" or "[fd00::7]:".
std::string BeforePort(const std::string& host) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return absl::StrCat(is_ipv6 ? "[" : "", host, is_ipv6 ? "]:" : ":");
}

struct HostAndPort {
  std::string host;  // an IPv6 address without brackets
  int port = 0;

  std::string Text() const { return absl::StrCat(BeforePort(host), port); }
};

absl::StatusOr<int> PortOf(absl::string_view text, absl::string_view whole) {
  int port = 0;
  if (text.empty() || !std::ranges::all_of(text, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &port) || port < 1 || port > 65535) {
    return Bad(absl::StrCat("no port 1-65535 in \"", whole, "\""));
  }
  return port;
}

// True for the zone of a link-local address, "%eth0", and for no zone.
bool IsZone(absl::string_view text) {
  return text.empty() || (text.size() > 1 && std::ranges::all_of(text, absl::ascii_isgraph));
}

// The form is canonical. Empty: not an IPv6 address.
std::string Ipv6Text(absl::string_view text) {
  const size_t zone = std::min(text.find('%'), text.size());
  if (!IsZone(text.substr(zone))) return "";
  in6_addr address;
  std::array<char, INET6_ADDRSTRLEN> shortest{};
  if (inet_pton(AF_INET6, std::string(text.substr(0, zone)).c_str(), &address) != 1) return "";
  inet_ntop(AF_INET6, &address, shortest.data(), shortest.size());
  return absl::StrCat(shortest.data(), text.substr(zone));
}

bool IsIpv4(const std::string& text) {
  in_addr address;
  return inet_pton(AF_INET, text.c_str(), &address) == 1;
}

absl::StatusOr<std::string> HostOf(absl::string_view text, absl::string_view whole) {
  if (text.empty()) return Bad(absl::StrCat("no host in \"", whole, "\""));
  absl::string_view inner = text;
  if (absl::ConsumePrefix(&inner, "[") && absl::ConsumeSuffix(&inner, "]")) {
    if (std::string host = Ipv6Text(inner); !host.empty()) return host;
    return Bad(absl::StrCat("\"", inner, "\" is no IPv6 address"));
  }
  if (!Ipv6Text(text).empty()) {
    return Bad(absl::StrCat("\"", text, "\" is an IPv6 address: write it in brackets"));
  }
  std::string host = absl::AsciiStrToLower(text);
  if (IsHostName(host) || IsIpv4(host)) return host;
  return Bad(absl::StrCat("\"", text,
                          "\" is no host: a name has letters, digits, hyphens, underscores and "
                          "dots, or it is an IP address"));
}

// The port follows the last colon.
absl::StatusOr<HostAndPort> Split(absl::string_view text) {
  const size_t colon = text.rfind(':');
  const bool has_port = colon != absl::string_view::npos;
  ASSIGN_OR_RETURN(const int port, PortOf(has_port ? text.substr(colon + 1) : "", text));
  ASSIGN_OR_RETURN(std::string host, HostOf(text.substr(0, colon), text));
  return HostAndPort{.host = std::move(host), .port = port};
}

absl::StatusOr<std::vector<std::string>> ParseList(absl::string_view text) {
  std::vector<std::string> addresses;
  for (const absl::string_view each : absl::StrSplit(text, ',')) {
    const absl::string_view entry = absl::StripAsciiWhitespace(each);
    if (entry.empty()) return Bad("an entry of the list is empty");
    ASSIGN_OR_RETURN(const HostAndPort split, Split(entry));
    if (std::ranges::find(addresses, split.Text()) != addresses.end()) {
      return Bad(absl::StrCat("\"", entry, "\" is given twice"));
    }
    addresses.push_back(split.Text());
  }
  return addresses;
}

absl::Status CheckIsOfThisCluster(const std::string& host) {
  const std::string domain = ClusterDomainHere();
  const absl::string_view name = absl::StripSuffix(host, ".");
  if (domain.empty() || !absl::StrContains(name, ".svc.") ||
      absl::EndsWith(name, absl::StrCat(".svc.", domain))) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(
      host, ": no such name, and by this pod's search list the cluster's domain is ", domain));
}

}  // namespace

std::string PeersOption::ServerName() const { return std::string(absl::StripSuffix(host, ".")); }

absl::StatusOr<PeersOption> ParsePeers(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "dns:///")) {
    ASSIGN_OR_RETURN(HostAndPort split, Split(rest));
    return PeersOption{.host = std::move(split.host), .port = split.port};
  }
  if (!absl::ConsumePrefix(&rest, "static:")) return Bad("neither dns:/// nor static:");
  PeersOption option;
  ASSIGN_OR_RETURN(option.addresses, ParseList(rest));
  return option;
}

absl::StatusOr<std::vector<std::string>> ResolveAll(const std::string& host, int port) {
  ASSIGN_OR_RETURN(std::vector<std::string> addresses, AddressesOf(host));
  if (addresses.empty()) RETURN_IF_ERROR(CheckIsOfThisCluster(host));
  for (std::string& address : addresses) address = HostAndPort{address, port}.Text();
  return addresses;
}

PeerAddresses::PeerAddresses(const PeersOption& option, std::function<void(const Answer&)> answered,
                             absl::Duration interval, Resolver resolver)
    : option_(option), answered_(std::move(answered)), resolver_(std::move(resolver)) {
  if (option_.IsFixed()) {
    Answered(option_.addresses);
  } else {
    resolving_ = std::make_unique<PeriodicThread>("peers dns", interval, [this] { Resolve(); });
  }
}

void PeerAddresses::Resolve() {
  {
    MutexLock lock(mutex_);
    resolved_at_ = real_.Now();
  }
  Answered(resolver_(option_.host, option_.port));
}

void PeerAddresses::Answered(const Answer& answer) {
  if (answer.ok()) {
    MutexLock lock(mutex_);
    last_good_ = *answer;
  }
  answered_(answer);
}

bool PeerAddresses::Lists(const std::string& host) const {
  const std::string start = BeforePort(host);
  MutexLock lock(mutex_);
  return std::ranges::any_of(
      last_good_, [&](const std::string& address) { return absl::StartsWith(address, start); });
}

void PeerAddresses::ResolveSoon() {
  if (resolving_ == nullptr) return;
  MutexLock lock(mutex_);
  resolving_->WakeIn(resolved_at_ + kSoonest - real_.Now());
}

}  // namespace gpuscaler
