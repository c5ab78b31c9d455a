// Metrics pages: Prometheus' text format 0.0.4 and OpenMetrics 1.0
// (https://prometheus.io/docs/instrumenting/exposition_formats).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

constexpr size_t kLargestExposition = size_t{4}
                                      << 20;       // bytes; what an endpoint may send (DESIGN 6)
constexpr size_t kMostLabels = 64;                 // of a sample: several times what engines have
constexpr size_t kLongestLine = size_t{32} << 10;  // bytes: as many labels of 512 bytes each

enum class ExpositionFormat { kText, kOpenMetrics };

// From the Content-Type header. Whatever is not OpenMetrics is taken for text: many servers say
// text/plain only, some nothing.
ExpositionFormat ExpositionFormatOf(absl::string_view content_type);

struct ExpositionLabel {
  absl::string_view name;
  absl::string_view escaped_value;  // as between the quotes on the page
};

// One line of a page. The texts lie in the page, the span is gone when the call ends.
struct ExpositionSample {
  absl::string_view name;
  std::span<const ExpositionLabel> labels;
  double value = 0;  // NaN and infinities too

  // Empty where the sample lacks the label: to Prometheus that is the same as an empty one.
  absl::string_view EscapedLabel(absl::string_view label) const;
  std::string Label(absl::string_view label) const;
};

// \\, \" and \n become what they stand for; any other backslash stands for itself.
std::string Unescaped(absl::string_view escaped);

// A sample's value, or a bucket's `le`: decimal, NaN, +Inf, -Inf. Empty for anything else.
std::optional<double> PageNumber(absl::string_view text);

// Calls `take` for the samples whose whole name is wanted, in the order of the page. Asks
// `is_wanted` once for neighbours of one name. Time is linear in the page, and nothing is copied.
//
// An error is the page's, whichever names are wanted, and what was taken before it counts for
// nothing: INVALID_ARGUMENT "line 12: what is wrong". A page that was cut off is one: text ends
// with a line feed, OpenMetrics with "# EOF". Without that check a 12 that was a 123 would pass.
// Comments are passed over, and so are timestamps and exemplars once they are seen to be whole.
absl::Status ReadPage(absl::string_view page, ExpositionFormat format,
                      absl::FunctionRef<bool(absl::string_view name)> is_wanted,
                      absl::FunctionRef<void(const ExpositionSample& sample)> take);

}  // namespace gpuscaler
