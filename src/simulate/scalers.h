// Scalers that live in the simulation itself: what KEDA asks where no server is wanted.
#pragma once

#include <memory>

#include "model/memory_watch.h"
#include "model/node_history.h"
#include "scaling/decision.h"
#include "simulate/inference_service.h"
#include "simulate/keda.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Our own: Decide on what the service's GPUs have shown. The caller observes, at its sampling
// interval.
class DecideScaler : public Scaler {
 public:
  DecideScaler(const Trigger& trigger, const InferenceService& service, absl::Duration stale_after);

  void Observe();

  absl::StatusOr<double> GetMetrics() override;
  absl::StatusOr<bool> IsActive() override;

  // Of the newest observation. UNAVAILABLE before the first.
  const Decision& decision() const { return decision_; }

 private:
  const Trigger trigger_;
  const InferenceService& service_;
  const Patience patience_;
  MemoryWatch memory_;
  std::shared_ptr<const NodeHistory> history_ = std::make_shared<const NodeHistory>();
  Decision decision_;
};

// A second trigger of KEDA's own (prometheus on a gateway's queue, say): whether anybody waits, as
// 0 or 1. Against a target of 1 it wakes a workload without GPUs, and asks for one replica, never
// for more.
class DemandScaler : public Scaler {
 public:
  explicit DemandScaler(const InferenceService& service) : service_(service) {}

  absl::StatusOr<double> GetMetrics() override { return service_.waiting() > 0 ? 1 : 0; }
  absl::StatusOr<bool> IsActive() override { return service_.waiting() > 0; }

 private:
  const InferenceService& service_;
};

// The formula of the Go scaler of the same name, profile vllm-inference: the highest
// memory_used_percent of the node's GPUs, active above 5.
class ReferenceScaler : public Scaler {
 public:
  static constexpr double kTarget = 80;

  explicit ReferenceScaler(const InferenceService& service) : service_(service) {}

  absl::StatusOr<double> GetMetrics() override;
  absl::StatusOr<bool> IsActive() override;

 private:
  const InferenceService& service_;
};

}  // namespace gpuscaler
