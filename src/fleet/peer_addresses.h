// Addresses of the fleet's other processes: a fixed list, or DNS's answers for a headless Service.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"

namespace gpuscaler {

// The value of --agents.
struct PeersOption {
  std::string host;  // a headless Service, resolved periodically; empty: a fixed list
  int port = 0;
  // The fixed list, without duplicates, normalized: host:port, a name or an IP address.
  std::vector<std::string> addresses;

  bool IsFixed() const { return host.empty(); }
  // Returns the name in the peers' certificates: the host without the trailing dot. Empty for a
  // fixed list: each peer has its own address.
  std::string ServerName() const;
};

// "dns:///keda-gpu-scaler-agents.gpu.svc.cluster.local.:6001",
// "static:10.0.0.7:6001,[fd00::7]:6001". INVALID_ARGUMENT names the fault, and the allowed forms.
absl::StatusOr<PeersOption> ParsePeers(absl::string_view text);

// Returns the host's addresses, each as address:port; none if DNS confirms that there are none.
// UNAVAILABLE: the lookup failed, or returned none for a Service in another cluster domain than
// this pod's. That name is probably wrong, and no address would mean that the Service has no pods.
absl::StatusOr<std::vector<std::string>> ResolveAll(const std::string& host, int port);

// Resolves at once, every `interval` and, after a failure of a peer, soon. Thread-safe.
class PeerAddresses {
 public:
  using Answer = absl::StatusOr<std::vector<std::string>>;
  using Resolver = std::function<Answer(const std::string& host, int port)>;

  // Calls `answered` with each answer, on this object's thread. A fixed list is one answer, in the
  // constructor.
  PeerAddresses(const PeersOption& option, std::function<void(const Answer&)> answered,
                absl::Duration interval = absl::Seconds(10), Resolver resolver = ResolveAll);

  // Returns true if the last good answer lists an address at this host, with any port. `host` is an
  // IP address without brackets.
  bool Lists(const std::string& host) const;

  // Resolves again soon, at most once a second: a peer was lost or is not listed, and may have
  // another address.
  void ResolveSoon();

  // Must be stopped at shutdown: the resolver may hang. Null for a fixed list.
  PeriodicThread* thread() { return resolving_.get(); }

 private:
  void Resolve();
  void Answered(const Answer& answer);

  const PeersOption option_;
  const std::function<void(const Answer&)> answered_;
  const Resolver resolver_;
  const SteadyClock real_;
  mutable Mutex mutex_;
  std::vector<std::string> last_good_ ABSL_GUARDED_BY(mutex_);
  absl::Time resolved_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::unique_ptr<PeriodicThread> resolving_;  // null: a fixed list
};

}  // namespace gpuscaler
