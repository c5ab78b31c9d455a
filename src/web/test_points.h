// Recorded points, for tests.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/fake_clock.h"
#include "web/history_point.h"

namespace gpuscaler {

inline const absl::Time kFirstPoint = FakeClock().Now();  // begins an hour

inline absl::Time StepTime(int step) { return kFirstPoint + step * kHistoryStep; }

inline HistoryPoint NoRecordAt(int step) { return {.at = StepTime(step)}; }

inline HistoryPoint PointAt(int step, double value, int replicas = 2) {
  return {.at = StepTime(step),
          .code = absl::StatusCode::kOk,
          .value = value,
          .target = 80,
          .replicas = replicas,
          .active = value > 0 ? 1 : 0};
}

inline HistoryPoint ErrorAt(int step, absl::StatusCode code = absl::StatusCode::kUnavailable) {
  return {.at = StepTime(step), .code = code, .target = 80};
}

}  // namespace gpuscaler
