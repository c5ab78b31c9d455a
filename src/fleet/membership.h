// Which agents there are, by the answers of DNS over time (DESIGN 6). No clock, no socket.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// An agent that says nothing for so long has fallen silent: two heartbeats (telemetry_service.h)
// and a little, less than the shortest --stale-after, so that it is given grace before its readings
// are stale. No --grace is shorter.
constexpr absl::Duration kQuiet = absl::Seconds(4);

struct FleetTimeouts {
  absl::Duration grace = absl::Seconds(15);        // --grace
  absl::Duration forget_after = absl::Minutes(5);  // --forget-after
  absl::Duration empty_after = absl::Minutes(1);   // --empty-after: until absence is believed
  absl::Duration stale_after = absl::InfiniteDuration();  // --stale-after: of a node's readings
};

// Only an answer counts: while DNS fails, the list stands and nobody comes nearer to being
// forgotten. Not thread-safe.
class Membership {
 public:
  explicit Membership(const FleetTimeouts& timeouts) : timeouts_(timeouts) {}

  // The addresses that there are, by an answer at `now`; times never go back.
  void Answered(const std::vector<std::string>& addresses, absl::Time now);

  // No answer yet.
  bool IsUnknown() const { return newest_answer_ == absl::InfinitePast(); }
  absl::Time newest_answer() const { return newest_answer_; }

  // In the newest answer.
  std::vector<std::string> Listed() const;
  bool IsListed(const std::string& address) const;

  // Until when decisions wait for one that was listed and never heard: empty_after. Its node was
  // there before we were, or before all were forgotten, and may have replicas that nobody here has
  // seen; but dead nodes stay listed, and the others have to be scaled. That answers lack it since
  // changes nothing, until it is forgotten: DNS may be wrong for a moment, and where its agent was
  // replaced that is the time for the successor to be heard. Of one that joins later the node is
  // new: InfinitePast.
  absl::Time AwaitedUntil(const std::string& address) const;

  // Answers have not listed it for forget_after.
  bool IsForgotten(const std::string& address) const;

  // Answers have been empty for empty_after: there is no GPU node at all. An answer stands until
  // the next one, for 20 s at most.
  bool IsEmpty(absl::Time now) const;

 private:
  struct Member {
    absl::Time listed_since;
    absl::Time missing_since = absl::InfiniteFuture();  // InfiniteFuture: listed
  };

  const FleetTimeouts timeouts_;
  std::map<std::string, Member> members_;  // that are not forgotten
  absl::Time newest_answer_ = absl::InfinitePast();
  // The first answer that listed anybody, of all or since all were forgotten.
  absl::Time peopled_at_ = absl::InfiniteFuture();
  absl::Time empty_since_ = absl::InfiniteFuture();  // InfiniteFuture: the newest is not empty
};

}  // namespace gpuscaler
