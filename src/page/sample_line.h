// The line of a page that has a sample: name{label="value"} number, then perhaps a timestamp, and
// in OpenMetrics an exemplar: # {label="value"} number timestamp.
#pragma once

#include <array>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

using SampleLabels = std::array<ExpositionLabel, kMostLabels>;

// The sample's labels are in `labels`; `scratch` is for what is only looked at. INVALID_ARGUMENT
// says what is wrong.
absl::StatusOr<ExpositionSample> ReadSampleLine(absl::string_view line, SampleLabels& labels,
                                                SampleLabels& scratch);

}  // namespace gpuscaler
