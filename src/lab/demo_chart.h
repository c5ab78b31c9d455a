// Text output of the demo: a chart for terminals and plain lines for everything else. Pure
// functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// One sample of the demo.
struct DemoFrame {
  absl::Duration passed;  // simulated time since the start
  double requests_per_second = 0;
  int running = 0;
  int waiting = 0;
  std::vector<double> utilization_percent;  // per GPU
  std::vector<double> memory_percent;
  std::optional<double> value;  // V; empty: the scaler returned an error
  bool active = false;
  int desired = 0;
  int ready = 0;
  std::string note;  // the scaler's explanation of its value
};

// The constant properties of a demo.
struct DemoSetting {
  std::string profile;
  std::string unit;  // unit of V
  double target = 80;
  int max_replicas = 8;
  int speed = 150;
  absl::Duration expected;  // approximate duration
};

struct ChartStyle {
  int width = 80;  // columns; the longest possible line
  bool color = true;
};

// Returns the same number of lines each time, so that a chart can be drawn over the last one.
// `frames` are oldest first.
std::vector<std::string> ChartLines(const DemoSetting& setting,
                                    const std::vector<DemoFrame>& frames, const ChartStyle& style);

std::string PlainLine(const DemoSetting& setting, const DemoFrame& frame);

}  // namespace gpuscaler
