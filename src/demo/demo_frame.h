// One look at the demo: what chart and plain lines are made from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

struct DemoFrame {
  absl::Duration passed;  // simulated
  double requests_per_second = 0;
  int running = 0;
  int waiting = 0;
  std::vector<double> utilization_percent;  // of each GPU
  std::vector<double> memory_percent;
  std::optional<double> value;  // V; empty: the scaler could not say
  bool active = false;
  int desired = 0;
  int ready = 0;
  std::string note;  // what the scaler has to say about its value
};

// What stays the same.
struct DemoSetting {
  std::string profile;
  std::string unit;  // of V
  double target = 80;
  int max_replicas = 8;
  int speed = 150;
  absl::Duration expected;  // how long it takes, about
};

}  // namespace gpuscaler
