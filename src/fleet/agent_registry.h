// The agents that DNS lists, and which of them have not reported yet. Determines whether enough of
// the fleet is known for decisions. Has no clock and no socket.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/rate_limit.h"
#include "fleet/agent_update.h"
#include "fleet/fleet_timeouts.h"

namespace gpuscaler {

// Not thread-safe. Times must never go back. A call that changes what decisions depend on sets
// generation() to its argument `generation`, which must count up.
class AgentRegistry {
 public:
  // The state of one agent after its last message and the newest answer of DNS.
  struct Agent {
    // When DNS answers began to list it. InfinitePast: it is forgotten, because answers have
    // omitted it for forget_after. A failed lookup is no answer, and forgets no agent.
    absl::Time listed_since = absl::InfinitePast();
    // When answers began to omit it. InfiniteFuture: the newest answer lists it.
    absl::Time missing_since = absl::InfiniteFuture();

    bool ever_received = false;  // its whole history has arrived
    bool connected = false;
    absl::Time received_at = absl::InfinitePast();
    std::string node;  // empty: not known yet
    std::string version;
    std::string reading_error;  // why its node has no fresh reading; empty: it has one
    std::string stream_error;   // why its stream ended; empty: it has not
    absl::Duration read_every;  // interval of its readings; zero: not known
    // Limits the log lines that the agent can cause with its messages.
    FixedWindowLimit lines{10, absl::Minutes(1)};

    bool IsListed() const { return missing_since == absl::InfiniteFuture(); }
    bool IsForgotten() const { return listed_since == absl::InfinitePast(); }
  };

  explicit AgentRegistry(const FleetTimeouts& timeouts) : timeouts_(timeouts) {}

  // Takes an answer of DNS: the agents that exist, or the error.
  void Listed(const absl::StatusOr<std::vector<std::string>>& answer, absl::Time now,
              int64_t generation);

  // Returns false if the agent was forgotten a moment ago: its message must be ignored.
  bool Received(const std::string& address, const AgentUpdate& update, int64_t generation);
  bool Lost(const std::string& address, const absl::Status& why);

  // Returns the agents that are forgotten now. An agent that still reports is not forgotten, though
  // DNS does not list it.
  std::vector<std::string> Forget(absl::Time now, int64_t generation);

  // Returns UNAVAILABLE while too little is known to decide. `any_node`: at least one node has
  // readings.
  absl::Status CheckReady(bool any_node, absl::Time now) const;

  // Agents without any reading that are listed or still awaited, as of the last change; sorted.
  const std::vector<std::string>& unreached() const { return unreached_; }
  // Returns the first `most` of them, with the reason if it is known: "10.0.0.7:6001 (connection
  // refused)".
  std::vector<std::string> UnreachedTexts(size_t most) const;
  // True if the newest answer lists no agent.
  bool none_listed() const { return empty_since_ != absl::InfiniteFuture(); }
  // True before the first successful lookup.
  bool HasNoAnswer() const { return newest_answer_ == absl::InfinitePast(); }
  // Returns true if answers have been empty for empty_after: there is no GPU node. An answer is
  // valid until the next one, for 20 s at most.
  bool IsEmpty(absl::Time now) const;
  // The generation of the last change to what decisions wait for, or note as missing.
  int64_t generation() const { return generation_; }

  const std::map<std::string, Agent>& agents() const { return agents_; }  // key: address
  // Returns until when decisions wait for readings and GPU holders that the agent has not sent yet.
  //
  // The wait is empty_after for an agent that was listed within `grace` of the first answer with an
  // agent, since the start or since all agents were forgotten. Its node existed before, and may
  // have replicas that no agent has reported. The wait has an end, because DNS may list the agent
  // of a dead node, and workloads on other nodes must still be scaled. If answers omit the agent,
  // the wait lasts until the agent is forgotten: the answer may be wrong, and the successor of a
  // replaced agent needs that time to report.
  //
  // InfinitePast: the agent joined later, so its node is new.
  absl::Time AwaitedUntil(const std::string& address) const;
  int64_t version() const { return version_; }  // counts changes of the set of agents
  // The error of the newest DNS lookup; empty: it succeeded.
  const std::string& error() const { return error_; }
  int64_t forgotten() const { return forgotten_; }  // in total

 private:
  void LogAnswer(const absl::StatusOr<std::vector<std::string>>& answer) const;
  void TakeAnswer(const std::vector<std::string>& addresses, absl::Time now);
  std::vector<std::string> ListedAddresses() const;
  static void LogTrouble(const std::string& address, const AgentUpdate& update, Agent& agent);
  void LogInterval(const std::string& address, const AgentUpdate& update, Agent& agent) const;
  void Changed(absl::Time now, int64_t generation);
  // Requires an agent that has never reported.
  bool IsMissing(const std::string& address, absl::Time now) const;
  void FirstReceived(const std::string& address, int64_t generation);
  const std::string& WhyUnreached(const std::string& address) const;
  absl::Status UnreachedStatus(const std::string& address) const;

  const FleetTimeouts timeouts_;
  absl::Time newest_answer_ = absl::InfinitePast();
  // The first answer with an agent, since the start or since all were forgotten.
  absl::Time started_at_ = absl::InfiniteFuture();
  // InfiniteFuture: the newest answer is not empty.
  absl::Time empty_since_ = absl::InfiniteFuture();
  std::string error_;
  std::map<std::string, Agent> agents_;
  std::vector<std::string> unreached_;
  int64_t generation_ = 0;
  int64_t version_ = 0;
  int64_t forgotten_ = 0;
};

}  // namespace gpuscaler
