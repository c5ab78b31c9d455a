#include "lab/demo_outcome.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"

namespace gpuscaler {
namespace {

absl::Status CheckReplicas(const DemoExpectation& expectation, const DemoObservation& observed) {
  if (expectation.from_zero && !observed.began_at_zero) {
    return absl::FailedPreconditionError("there were replicas before there was any load");
  }
  if (observed.most_ready < expectation.least_peak_replicas) {
    return absl::FailedPreconditionError(
        absl::StrCat("no more than ", CountText(observed.most_ready, "replica"),
                     " ready at once, of ", expectation.least_peak_replicas, " at least"));
  }
  if (expectation.back_to_zero && observed.last != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(CountText(observed.last, "replica"), " left when the load had ended"));
  }
  if (!expectation.back_to_zero && observed.last == 0) {
    return absl::FailedPreconditionError("the last replica was taken away");
  }
  return absl::OkStatus();
}

}  // namespace

DemoExpectation ExpectationOf(const Trigger& trigger) {
  if (trigger.always_active) {
    return {.from_zero = false,
            .least_peak_replicas = 1,
            .back_to_zero = false,
            .because = "this profile holds what is busy and never goes to zero"};
  }
  if (trigger.preallocated_memory == PreallocatedMemory::kActivity) {
    return {.least_peak_replicas = 1,
            .because =
                "this profile counts a busy replica at its target: another trigger sets the "
                "number of replicas"};
  }
  return {};
}

absl::Status CheckObservation(const DemoExpectation& expectation, const DemoObservation& observed) {
  absl::Status replicas = CheckReplicas(expectation, observed);
  if (replicas.ok() || observed.late <= observed.sent / 10) return replicas;
  return absl::ResourceExhaustedError(absl::StrCat(
      "--speed=", observed.speed, " is too fast for this machine: ", observed.late, " of ",
      observed.sent, " requests were sent late; use --speed=", std::max(observed.speed / 3, 1),
      " (", replicas.message(), ")"));
}

}  // namespace gpuscaler
