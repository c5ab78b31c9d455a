// When which of many targets is polled. Pure: time comes with each call.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// Each once in an interval, spread over it: whoever asks a thousand engines in the same instant has
// a second of queueing of its own making. A new one at once, for somebody waits for it. Never one
// that has not answered yet. Not thread-safe.
class PollSchedule {
 public:
  using Id = uint64_t;

  explicit PollSchedule(absl::Duration interval) : interval_(interval) {}

  void Add(Id id, absl::Time now);
  void Remove(Id id);

  // Those that are to be polled now. Each is busy until Done().
  std::vector<Id> Due(absl::Time now);

  // It has answered, or has failed. One that let time run out twice and more in a row is polled
  // less often, each fifth interval at the least: it holds a place that others wait for.
  void Done(Id id, bool has_timed_out);

  // When Due() has something next.
  absl::Time NextDue() const;

 private:
  struct Target {
    absl::Time due;
    absl::Duration phase;  // behind whole intervals since the epoch
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
