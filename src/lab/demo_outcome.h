// Checks that replicas changed as the profile should make them change.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The replicas that a profile should cause during the demo's load.
struct DemoExpectation {
  bool from_zero = true;
  int least_peak_replicas = 3;  // ready at once
  bool back_to_zero = true;
  std::string because;  // set unless it is 0 -> at least 3 -> 0
};
DemoExpectation ExpectationOf(const Trigger& trigger);

struct DemoObservation {
  bool began_at_zero = false;
  int most_ready = 0;
  int last = 0;
  int speed = 1;     // simulated seconds per real second
  int64_t sent = 0;  // requests
  int64_t late = 0;  // requests sent so late that the load differed from the scenario
};

// Returns FAILED_PRECONDITION with the expectation that was not met, or RESOURCE_EXHAUSTED with it
// if the machine was too slow for the speed.
absl::Status CheckObservation(const DemoExpectation& expectation, const DemoObservation& observed);

}  // namespace gpuscaler
