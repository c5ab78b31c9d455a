// Measures the latency of StreamIsActive: from the moment when a trigger becomes active (an edge)
// to the arrival of `true`, one edge after another.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace gpuscaler {

using EdgeClock = std::chrono::steady_clock;

// A source of a scaler that can be made active and inactive.
class EdgeSource {
 public:
  virtual ~EdgeSource() = default;

  // Returns metadata of a trigger on it without window and warm-up, so that only the scaler's own
  // latency is measured.
  virtual std::map<std::string, std::string> Trigger() const = 0;

  // Becomes active; returns when.
  virtual EdgeClock::time_point Rise() = 0;

  virtual void Fall() = 0;
};

struct EdgeRun {
  std::string address;                // the scaler's
  std::chrono::nanoseconds interval;  // the scaler's, between two readings
  int edges;
};

// Prints a line for each edge: nanoseconds from the rise to the arrival of `true`. The edges have
// even phases within the interval. Throws if the scaler ends a stream.
void TimeEdges(const EdgeRun& run, EdgeSource& source);

}  // namespace gpuscaler
