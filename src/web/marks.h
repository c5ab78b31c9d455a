// Events and gaps in the history of a trigger, derived from its recorded points.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "web/history_point.h"

namespace gpuscaler {

struct HistoryMark {
  enum class Kind {
    kScale,    // the number of replicas changed
    kRollout,  // replicas were replaced; their number may change in the same step
    kGap,      // records begin to be missing
    kError,    // answers begin to be errors
  };
  absl::Time at;
  Kind kind;
  std::string text;  // "from 2 to 4 replicas"
};
absl::string_view Name(HistoryMark::Kind kind);  // "scale"

// A time without a value.
struct HistoryGap {
  absl::Time from;      // its first point
  absl::Time to;        // one step after its last point
  std::string because;  // "no reading", "not requested" or "scaler started"
};

// `points` are those of TriggerSeries. Steps before `started_at` are a gap because the scaler
// started. Oldest first.
std::vector<HistoryMark> MarksOf(std::span<const HistoryPoint> points);
std::vector<HistoryGap> GapsOf(std::span<const HistoryPoint> points, absl::Time started_at);

}  // namespace gpuscaler
