// What an engine lets run at once, seen from outside: the most that ran while others waited.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "engine/stored_readings.h"

namespace gpuscaler {

// Requests that wait at one reading may have come just then, or wait for the prompt of another to
// be read. Those that wait for a place find nobody more running for this long.
inline constexpr absl::Duration kFullFor = absl::Seconds(10);
inline constexpr int kFullReadings = 3;  // the least of them, however seldom it is read

// Of one model, or of several added up. Not thread-safe.
class FullBatch {
 public:
  // Later than all before. One whose counters began anew may have another limit.
  void Take(const TimedReading& reading);

  // Empty: none was seen full. It only rises: whoever runs more than that was not full.
  std::optional<double> Limit() const { return limit_; }

 private:
  // While requests have waited at each reading: the most that ran, since then.
  struct Crowd {
    double running = 0;
    absl::Time since;
    int readings = 1;
  };

  std::optional<Crowd> crowd_;
  std::optional<double> limit_;
};

}  // namespace gpuscaler
