// Parses the Prometheus text format 0.0.4 and OpenMetrics 1.0
// (https://prometheus.io/docs/instrumenting/exposition_formats).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

constexpr size_t kMaxExpositionBytes = size_t{4} << 20;  // bytes per response
constexpr size_t kMaxLabels = 64;                   // per sample: several times what engines use
constexpr size_t kMaxLineBytes = size_t{32} << 10;  // bytes: as many labels of 512 bytes

enum class ExpositionFormat { kText, kOpenMetrics };

// Anything but OpenMetrics counts as text: many servers send text/plain, and some no header.
ExpositionFormat ExpositionFormatOf(absl::string_view content_type);

struct ExpositionLabel {
  absl::string_view name;
  absl::string_view escaped_value;  // as written between the quotes
};

// One sample. Its texts point into the page, and its span is valid during the call only.
struct ExpositionSample {
  absl::string_view name;
  std::span<const ExpositionLabel> labels;
  double value = 0;  // may be NaN or infinite

  // Returns "" if the sample lacks the label: Prometheus treats both alike.
  absl::string_view EscapedLabel(absl::string_view label) const;
  std::string Label(absl::string_view label) const;
};

// Replaces \\, \" and \n. Any other backslash stays.
std::string Unescaped(absl::string_view escaped);

// Parses a sample's value or a bucket's `le`: decimal, NaN, +Inf, -Inf. Returns nullopt otherwise.
std::optional<double> ParseSampleValue(absl::string_view text);

// Calls `take` for each sample with a needed name, in order. Calls `is_needed` once per run of
// samples with the same name. Takes linear time and copies nothing.
//
// Returns INVALID_ARGUMENT "line 12: what is wrong" for a malformed page, whichever names are
// needed. The caller must then discard the samples taken. A truncated page is malformed, or a 12
// that was a 123 would pass: text must end with a line feed, OpenMetrics with "# EOF". Comments are
// skipped. Timestamps and exemplars are validated and skipped.
absl::Status ReadPage(absl::string_view page, ExpositionFormat format,
                      absl::FunctionRef<bool(absl::string_view name)> is_needed,
                      absl::FunctionRef<void(const ExpositionSample& sample)> take);

}  // namespace gpuscaler
