// Converts decisions to KEDA's and the Explainer's messages. Pure functions.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "explain.pb.h"
#include "externalscaler.pb.h"
#include "serve/trigger_cache.h"

namespace gpuscaler {

// The answer has one spec. Its target is at least 0.001: KEDA counts in thousandths, and the HPA
// refuses 0.
externalscaler::GetMetricSpecResponse SpecAnswer(const MetricSpec& spec);

// The answer has one value, clamped to the bounds of targets. Tenants' metrics may have any size,
// and KEDA converts the value to thousandths in an int64. The value's name is that of the present
// spec, whatever name the request has. KEDA reads the value alone, and requests the name in its
// HPA, which may predate a change of the profile.
externalscaler::GetMetricsResponse MetricsAnswer(const CachedDecision& cached);

// The explanation has the status of the decision, or in the second form the error that left none,
// such as bad metadata. `why_no_room` is a note (scaling/replica_room.h); empty: none.
gpuscaler::v1::Explanation ExplainAnswer(const CachedDecision& cached, absl::Time now,
                                         const std::string& why_no_room = "");
gpuscaler::v1::Explanation ExplainAnswer(const ParsedTrigger& parsed, const absl::Status& error);

}  // namespace gpuscaler
