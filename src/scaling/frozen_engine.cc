#include "scaling/frozen_engine.h"

#include <algorithm>

#include "scaling/node_view.h"

namespace gpuscaler {
namespace {

// As far as readings follow each other; InfiniteFuture: they are not idle.
absl::Time IdleSince(std::span<const ReplicaSample> of_gpus) {
  absl::Time since = absl::InfiniteFuture();
  for (size_t i = of_gpus.size(); i-- > 0;) {
    const ReplicaSample& sample = of_gpus[i];
    const bool idle = sample.utilization.has_value() && !sample.busy;
    const bool follows = since == absl::InfiniteFuture() || sample.at >= since;
    if (!idle || !follows) break;
    since = sample.since;
  }
  return since;
}

}  // namespace

absl::Time PreallocatedAt(const Trigger& trigger, const SignalSeries& engine) {
  return engine.unmoved_since ? *engine.unmoved_since + trigger.frozen_window
                              : absl::InfiniteFuture();
}

absl::Time FrozenAt(const Trigger& trigger, const SignalSeries& engine,
                    std::span<const ReplicaSample> of_gpus) {
  const absl::Time preallocated_at = PreallocatedAt(trigger, engine);
  if (preallocated_at == absl::InfiniteFuture()) return preallocated_at;
  const absl::Time idle_since = IdleSince(of_gpus);
  if (idle_since == absl::InfiniteFuture()) return absl::InfiniteFuture();
  const absl::Duration idle_for = std::min(trigger.frozen_window, LookBack(trigger));
  return std::max(preallocated_at, idle_since + idle_for);
}

absl::Time FrozenAt(const Trigger& trigger, const SignalSeries& engine, const Replica& replica,
                    absl::Time until) {
  if (!replica.why_stale.empty()) return absl::InfiniteFuture();
  const std::span<const ReplicaSample> all = replica.samples;
  const auto end = std::ranges::upper_bound(all, until, {}, &ReplicaSample::at);
  return FrozenAt(trigger, engine, all.first(static_cast<size_t>(end - all.begin())));
}

bool AnyPreallocated(const Trigger& trigger, const SignalHistory& signals, absl::Time now) {
  const auto stands = [&](const SignalSeries& engine) {
    return PreallocatedAt(trigger, engine) <= now;
  };
  return std::ranges::any_of(signals.series, stands) || std::ranges::any_of(signals.left, stands);
}

void TakeBusyFrom(std::span<const ReplicaSample> of_gpus, std::vector<ReplicaSample>& samples) {
  size_t next = 0;  // the first of the GPUs' behind the sample
  for (ReplicaSample& sample : samples) {
    while (next < of_gpus.size() && of_gpus[next].at <= sample.at) ++next;
    if (next == 0) continue;
    const ReplicaSample& then = of_gpus[next - 1];
    sample.utilization = then.utilization;
    sample.busy = then.busy;
    sample.utilization_read_at = then.utilization_read_at;
  }
}

}  // namespace gpuscaler
