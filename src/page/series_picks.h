// What selectors pick from a page: all of them in one reading of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "page/prometheus_metric.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

// What becomes of the series that a selector picks.
class SeriesTaker {
 public:
  virtual ~SeriesTaker() = default;

  virtual void Begin() = 0;  // a page: what was taken before counts for nothing
  virtual void Take(const ExpositionSample& sample) = 0;
};

// What a whole page without a series of the selector is. A page of nothing at all is an error
// either way: it may be anybody's.
enum class IfAbsent { kError, kZero };

// Selector and taker outlive it.
struct SeriesPick {
  const MetricSelector* selector = nullptr;
  SeriesTaker* taker = nullptr;
  IfAbsent if_absent = IfAbsent::kError;
  std::string tenant;  // whose regular expressions they are
};

// How many steps (MetricSelector::Matches) one tenant's regular expressions may take on one page:
// 0.2 s at worst on the thread that reads everybody's, and RE2 mostly takes a fraction of it. Each
// of its selectors that has some has an equal part of it, whatever the others do.
constexpr size_t kMostRegexSteps = 20'000'000;

// Brings each taker the series of its selector. Of each pick, in their order, what came of it;
// after an error what was taken counts for nothing. NOT_FOUND: there is none, which is not 0 unless
// `if_absent` says so. FAILED_PRECONDITION: one of them is NaN or infinite, or the regular
// expressions would take too long on this page. INVALID_ARGUMENT, then of all picks: it is no whole
// page.
std::vector<absl::Status> ReadSeries(absl::string_view page, ExpositionFormat format,
                                     std::span<const SeriesPick> picks);

}  // namespace gpuscaler
