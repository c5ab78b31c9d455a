// This project's scaler on a simulated workload.
#pragma once

#include <memory>
#include <optional>

#include "simulate/replica_policy.h"
#include "simulate/workload_telemetry.h"

namespace gpuscaler {

class TriggerScaler : public WorkloadScaler {
 public:
  explicit TriggerScaler(const Trigger& trigger, const TelemetryOptions& options = {})
      : telemetry_(trigger, options) {}

  void Observe(const SimulatedWorkload& workload) override {
    telemetry_.Sample(workload);
    decision_.reset();
  }
  absl::StatusOr<double> GetMetrics() override {
    if (!decision().status.ok()) return decision().status;
    return decision().value;
  }
  absl::StatusOr<bool> IsActive() override {
    if (!decision().status.ok()) return decision().status;
    return decision().active;
  }

  // Returns the decision on the newest observation.
  const Decision& decision() {
    if (!decision_.has_value()) decision_ = telemetry_.Decide();
    return *decision_;
  }

 private:
  WorkloadTelemetry telemetry_;
  std::optional<Decision> decision_;
};

// Returns the trigger for KedaPolicy.
inline ScaledTrigger OwnTrigger(const Trigger& trigger, const TelemetryOptions& options = {}) {
  return {.scaler = std::make_unique<TriggerScaler>(trigger, options),
          .target = trigger.target,
          .target_type = trigger.target_type};
}

}  // namespace gpuscaler
