// A metric of any page, picked as in Prometheus: queue_size{pool="chat",route=~"v[12]"}.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/prometheus_text.h"
#include "re2/re2.h"

namespace gpuscaler {

struct LabelMatcher {
  enum class Kind { kEqual, kNotEqual, kMatches, kMatchesNot };  // = != =~ !~
  std::string label;
  Kind kind = Kind::kEqual;
  std::string value;                      // of = and !=
  std::shared_ptr<const re2::RE2> regex;  // of =~ and !~; matches a whole value

  // A label that a series lacks is an empty one.
  bool Matches(absl::string_view label_value) const;
};

struct MetricSelector {
  std::string name;
  std::vector<LabelMatcher> matchers;  // all of them have to match
  std::string text;                    // as it was written

  bool Matches(const PageSample& sample) const;
  // How many steps regular expressions may take for that: an instruction for each character, which
  // is what RE2 does in the worst case.
  size_t MostSteps(const PageSample& sample) const;
};

// What a whole page without a series of the selector is. A page of nothing at all is an error
// either way: it may be anybody's.
enum class IfAbsent { kError, kZero };

constexpr size_t kLongestSelector = 1000;  // characters
constexpr size_t kMostMatchers = 16;
constexpr size_t kRegexBytes = size_t{128} << 10;  // that one of =~ or !~ takes at most

// INVALID_ARGUMENT names what is wrong, where, and what is allowed. Values are in double or single
// quotes, with \\, \n and the quote escaped, as in PromQL.
absl::StatusOr<MetricSelector> ParseMetricSelector(absl::string_view text);

// Calls `take` for each series that matches. NOT_FOUND: there is none, which is not 0 unless
// `if_absent` says so.
// FAILED_PRECONDITION: one of them is NaN or infinite, so there is no sum, or the regular
// expressions would take too long for this page. INVALID_ARGUMENT: it is no whole page. After an
// error what was taken counts for nothing.
absl::Status ReadSeries(const MetricSelector& selector, absl::string_view page, PageFormat format,
                        IfAbsent if_absent, absl::FunctionRef<void(const PageSample& sample)> take);

// Of gauges; counters are followed one by one (series_growth.h). Errors are those of ReadSeries();
// FAILED_PRECONDITION too where one is negative: some say -1 for what they do not know.
absl::StatusOr<double> SumOf(const MetricSelector& selector, absl::string_view page,
                             PageFormat format, IfAbsent if_absent = IfAbsent::kError);

}  // namespace gpuscaler
