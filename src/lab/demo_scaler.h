// Scalers of KEDA's model that call the real server over gRPC.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "serve/scaler_client.h"
#include "simulate/keda.h"

namespace gpuscaler {

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

// The triggers of one ScaledObject.
class RemoteTriggers {
 public:
  // `client` must outlive this.
  absl::Status Add(const ScalerClient& client, const TriggerRef& trigger) {
    ASSIGN_OR_RETURN(const MetricSpec spec, client.GetMetricSpec(trigger));
    keda_.push_back({&scalers_.emplace_back(client, trigger, spec.metric_name), spec.target});
    return absl::OkStatus();
  }

  const std::vector<KedaTrigger>& keda() const { return keda_; }

 private:
  std::deque<RemoteScaler> scalers_;
  std::vector<KedaTrigger> keda_;
};

}  // namespace gpuscaler
