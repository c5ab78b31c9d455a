#include "fleet/agent_addresses.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kSoonest = absl::Seconds(1);

absl::Status Bad(absl::string_view text, absl::string_view fault) {
  return absl::InvalidArgumentError(absl::StrCat(
      "agents=\"", text, "\": ", fault, "; use dns:///HOST:PORT or static:HOST:PORT,HOST:PORT"));
}

struct HostAndPort {
  absl::string_view host;
  int port = 0;
};

// The port is behind the last colon; an IPv6 address stands in brackets.
absl::StatusOr<HostAndPort> Split(absl::string_view text, absl::string_view whole) {
  const size_t colon = text.rfind(':');
  HostAndPort split;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(text.substr(colon + 1), &split.port) ||
      split.port < 1 || split.port > 65535) {
    return Bad(whole, absl::StrCat("no port 1-65535 in \"", text, "\""));
  }
  split.host = text.substr(0, colon);
  const bool bracketed =
      absl::ConsumePrefix(&split.host, "[") && absl::ConsumeSuffix(&split.host, "]");
  const bool has_colon = split.host.find(':') != absl::string_view::npos;
  if (split.host.empty() || (has_colon && !bracketed)) {
    return Bad(whole, absl::StrCat("no host in \"", text, "\""));
  }
  return split;
}

// "10.0.0.7:6001", "[fd00::7]:6001"; empty: not an address of the Internet.
std::string AddressText(const addrinfo& address, int port) {
  std::array<char, NI_MAXHOST> text;
  if (getnameinfo(address.ai_addr, address.ai_addrlen, text.data(), text.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return "";
  }
  if (address.ai_family == AF_INET6) return absl::StrCat("[", text.data(), "]:", port);
  return absl::StrCat(text.data(), ":", port);
}

}  // namespace

absl::StatusOr<AgentsOption> ParseAgents(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "dns:///")) {
    ASSIGN_OR_RETURN(const HostAndPort split, Split(rest, text));
    return AgentsOption{.host = std::string(split.host), .port = split.port};
  }
  if (!absl::ConsumePrefix(&rest, "static:")) return Bad(text, "neither dns:/// nor static:");
  AgentsOption option;
  for (const absl::string_view each : absl::StrSplit(rest, ',')) {
    const absl::string_view address = absl::StripAsciiWhitespace(each);
    RETURN_IF_ERROR(Split(address, text).status());
    option.addresses.emplace_back(address);
  }
  return option;
}

absl::StatusOr<std::vector<std::string>> ResolveAll(const std::string& host, int port) {
  const addrinfo hints = {.ai_socktype = SOCK_STREAM};  // else each address comes three times
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error == EAI_NONAME || error == EAI_NODATA) return std::vector<std::string>();
  if (error != 0) {
    const std::string why = error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
    return absl::UnavailableError(absl::StrCat(host, ": ", why));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::set<std::string> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    addresses.insert(AddressText(*each, port));
  }
  addresses.erase("");
  return std::vector<std::string>(addresses.begin(), addresses.end());
}

AgentAddresses::AgentAddresses(const AgentsOption& option,
                               std::function<void(const Answer&)> answered, absl::Duration interval,
                               Resolver resolver)
    : option_(option), answered_(std::move(answered)), resolver_(std::move(resolver)) {
  if (option_.IsFixed()) {
    answered_(option_.addresses);
  } else {
    asking_ = std::make_unique<PeriodicThread>("agents dns", interval, [this] { Ask(); });
  }
}

void AgentAddresses::Ask() {
  {
    MutexLock lock(mutex_);
    asked_at_ = real_.Now();
  }
  answered_(resolver_(option_.host, option_.port));
}

void AgentAddresses::AskSoon() {
  if (asking_ == nullptr) return;
  MutexLock lock(mutex_);
  asking_->WakeIn(asked_at_ + kSoonest - real_.Now());
}

bool AgentAddresses::Stop(absl::Duration patience) {
  return asking_ == nullptr || asking_->Stop(patience);
}

}  // namespace gpuscaler
