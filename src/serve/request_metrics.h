// What the server counts about the requests it answers.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "scaling/decision.h"
#include "serve/demand_metrics.h"
#include "serve/outcome.h"

namespace gpuscaler {

enum class Rpc {
  kIsActive,
  kStreamIsActive,
  kGetMetricSpec,
  kGetMetrics,
  kStreamMetricSpec,
  kExplain
};
absl::string_view Name(Rpc rpc);  // "IsActive"

// Thread-safe; the calls are cheap. One implementation counts for the metrics page
// (serve/metrics.h), tests have their own.
class RequestMetrics {
 public:
  virtual ~RequestMetrics() = default;
  virtual void Answered(Rpc rpc, absl::StatusCode code, absl::Duration took) = 0;
  virtual void StreamsOpen(Rpc rpc, int count) = 0;
  // A trigger was decided on: once for each snapshot it is asked about, or each bad metadata.
  virtual void Decided(Outcome outcome) = 0;
  // That decision's demand, if it has one.
  virtual void DemandDecided(const DemandLabels&, const Decision&) {}
};

}  // namespace gpuscaler
