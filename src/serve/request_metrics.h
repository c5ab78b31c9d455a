// The interface through which the server counts requests and decisions.
#pragma once

#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "scaling/decision.h"
#include "serve/outcome.h"
#include "serve/trigger_metrics.h"

namespace gpuscaler {

enum class Rpc {
  kIsActive,
  kStreamIsActive,
  kGetMetricSpec,
  kGetMetrics,
  kStreamMetricSpec,
  kExplain
};
constexpr size_t kRpcs = 6;

inline absl::string_view Name(Rpc rpc) {
  static constexpr std::array<absl::string_view, kRpcs> kNames = {
      "IsActive", "StreamIsActive", "GetMetricSpec", "GetMetrics", "StreamMetricSpec", "Explain"};
  return kNames[static_cast<size_t>(rpc)];
}

// Thread-safe; calls are cheap. serve/metrics.h implements it for the metrics page.
class RequestMetrics {
 public:
  virtual ~RequestMetrics() = default;
  virtual void Answered(Rpc rpc, absl::StatusCode code, absl::Duration took) = 0;
  virtual void StreamsOpen(Rpc rpc, int count) = 0;
  // Counts a decision on a trigger, or metadata that is bad under one version of the profiles.
  virtual void Decided(Outcome outcome) = 0;
  // Takes each new decision on a trigger (TriggerMetrics::Update()).
  virtual void TriggerDecided(const TriggerLabels&, const Decision&, bool /*computes_demand*/) {}
};

}  // namespace gpuscaler
