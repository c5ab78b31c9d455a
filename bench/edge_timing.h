// Times the `true` of StreamIsActive, from what became active to its arrival, one edge after
// another.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace gpuscaler {

using EdgeClock = std::chrono::steady_clock;

// What a scaler reads, and can be made active and inactive.
class EdgeSource {
 public:
  virtual ~EdgeSource() = default;

  // Metadata of a trigger on it without window and warm-up: what is measured is the way through the
  // scaler.
  virtual std::map<std::string, std::string> Trigger() const = 0;

  // Becomes active; when it was that.
  virtual EdgeClock::time_point Rise() = 0;

  virtual void Fall() = 0;
};

struct EdgeRun {
  std::string address;                // the scaler's
  std::chrono::nanoseconds interval;  // the scaler's, between two readings
  int edges;
};

// Prints a line for each edge: nanoseconds from the rise to the arrival of `true`. The edges lie at
// even phases of the interval. Throws when the scaler ends a stream.
void TimeEdges(const EdgeRun& run, EdgeSource& source);

}  // namespace gpuscaler
