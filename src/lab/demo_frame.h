// One sample of the demo, input of the chart and of plain lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

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

}  // namespace gpuscaler
