// What the decision on a trigger looks like on the wire. Pure.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "explain.pb.h"
#include "externalscaler.pb.h"
#include "serve/trigger_cache.h"

namespace gpuscaler {

// The one spec. Its target is at least 0.001: KEDA counts in thousandths, and the HPA refuses 0.
externalscaler::GetMetricSpecResponse SpecAnswer(const MetricSpec& spec);

// The one value, within the bounds of targets, since what tenants' pages say may be of any size:
// KEDA makes thousandths of it, as an int64. Under the name of our own spec whatever name was asked
// for: KEDA looks at the value alone, and asks by the name its HPA has, which may be one that a
// changed profile gave up.
externalscaler::GetMetricsResponse MetricsAnswer(const CachedDecision& cached);

// Why KEDA gets what it gets: an error too is an explanation.
gpuscaler::v1::Explanation ExplainAnswer(const CachedDecision& cached, absl::Time now);
gpuscaler::v1::Explanation ExplainAnswer(const ParsedTrigger& parsed, const absl::Status& error);

}  // namespace gpuscaler
