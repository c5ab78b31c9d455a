// The kernel's tables from which engines are found: trusted, but of any kernel version.
#include <cstdint>
#include <set>

#include "absl/strings/str_split.h"
#include "fuzz_assert.h"
#include "signal/engine_candidates.h"
#include "signal/kernel_address.h"
#include "signal/listening_ports.h"
#include "signal/network_addresses.h"
#include "workload/cgroup_pod.h"

namespace gpuscaler {
namespace {

void CheckAddresses(const std::vector<std::string>& addresses) {
  const std::set<std::string> once(addresses.begin(), addresses.end());
  FUZZ_ASSERT(once.size() == addresses.size());
  for (const std::string& address : addresses) {
    FUZZ_ASSERT(!IsLoopback(address) && !IsLinkLocal(address));
    FUZZ_ASSERT(IsIpv6(address) != Ipv4Number(address).has_value());
  }
}

void CheckCandidates(absl::Span<const Listener> listeners,
                     absl::Span<const std::string> addresses) {
  const auto candidates = EngineCandidatesOf(listeners, addresses, {8000, 40000});
  if (!candidates.ok()) {
    FUZZ_ASSERT(!candidates.status().message().empty());
    return;
  }
  FUZZ_ASSERT(!candidates->empty() && candidates->size() <= kMaxEngineCandidates);
  for (const EngineCandidate& candidate : *candidates) {
    FUZZ_ASSERT(candidate.port == 40000 || candidate.port < kFirstEphemeralPort);
    FUZZ_ASSERT(!candidate.addresses.empty());
  }
}

void CheckTables(absl::string_view text) {
  // A table of sockets, and the files with addresses.
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits("\n\n", 1));
  const std::string rest(parts.second);
  const std::vector<std::string> addresses =
      NetworkAddresses({.fib_trie = rest, .route = rest, .if_inet6 = rest, .ipv6_route = rest});
  CheckAddresses(addresses);
  const auto listeners = ParseListeners(parts.first);
  if (listeners.ok()) {
    for (const Listener& listener : *listeners) {
      FUZZ_ASSERT(listener.port >= 0 && listener.port <= 65535 && !listener.address.empty());
    }
    CheckCandidates(*listeners, addresses);
  }
  SocketsInUse(text, "TCP:");
  const std::string uid = PodUidIn(text);
  FUZZ_ASSERT(uid.empty() || uid.size() == 36 || uid.size() == 32);
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::CheckTables({reinterpret_cast<const char*>(data), size});
  return 0;
}
