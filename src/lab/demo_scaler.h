// Scalers of KEDA's model that call the real server over gRPC.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "serve/scaler_client.h"
#include "simulate/keda.h"

namespace gpuscaler {

// Calls block as those of ScalerClient do. Thread-safe.
class RemoteScaler : public Scaler {
 public:
  // `client` must outlive it.
  RemoteScaler(const ScalerClient& client, TriggerRef trigger, std::string metric_name)
      : client_(client), trigger_(std::move(trigger)), metric_name_(std::move(metric_name)) {}

  absl::StatusOr<double> GetMetrics() override {
    return client_.GetMetrics(trigger_, metric_name_);
  }
  absl::StatusOr<bool> IsActive() override { return client_.IsActive(trigger_); }

 private:
  const ScalerClient& client_;
  const TriggerRef trigger_;
  const std::string metric_name_;
};

// Returns the trigger for KEDA's model. `client` must outlive it.
inline absl::StatusOr<KedaTrigger> RemoteTrigger(const ScalerClient& client,
                                                 const TriggerRef& trigger) {
  ASSIGN_OR_RETURN(const MetricSpec spec, client.GetMetricSpec(trigger));
  return KedaTrigger{.scaler = std::make_shared<RemoteScaler>(client, trigger, spec.metric_name),
                     .target = spec.target};
}

}  // namespace gpuscaler
