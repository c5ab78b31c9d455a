// Which agents there are, and which of them nobody has heard yet: whether a fleet is known well
// enough to decide on. No clock, no socket.
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

// Not thread-safe. `generation` is what counts as the newest, if this changes anything.
class AgentRegistry {
 public:
  // One agent by its last words.
  struct Agent {
    bool ever_received = false;  // all of the past that it had to tell, too
    bool connected = false;
    absl::Time received_at = absl::InfinitePast();
    std::string node;  // empty: not known yet
    std::string version;
    std::string trouble;        // why it does not read
    std::string lost;           // why the last stream ended
    absl::Duration read_every;  // its node; zero: not told
    // What is logged of its readings, which it can cause as fast as it talks.
    PassesLately lines{10, absl::Minutes(1)};
  };

  explicit AgentRegistry(const FleetTimeouts& timeouts)
      : timeouts_(timeouts), membership_(timeouts) {}

  // An answer of DNS: the agents that there are, or why that is not known.
  void Listed(const absl::StatusOr<std::vector<std::string>>& answer, absl::Time now,
              int64_t generation);

  // False: it was forgotten a moment ago, and nothing that it says counts.
  bool Received(const std::string& address, const AgentUpdate& update, int64_t generation);
  bool Lost(const std::string& address, const absl::Status& why);

  // Those that are forgotten now. An agent that is still heard is there, whatever DNS says.
  std::vector<std::string> Forget(absl::Time now, int64_t generation);

  // UNAVAILABLE while too little is known to decide on, where some node or none has told of itself.
  absl::Status CheckReady(bool any_node, absl::Time now) const;

  // Never heard, and listed or still awaited, as of the last change; by address.
  const std::vector<std::string>& unreached() const { return unreached_; }
  // The first of them with reasons, as far as they are known: "10.0.0.7:6001 (connection refused)".
  std::vector<std::string> UnreachedTexts(size_t most) const;
  bool none_listed() const { return none_listed_; }  // by the newest answer
  // Of the last change of those that decisions wait for, or say that they miss.
  int64_t generation() const { return generation_; }

  const std::map<std::string, Agent>& agents() const { return agents_; }  // by address
  bool IsListed(const std::string& address) const { return membership_.IsListed(address); }
  // Until when decisions wait for what it has not told yet.
  absl::Time AwaitedUntil(const std::string& address) const {
    return membership_.AwaitedUntil(address);
  }
  int64_t version() const { return version_; }  // counts up with whom agents() has
  // Why the newest question after them was not answered; empty: it was.
  const std::string& error() const { return error_; }
  int64_t forgotten() const { return forgotten_; }  // so far

 private:
  void LogAnswer(const absl::StatusOr<std::vector<std::string>>& answer) const;
  static void NoteTrouble(const std::string& address, const AgentUpdate& update, Agent& agent);
  void NoteInterval(const std::string& address, const AgentUpdate& update, Agent& agent) const;
  void Changed(absl::Time now, int64_t generation);
  // While it was never heard.
  bool IsMissed(const std::string& address, absl::Time now) const;
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
