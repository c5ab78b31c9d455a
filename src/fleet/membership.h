// The agents that exist, from the answers of DNS over time. No clock, no socket.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// An agent without a message for this long is idle: two heartbeats (telemetry_service.h) and a
// little. It is less than the shortest --stale-after, so that the agent gets grace before its
// readings are stale. No --grace is shorter.
constexpr absl::Duration kQuiet = absl::Seconds(4);

struct FleetTimeouts {
  absl::Duration grace = absl::Seconds(15);               // --grace
  absl::Duration forget_after = absl::Minutes(5);         // --forget-after
  absl::Duration empty_after = absl::Minutes(1);          // --empty-after: until absence counts
  absl::Duration stale_after = absl::InfiniteDuration();  // --stale-after: of a node's readings
};

// Only answers count: while DNS fails, the list stays and no agent comes closer to being forgotten.
// Not thread-safe.
class Membership {
 public:
  explicit Membership(const FleetTimeouts& timeouts) : timeouts_(timeouts) {}

  // Takes the addresses of an answer at `now`. Times must never go back.
  void Answered(const std::vector<std::string>& addresses, absl::Time now);

  // Returns true before the first answer.
  bool IsUnknown() const { return newest_answer_ == absl::InfinitePast(); }
  absl::Time newest_answer() const { return newest_answer_; }

  // Returns the addresses in the newest answer.
  std::vector<std::string> Listed() const;
  bool IsListed(const std::string& address) const;

  // Returns until when decisions wait for an agent that was listed and has never reported: for
  // empty_after. Its node existed before we began, or before all agents were forgotten, and may
  // have unreported replicas. Dead nodes stay listed, though, and the others must be scaled. An
  // agent that answers no longer list is still awaited until it is forgotten: DNS may be wrong for
  // a moment, and a replaced agent's successor needs that time to report. InfinitePast for an agent
  // that joined later: its node is new.
  absl::Time AwaitedUntil(const std::string& address) const;

  // Returns true if answers have not listed it for forget_after.
  bool IsForgotten(const std::string& address) const;

  // Returns true if answers have been empty for empty_after: there is no GPU node. An answer is
  // valid until the next one, for 20 s at most.
  bool IsEmpty(absl::Time now) const;

 private:
  struct Member {
    absl::Time listed_since;
    absl::Time missing_since = absl::InfiniteFuture();  // InfiniteFuture: listed
  };

  const FleetTimeouts timeouts_;
  std::map<std::string, Member> members_;  // not forgotten
  absl::Time newest_answer_ = absl::InfinitePast();
  // The first answer with an agent, since the start or since all were forgotten.
  absl::Time started_at_ = absl::InfiniteFuture();
  absl::Time empty_since_ =
      absl::InfiniteFuture();  // InfiniteFuture: the newest answer is not empty
};

}  // namespace gpuscaler
