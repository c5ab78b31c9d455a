#include "scaling/frozen_engine.h"

#include <algorithm>

#include "scaling/node_view.h"

namespace gpuscaler {
namespace {

// InfiniteFuture: the newest sample is not idle.
absl::Time IdleSince(std::span<const ReplicaSample> gpu_samples) {
  absl::Time since = absl::InfiniteFuture();
  for (size_t i = gpu_samples.size(); i-- > 0;) {
    const ReplicaSample& sample = gpu_samples[i];
    const bool idle = sample.utilization.has_value() && !sample.busy;
    const bool follows = since == absl::InfiniteFuture() || sample.at >= since;
    if (!idle || !follows) break;
    since = sample.since;
  }
  return since;
}

}  // namespace

absl::Time StalledAt(const Trigger& trigger, const SignalSeries& engine) {
  return engine.unchanged_since ? *engine.unchanged_since + trigger.frozen_window
                                : absl::InfiniteFuture();
}

absl::Time FrozenAt(const Trigger& trigger, const SignalSeries& engine,
                    std::span<const ReplicaSample> gpu_samples) {
  const absl::Time stalled_at = StalledAt(trigger, engine);
  if (stalled_at == absl::InfiniteFuture()) return stalled_at;
  const absl::Time idle_since = IdleSince(gpu_samples);
  if (idle_since == absl::InfiniteFuture()) return absl::InfiniteFuture();
  const absl::Duration idle_for = std::min(trigger.frozen_window, LookBack(trigger));
  return std::max(stalled_at, idle_since + idle_for);
}

absl::Time FrozenAt(const Trigger& trigger, const SignalSeries& engine, const Replica& replica,
                    absl::Time until) {
  if (!replica.why_stale.empty()) return absl::InfiniteFuture();
  const std::span<const ReplicaSample> all = replica.samples;
  const auto end = std::ranges::upper_bound(all, until, {}, &ReplicaSample::at);
  return FrozenAt(trigger, engine, all.first(static_cast<size_t>(end - all.begin())));
}

bool AnyStalled(const Trigger& trigger, const SignalHistory& signals, absl::Time now) {
  const auto is_stalled = [&](const SignalSeries& engine) {
    return StalledAt(trigger, engine) <= now;
  };
  return std::ranges::any_of(signals.series, is_stalled) ||
         std::ranges::any_of(signals.departed, is_stalled);
}

void CopyGpuActivity(std::span<const ReplicaSample> gpu_samples,
                     std::vector<ReplicaSample>& samples) {
  size_t next = 0;  // the first GPU sample after `sample`
  for (ReplicaSample& sample : samples) {
    while (next < gpu_samples.size() && gpu_samples[next].at <= sample.at) ++next;
    if (next == 0) continue;
    const ReplicaSample& then = gpu_samples[next - 1];
    sample.utilization = then.utilization;
    sample.busy = then.busy;
    sample.utilization_read_at = then.utilization_read_at;
  }
}

}  // namespace gpuscaler
