// A metric of any page, picked as in Prometheus: queue_size{pool="chat",route=~"v[12]"}.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  // All of them have to match; = and != come before =~ and !~, which take longer.
  std::vector<LabelMatcher> matchers;
  std::string text;  // as it was written

  bool HasRegex() const;

  // Whether it picks the sample. Regular expressions are tried when all else matches, each only
  // while `steps_left` lasts: an instruction for each character is what RE2 does in the worst case.
  // Empty: it did not last.
  std::optional<bool> Matches(const ExpositionSample& sample, size_t& steps_left) const;
};

constexpr size_t kLongestSelector = 1000;  // characters
constexpr size_t kMostMatchers = 16;
constexpr size_t kRegexBytes = size_t{128} << 10;  // that one of =~ or !~ takes at most

// INVALID_ARGUMENT names what is wrong, where, and what is allowed. Values are in double or single
// quotes, with \\, \n and the quote escaped, as in PromQL.
absl::StatusOr<MetricSelector> ParseMetricSelector(absl::string_view text);

// FAILED_PRECONDITION: a series of it is no number that could be added up.
absl::Status NotFinite(const MetricSelector& selector);

}  // namespace gpuscaler
