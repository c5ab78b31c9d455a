#include "simulate/scalers.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace gpuscaler {

DecideScaler::DecideScaler(const Trigger& trigger, const InferenceService& service,
                           absl::Duration stale_after)
    : trigger_(trigger), service_(service), stale_after_(stale_after) {
  decision_.status = absl::UnavailableError("no GPU snapshot yet");
}

void DecideScaler::Observe() {
  auto& snapshots = history_.snapshots;
  NodeSnapshot snapshot = service_.Snapshot();
  memory_.Annotate(snapshot);
  snapshots.push_back(std::make_shared<const NodeSnapshot>(std::move(snapshot)));
  ++history_.generation;
  const absl::Time horizon = service_.now() - kLongestWindow;
  std::erase_if(snapshots, [&](const auto& snapshot) { return snapshot->taken_at < horizon; });
  decision_ = Decide(trigger_, history_, stale_after_);
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
