// A series selector as in PromQL: queue_size{pool="chat",route=~"v[12]"}.
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
  std::string value;                      // with = and !=
  std::shared_ptr<const re2::RE2> regex;  // with =~ and !~; matches the whole value

  // A missing label counts as empty.
  bool Matches(absl::string_view label_value) const;
};

struct MetricSelector {
  std::string name;
  // All must match. = and != come before =~ and !~, which take longer.
  std::vector<LabelMatcher> matchers;
  std::string text;  // as configured

  bool HasRegex() const;

  // Regular expressions are tried last. Each takes one step per character and instruction from
  // `steps_left`: RE2's worst case. Returns nullopt if there are too few steps left.
  std::optional<bool> Matches(const ExpositionSample& sample, size_t& steps_left) const;
};

constexpr size_t kMaxSelectorLength = 1000;  // characters
constexpr size_t kMaxMatchers = 16;
constexpr size_t kRegexBytes = size_t{128} << 10;  // memory limit of one regular expression

// INVALID_ARGUMENT names the mistake, its place, and what is allowed. Values are in double or
// single quotes. \\, \n and the quote are escaped as in PromQL.
absl::StatusOr<MetricSelector> ParseMetricSelector(absl::string_view text);

// Returns FAILED_PRECONDITION: a series is NaN or infinite, or the sum is.
absl::Status NotFinite(const MetricSelector& selector);

}  // namespace gpuscaler
