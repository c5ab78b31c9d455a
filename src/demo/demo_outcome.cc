#include "demo/demo_outcome.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"

namespace gpuscaler {
namespace {

absl::Status CheckReplicas(const DemoExpectation& expectation, const DemoCourse& course) {
  if (expectation.from_zero && !course.began_at_zero) {
    return absl::FailedPreconditionError("there were replicas before there was any load");
  }
  if (course.most_ready < expectation.most_at_least) {
    return absl::FailedPreconditionError(
        absl::StrCat("no more than ", CountText(course.most_ready, "replica"),
                     " ready at once, of ", expectation.most_at_least, " at least"));
  }
  if (expectation.back_to_zero && course.last != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(CountText(course.last, "replica"), " left when the load had ended"));
  }
  if (!expectation.back_to_zero && course.last == 0) {
    return absl::FailedPreconditionError("the last replica was taken away");
  }
  return absl::OkStatus();
}

}  // namespace

DemoExpectation ExpectationOf(const Trigger& trigger) {
  if (trigger.always_active) {
    return {.from_zero = false,
            .most_at_least = 1,
            .back_to_zero = false,
            .because = "this profile holds what is busy and never goes to zero"};
  }
  if (trigger.preallocated_memory == PreallocatedMemory::kActivity) {
    return {.most_at_least = 1,
            .because =
                "this profile counts a busy replica at its target: another trigger sets the "
                "number of replicas"};
  }
  return {};
}

absl::Status CheckCourse(const DemoExpectation& expectation, const DemoCourse& course) {
  const absl::Status replicas = CheckReplicas(expectation, course);
  if (replicas.ok() || course.late <= course.sent / 10) return replicas;
  return absl::ResourceExhaustedError(absl::StrCat(
      "--speed=", course.speed, " is too fast for this machine: ", course.late, " of ", course.sent,
      " requests were sent late; use --speed=", std::max(course.speed / 3, 1), " (",
      replicas.message(), ")"));
}

}  // namespace gpuscaler
