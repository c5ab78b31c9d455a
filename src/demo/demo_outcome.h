// Whether the demo showed what it is to show.
#pragma once

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
};

// FAILED_PRECONDITION says what did not happen.
absl::Status CheckCourse(const DemoExpectation& expectation, const DemoCourse& course);

}  // namespace gpuscaler
