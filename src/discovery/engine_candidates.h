// Which of a pod's servers may be its inference engine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "discovery/listening_ports.h"

namespace gpuscaler {

// A pod with more servers than this is no engine's; the rest are not asked.
inline constexpr size_t kMostEngineCandidates = 16;

// From here on the kernel gives ports to those that ask for any (ip_local_port_range). Who listens
// there talks with its own workers (NCCL, Gloo, ZeroMQ), whom a stranger's request disturbs: asked
// only where an engine is used to listen.
inline constexpr int kFirstEphemeralPort = 32768;

// One server, who is there under each of its addresses: one of IPv4, one of IPv6, or both.
struct EngineCandidate {
  int port = 0;
  std::vector<std::string> addresses;  // without brackets, the likeliest first

  friend bool operator==(const EngineCandidate&, const EngineCandidate&) = default;
};

// In the order to ask them: the usual ports of engines as they are given, then upwards. `addresses`
// are the network's, the likeliest first.
//
// UNAVAILABLE: nothing listens yet, or only workers do, as while an engine loads its model.
// FAILED_PRECONDITION: nothing listens where others could ask, and what would change that.
absl::StatusOr<std::vector<EngineCandidate>> EngineCandidatesOf(
    absl::Span<const Listener> listeners, absl::Span<const std::string> addresses,
    absl::Span<const int> usual_ports);

// Where only the address is known, each of the usual ports.
std::vector<EngineCandidate> EngineCandidatesAt(const std::string& address,
                                                absl::Span<const int> usual_ports);

}  // namespace gpuscaler
