// Whether the demo showed what it is to show.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// How a profile means replicas to move through the demo's load.
struct DemoExpectation {
  bool from_zero = true;
  int most_at_least = 3;  // ready at once
  bool back_to_zero = true;
  std::string because;  // where it is not 0 -> at least 3 -> 0
};
DemoExpectation ExpectationOf(const Trigger& trigger);

struct DemoCourse {
  bool began_at_zero = false;
  int most_ready = 0;
  int last = 0;
  int speed = 1;     // simulated seconds a real one
  int64_t sent = 0;  // requests
  int64_t late = 0;  // requests sent so late that the load was not the one of the scenario
};

// FAILED_PRECONDITION: what did not happen. RESOURCE_EXHAUSTED: that, where the machine was too
// slow for the speed.
absl::Status CheckCourse(const DemoExpectation& expectation, const DemoCourse& course);

}  // namespace gpuscaler
