// Finds the series of several selectors in one pass over an exposition.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "page/prometheus_metric.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

// Consumes the series that a selector matches. Not thread-safe.
class SeriesConsumer {
 public:
  virtual ~SeriesConsumer() = default;

  virtual void Begin() = 0;  // starts an exposition: earlier samples no longer count
  virtual void Consume(const ExpositionSample& sample) = 0;
};

// `selector` and `consumer` must outlive it.
struct SeriesQuery {
  const MetricSelector* selector = nullptr;
  SeriesConsumer* consumer = nullptr;
  // No series in a complete exposition count as 0, else as an error. An empty exposition is an
  // error either way: any server may send one.
  bool zero_if_absent = false;
  std::string tenant;  // the owner of its regular expressions
};

// Steps (MetricSelector::Matches) that the regular expressions of one tenant may take per
// exposition: at most 0.2 s on the thread that reads all of them, and mostly a fraction of that. A
// tenant's selectors with regular expressions share them equally.
constexpr size_t kMaxRegexSteps = 20'000'000;

// Passes each consumer the series of its selector. Returns one status per query, in order. After an
// error the samples taken must be discarded. NOT_FOUND: no series, unless `zero_if_absent`.
// FAILED_PRECONDITION: a value is NaN or infinite, or the regular expressions would take too long.
// INVALID_ARGUMENT, for all queries: the exposition is malformed.
std::vector<absl::Status> ReadSeries(absl::string_view page, ExpositionFormat format,
                                     std::span<const SeriesQuery> queries);

}  // namespace gpuscaler
