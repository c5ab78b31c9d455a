// The first tokens of an engine over the last minutes, so that the late ones can be counted for any
// service level.
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

// One model, or several added up. Not thread-safe.
class FirstTokenTrack {
 public:
  // Must be later than all before. A reading without a histogram of first tokens is passed over.
  void Take(const TimedReading& reading);
  void Forget();

  // Over the last 12 minutes, oldest first. Within a bucket of the histogram first tokens count as
  // spread evenly; those above its largest finite bound are late only if `slo` is below that.
  std::vector<FirstTokenBin> Bins(absl::Duration slo) const;

  size_t Bytes() const;  // memory, about

 private:
  struct Mark {
    absl::Time at;
    double waiting = 0;
    int64_t process = 0;       // counts up whenever the counters begin anew
    absl::Duration congested;  // in total, from the first reading on
    std::shared_ptr<const Histogram> counted;
  };

  static FirstTokenBin BinOf(const Mark& older, const Mark& newer, absl::Duration slo);

  std::deque<Mark> marks_;      // the first reading of each bin
  std::optional<Mark> newest_;  // no earlier than the last of them
};

}  // namespace gpuscaler
