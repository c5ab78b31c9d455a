// The first-token latencies of an engine over the last 12 minutes, so that late ones can be counted
// for any service level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "engine/engine_reading.h"
#include "engine/stored_readings.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// One model, or the sum of several. Not thread-safe.
class FirstTokenBins {
 public:
  // `reading` must be later than all before. It is ignored if it has no histogram of first tokens.
  void Take(const TimedReading& reading);
  void Forget();

  // Returns one bin per 10 s, oldest first. Within a histogram bucket, first tokens count as evenly
  // spread. Those above the largest finite bound are late only if `slo` is below that bound.
  std::vector<FirstTokenBin> Bins(absl::Duration slo) const;

  size_t Bytes() const;  // approximate memory use

 private:
  struct Mark {
    absl::Time at;
    double waiting = 0;
    int64_t process = 0;       // incremented when the counters restart
    absl::Duration congested;  // total since the first reading
    std::shared_ptr<const Histogram> counted;
  };

  static FirstTokenBin BinOf(const Mark& older, const Mark& newer, absl::Duration slo);

  std::deque<Mark> marks_;      // the first reading of each bin
  std::optional<Mark> newest_;  // not before the last of `marks_`
};

}  // namespace gpuscaler
