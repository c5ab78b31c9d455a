// How much an agent may say that is kept: else one agent would take all the memory that there is.
#pragma once

#include "absl/time/time.h"
#include "fleet/reading_weight.h"

namespace gpuscaler {

// Grows with the time that the readings tell of, be it of the past, as histories do. Not
// thread-safe.
class ReadingQuota {
 public:
  // False: more than an agent has to say, for longer than a moment.
  bool Take(absl::Time taken_at, const ReadingWeight& weight);

 private:
  double left_bytes_ = 0;
  absl::Time at_ = absl::InfinitePast();
  bool follows_ = false;  // the reading before the next one was charged too
};

}  // namespace gpuscaler
