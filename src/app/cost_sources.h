// The sources of `report`: Prometheus, or a running scaler.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "app/cost_output.h"
#include "cost/cost_report.h"
#include "cost/price_list.h"
#include "page/http_client.h"

namespace gpuscaler {

struct CostQuery {
  absl::Time from;  // multiples of StepOf()
  absl::Time to;
  absl::Duration longest_gap;
  GroupBy by = GroupBy::kNamespace;
};

// Returns the distance of the points that are read: a minute, or five if the period is longer than
// a day. Prometheus looks back for five minutes.
absl::Duration StepOf(absl::Duration period);

// Reads the counters of all agents. `prices` may be null. Sends several requests one by one, each
// for a part of the period, and for shorter parts if an answer is too large.
absl::StatusOr<CostOutput> CostFromPrometheus(HttpClient& prometheus, const CostQuery& query,
                                              const PriceList* prices);

// Reads whole hours of the last day. INVALID_ARGUMENT if the period is longer than a day. Money is
// that of the scaler's own prices.
absl::StatusOr<CostOutput> CostFromServer(HttpClient& scaler, const CostQuery& query);

}  // namespace gpuscaler
