// Where the agents are: --agents, and what DNS says to it.
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

struct AgentsOption {
  std::string host;  // of a headless Service, to be asked for again and again; empty: a fixed list
  int port = 0;
  // The fixed list, each once, however it was written: host:port, a name or in figures.
  std::vector<std::string> addresses;

  bool IsFixed() const { return host.empty(); }
  // What the agents' certificates bear, where they are found by name: the host without the dot that
  // ends a whole name in DNS. Empty: each its own address.
  std::string ServerName() const;
};

// "dns:///keda-gpu-scaler-agents.gpu.svc.cluster.local.:6001",
// "static:10.0.0.7:6001,[fd00::7]:6001". INVALID_ARGUMENT names what is wrong in it, and says what
// is allowed.
absl::StatusOr<AgentsOption> ParseAgents(absl::string_view text);

// AddressesOf(), each as host:port. UNAVAILABLE too: there are none, and the host is a Service's of
// another cluster domain than this pod's, where an empty list would mean that there is no GPU node.
absl::StatusOr<std::vector<std::string>> ResolveAll(const std::string& host, int port);

// Asks at once, every `interval` and, when told of a failure, soon. Thread-safe.
class AgentAddresses {
 public:
  using Answer = absl::StatusOr<std::vector<std::string>>;
  using Resolver = std::function<Answer(const std::string& host, int port)>;

  // `answered` gets each answer, on a thread of this; of a fixed list the one there is, now.
  AgentAddresses(const AgentsOption& option, std::function<void(const Answer&)> answered,
                 absl::Duration interval = absl::Seconds(10), Resolver resolver = ResolveAll);

  // An agent was lost: it may have gone elsewhere. Asks again, once a second at most.
  void AskSoon();

  // No further answer. False: the resolver hangs; the destructor would wait for it.
  bool Stop(absl::Duration timeout);

 private:
  void Ask();

  const AgentsOption option_;
  const std::function<void(const Answer&)> answered_;
  const Resolver resolver_;
  const SteadyClock real_;
  Mutex mutex_;
  absl::Time asked_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::unique_ptr<PeriodicThread> asking_;  // null: nothing to ask
};

}  // namespace gpuscaler
