#include "scaling/hidden_engines.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "scaling/unreadable_engines.h"

namespace gpuscaler {
namespace {

bool IsNamed(const Trigger& trigger) { return !trigger.engine_endpoint.url.empty(); }

// Returns whether all known holders are pods that the ScaledObject may not see.
bool IsOfOthersAlone(const ScaledObjectRef& scaled_object, const NodeLayout& layout,
                     const NodeLayout::Gpu& gpu) {
  return !gpu.holders.empty() && std::ranges::none_of(gpu.holders, [&](const GpuHolder& holder) {
    return scaled_object.MaySee(layout.pods[static_cast<size_t>(holder.pod)].namespace_name);
  });
}

bool AnyGpuInUse(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                 const NodeRun& newest) {
  const NodeLayout& layout = *newest.layout();
  const NodePointsView points = newest.points();
  for (size_t i = 0; i < points.size(); ++i) {
    // A named endpoint may lead to any pod.
    const bool counts = IsNamed(trigger) || !IsOfOthersAlone(scaled_object, layout, layout.gpus[i]);
    if (counts && points[i].in_use()) return true;
  }
  return false;
}

}  // namespace

absl::Status CheckNoneIsHidden(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                               const FleetHistory& fleet, const SignalHistory& signals) {
  const bool any_in_use =
      signals.series.empty() && std::ranges::any_of(fleet.nodes, [&](const NodeState& state) {
        return AnyGpuInUse(trigger, scaled_object, state.history->runs.back());
      });
  if (!any_in_use) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      IsNamed(trigger) ? NoAddressText(trigger.engine_endpoint) : NoneFoundText(signals),
      "; and GPUs are in use"));
}

}  // namespace gpuscaler
