// Which agents exist, and which of them have not reported yet: whether the fleet is known well
// enough to decide. No clock, no socket.
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
#include "fleet/membership.h"

namespace gpuscaler {

// Not thread-safe. `generation` is the number that a change gets, if the call changes anything.
class AgentRegistry {
 public:
  // The state of one agent after its last message.
  struct Agent {
    bool ever_received = false;  // its whole history has arrived
    bool connected = false;
    absl::Time received_at = absl::InfinitePast();
    std::string node;  // empty: not known yet
    std::string version;
    std::string trouble;        // why it has no readings; empty: it has
    std::string lost;           // why the last stream ended
    absl::Duration read_every;  // interval of its readings; zero: not known
    // Limits the log lines that the agent can cause with its messages.
    FixedWindowLimit lines{10, absl::Minutes(1)};
  };

  explicit AgentRegistry(const FleetTimeouts& timeouts)
      : timeouts_(timeouts), membership_(timeouts) {}

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
  bool none_listed() const { return none_listed_; }  // in the newest answer
  // The generation of the last change to what decisions wait for, or note as missing.
  int64_t generation() const { return generation_; }

  const std::map<std::string, Agent>& agents() const { return agents_; }  // key: address
  bool IsListed(const std::string& address) const { return membership_.IsListed(address); }
  // Returns until when decisions wait for readings and GPU holders that the agent has not sent yet.
  absl::Time AwaitedUntil(const std::string& address) const {
    return membership_.AwaitedUntil(address);
  }
  int64_t version() const { return version_; }  // counts changes of the set of agents
  // The error of the newest DNS lookup; empty: it succeeded.
  const std::string& error() const { return error_; }
  int64_t forgotten() const { return forgotten_; }  // in total

 private:
  void LogAnswer(const absl::StatusOr<std::vector<std::string>>& answer) const;
  static void LogTrouble(const std::string& address, const AgentUpdate& update, Agent& agent);
  void LogInterval(const std::string& address, const AgentUpdate& update, Agent& agent) const;
  void Changed(absl::Time now, int64_t generation);
  // Requires an agent that has never reported.
  bool IsMissing(const std::string& address, absl::Time now) const;
  void FirstReceived(const std::string& address, int64_t generation);
  const std::string& WhyUnreached(const std::string& address) const;
  absl::Status UnreachedStatus(const std::string& address) const;

  const FleetTimeouts timeouts_;
  Membership membership_;
  std::string error_;
  std::map<std::string, Agent> agents_;
  std::vector<std::string> unreached_;
  bool none_listed_ = false;
  int64_t generation_ = 0;
  int64_t version_ = 0;
  int64_t forgotten_ = 0;
};

}  // namespace gpuscaler
