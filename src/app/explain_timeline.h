// A trigger's history as text, for `explain --since`.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "app/web_document.h"

namespace gpuscaler {

// Returns the lines of a history, of /api/v1/workloads/NAMESPACE/NAME/history: series as sparklines
// over one time axis, scale events and gaps in the order of their times, and the kept explanations.
// Series without a known point are left out, as are those of replicas that are always 0.
std::vector<std::string> TimelineLines(const WebDocument& history, bool ascii, absl::TimeZone zone);

}  // namespace gpuscaler
