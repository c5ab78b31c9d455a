// Decides which of many targets to poll when. Pure: each call passes the time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// Each target is due once per interval, and the targets are spread over it: a thousand simultaneous
// requests would cause a second of queueing. A new target is due at once, because a trigger waits
// for it. A target with an unfinished poll is never due. Not thread-safe.
class PollSchedule {
 public:
  using Id = uint64_t;

  explicit PollSchedule(absl::Duration interval) : interval_(interval) {}

  void Add(Id id, absl::Time now);
  void Remove(Id id);

  // Each returned target is busy until Done().
  std::vector<Id> Due(absl::Time now);

  // The poll has succeeded or failed. After two or more timeouts in a row a target is due less
  // often, but at least every fifth interval: it occupies a place that others wait for.
  void Done(Id id, bool has_timed_out);

  absl::Time NextDue() const;

 private:
  struct Target {
    absl::Time due;
    absl::Duration phase;  // offset from whole intervals since the epoch
    bool is_busy = false;
    int timeouts = 0;  // in a row
  };

  absl::Time DueAfter(const Target& target, absl::Time now) const;

  const absl::Duration interval_;
  std::map<Id, Target> targets_;
  std::set<std::pair<absl::Time, Id>> due_;
  uint64_t added_ = 0;
};

}  // namespace gpuscaler
