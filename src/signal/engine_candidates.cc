#include "signal/engine_candidates.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signal/kernel_address.h"

namespace gpuscaler {
namespace {

constexpr char kAnyIpv4[] = "0.0.0.0";
constexpr char kAnyIpv6[] = "::";

// Addresses of a server that listens on all addresses. A socket for "::" serves both families
// unless IPV6_V6ONLY is set, which is not visible from outside.
std::vector<std::string> FirstOfEachFamily(absl::Span<const std::string> addresses,
                                           bool with_ipv6) {
  std::vector<std::string> first;
  for (const std::string& address : addresses) {
    const bool is_another = first.empty() || IsIpv6(first.front()) != IsIpv6(address);
    if (first.size() < 2 && is_another && (with_ipv6 || !IsIpv6(address))) first.push_back(address);
  }
  return first;
}

std::vector<std::string> AddressesOf(const Listener& listener,
                                     absl::Span<const std::string> addresses) {
  if (listener.address == kAnyIpv4) return FirstOfEachFamily(addresses, false);
  if (listener.address == kAnyIpv6) return FirstOfEachFamily(addresses, true);
  if (IsLoopback(listener.address) || IsLinkLocal(listener.address)) return {};
  return {listener.address};
}

// "127.0.0.1:8000, [::1]:8000": at most three.
std::string ListenersText(const std::set<std::string>& texts) {
  constexpr size_t kShown = 3;
  std::vector<std::string> shown;
  for (const std::string& text : texts) {
    if (shown.size() < kShown) shown.push_back(text);
  }
  return absl::StrCat(absl::StrJoin(shown, ", "), texts.size() > kShown ? " ..." : "");
}

std::string ListenerText(const Listener& listener) {
  const bool ipv6 = IsIpv6(listener.address);
  return absl::StrCat(ipv6 ? "[" : "", listener.address, ipv6 ? "]:" : ":", listener.port);
}

size_t IndexIn(absl::Span<const int> ports, int port) {
  return std::ranges::find(ports, port) - ports.begin();
}

// An engine listens once it has loaded its model. Its workers communicate from the start: on
// loopback, or on ports that the kernel assigned.
absl::Status WhyNone(absl::Span<const Listener> listeners, absl::Span<const int> default_ports) {
  if (listeners.empty()) return absl::UnavailableError("nothing listens in its network yet");
  std::set<std::string> within, unreached, others;
  for (const Listener& listener : listeners) {
    const bool is_default = IndexIn(default_ports, listener.port) < default_ports.size();
    const bool is_within = IsLoopback(listener.address) || IsLinkLocal(listener.address);
    const bool is_workers = !is_default && (is_within || listener.port >= kFirstEphemeralPort);
    (is_workers ? others : is_within ? within : unreached).insert(ListenerText(listener));
  }
  if (!within.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("it listens for its own pod alone, at ", ListenersText(within),
                     ": an engine has to listen on 0.0.0.0 to be read"));
  }
  if (!unreached.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("it listens at ", ListenersText(unreached),
                     ", and its network has no address of that kind"));
  }
  return absl::UnavailableError(
      absl::StrCat("no engine listens yet, only workers at ", ListenersText(others),
                   ": it is loading its model, or has to listen on 0.0.0.0 at a port below ",
                   kFirstEphemeralPort));
}

}  // namespace

absl::StatusOr<std::vector<EngineCandidate>> EngineCandidatesOf(
    absl::Span<const Listener> listeners, absl::Span<const std::string> addresses,
    absl::Span<const int> default_ports) {
  std::map<std::pair<size_t, int>, EngineCandidate> ordered;
  for (const Listener& listener : listeners) {
    const size_t index = IndexIn(default_ports, listener.port);
    if (index == default_ports.size() && listener.port >= kFirstEphemeralPort) continue;
    for (std::string& address : AddressesOf(listener, addresses)) {
      EngineCandidate& candidate = ordered[{index, listener.port}];
      candidate.port = listener.port;
      const bool is_new =
          std::ranges::find(candidate.addresses, address) == candidate.addresses.end();
      if (is_new) candidate.addresses.push_back(std::move(address));
    }
  }
  if (ordered.empty()) return WhyNone(listeners, default_ports);
  std::vector<EngineCandidate> candidates;
  for (auto& [key, candidate] : ordered) {
    if (candidates.size() < kMaxEngineCandidates) candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::vector<EngineCandidate> EngineCandidatesAt(const std::string& address,
                                                absl::Span<const int> default_ports) {
  std::vector<EngineCandidate> candidates;
  for (const int port : default_ports.subspan(0, kMaxEngineCandidates)) {
    candidates.push_back({.port = port, .addresses = {address}});
  }
  return candidates;
}

}  // namespace gpuscaler
