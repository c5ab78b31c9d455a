// A limit for what is kept of one agent's readings: otherwise one agent could take all memory.
#pragma once

#include "absl/time/time.h"
#include "fleet/reading_weight.h"

namespace gpuscaler {

// The quota grows with the time that the readings cover, because a history's memory does. It does
// not depend on when they arrive, so a replay of the past gets the same. Not thread-safe.
class ReadingQuota {
 public:
  // Returns false if the readings exceed the quota for longer than a burst.
  bool Take(absl::Time taken_at, const ReadingWeight& weight);

 private:
  double left_bytes_ = 0;
  absl::Time at_ = absl::InfinitePast();
  bool follows_ = false;  // the last reading was charged
};

}  // namespace gpuscaler
