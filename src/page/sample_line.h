// Parses a sample line: name{label="value"} number, then optionally a timestamp, and in OpenMetrics
// an exemplar: # {label="value"} number timestamp.
#pragma once

#include <array>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

using SampleLabels = std::array<ExpositionLabel, kMaxLabels>;

// Returns the sample with its labels in `labels`. `scratch` is for labels that are only validated.
// INVALID_ARGUMENT names the mistake.
absl::StatusOr<ExpositionSample> ReadSampleLine(absl::string_view line, SampleLabels& labels,
                                                SampleLabels& scratch);

}  // namespace gpuscaler
