// Parses the JSON of Prometheus' query_range.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gpuscaler {

struct RangePoint {
  absl::Time at;
  double value = 0;  // 0 to 1e10
};

struct RangeSeries {
  std::map<std::string, std::string> labels;
  std::vector<RangePoint> points;  // in ascending order of time
};

// Parses a matrix of counters (https://prometheus.io/docs/prometheus/latest/querying/api). Takes
// linear time. Points that are NaN are left out. Returns INVALID_ARGUMENT for anything else than a
// successful answer with counters, with the server's error if it has one.
absl::StatusOr<std::vector<RangeSeries>> ParseRangeAnswer(absl::string_view json);

}  // namespace gpuscaler
