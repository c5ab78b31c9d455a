#include "simulate/scalers.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace gpuscaler {

DecideScaler::DecideScaler(const Trigger& trigger, const InferenceService& service,
                           absl::Duration stale_after)
    : trigger_(trigger),
      service_(service),
      patience_{.stale_after = stale_after, .grace = absl::ZeroDuration()} {
  decision_.status = absl::UnavailableError("no GPU snapshot yet");
}

void DecideScaler::Observe() {
  NodeSnapshot snapshot = service_.Snapshot();
  memory_.Annotate(snapshot);
  auto next = std::make_shared<NodeHistory>(*history_);
  next->Append(std::move(snapshot),
               {.horizon = kLongestWindow, .join_within = patience_.stale_after});
  history_ = std::move(next);
  decision_ = Decide(trigger_, {}, FleetOfOne(history_), patience_);
}

absl::StatusOr<double> DecideScaler::GetMetrics() {
  if (!decision_.status.ok()) return decision_.status;
  return decision_.value;
}

absl::StatusOr<bool> DecideScaler::IsActive() {
  if (!decision_.status.ok()) return decision_.status;
  return decision_.active;
}

absl::StatusOr<double> ReferenceScaler::GetMetrics() {
  double highest = 0;
  for (const GpuSample& gpu : service_.Snapshot().gpus) {
    highest = std::max(highest, MemoryUsedPercent(gpu).value_or(0));
  }
  return highest;
}

absl::StatusOr<bool> ReferenceScaler::IsActive() {
  constexpr double kActivationThreshold = 5;
  return *GetMetrics() > kActivationThreshold;
}

}  // namespace gpuscaler
