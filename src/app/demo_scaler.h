// A scaler that KEDA's model asks over gRPC.
#pragma once

#include <string>

#include "serve/scaler_client.h"
#include "simulate/keda.h"

namespace gpuscaler {

class RemoteScaler : public Scaler {
 public:
  // `client` outlives it.
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

}  // namespace gpuscaler
