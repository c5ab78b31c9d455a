// Which servers of a pod may be its inference engine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "signal/listening_ports.h"

namespace gpuscaler {

// A pod with more servers is not an engine's pod; the rest are not probed.
inline constexpr size_t kMaxEngineCandidates = 16;

// From this port on the kernel assigns ports to sockets that ask for any (ip_local_port_range).
// Engines use such ports between their own workers (NCCL, Gloo, ZeroMQ), which a foreign request
// disturbs. So they are probed only if they are an engine's default port.
inline constexpr int kFirstEphemeralPort = 32768;

// One server at all its addresses: one of IPv4, one of IPv6, or both.
struct EngineCandidate {
  int port = 0;
  std::vector<std::string> addresses;  // without brackets, the likeliest first

  friend bool operator==(const EngineCandidate&, const EngineCandidate&) = default;
};

// Returns the candidates in the order to probe them: the engines' default ports as given, then
// ascending. `addresses` are those of the network, the likeliest first.
//
// UNAVAILABLE: nothing listens yet, or only workers do, as while an engine loads its model.
// FAILED_PRECONDITION: no server is reachable from outside; the message names the remedy.
absl::StatusOr<std::vector<EngineCandidate>> EngineCandidatesOf(
    absl::Span<const Listener> listeners, absl::Span<const std::string> addresses,
    absl::Span<const int> default_ports);

// Used for a pod of which only the address is known.
std::vector<EngineCandidate> EngineCandidatesAt(const std::string& address,
                                                absl::Span<const int> default_ports);

}  // namespace gpuscaler
