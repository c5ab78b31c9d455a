#include "scaling/unreadable_engines.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"

namespace gpuscaler {
namespace {

bool HasNoValue(const Replica& replica) {
  return replica.present && replica.by_engine && !replica.samples.back().metric.has_value();
}

bool AppliesTo(const MissingEngine& missing, const Replica& replica) {
  if (missing.pod.empty()) {
    return std::ranges::find(replica.nodes, missing.node) != replica.nodes.end();
  }
  return std::ranges::any_of(replica.pods, [&missing](const Pod* pod) {
    return pod->name == missing.pod && pod->namespace_name == missing.namespace_name;
  });
}

// Returns "no engine is found (node gpu-7: its agent does not look for engines)", for a trigger
// without an endpoint. It names one of several reasons.
std::string NoneFoundText(const SignalHistory& signals) {
  constexpr char kNone[] = "no engine is found";
  if (signals.missing_engines == nullptr || signals.missing_engines->empty()) return kNone;
  const MissingEngine& one = signals.missing_engines->front();
  const std::string where =
      one.pod.empty() ? absl::StrCat("node ", one.node) : absl::StrCat("pod ", one.pod);
  return absl::StrCat(kNone, " (", where, ": ", one.why, ")");
}

bool IsNamed(const Trigger& trigger) { return !trigger.engine_endpoint.url.empty(); }

// Returns whether all known holders are pods that the ScaledObject may not see.
bool IsOfOthersAlone(const ScaledObjectRef& scaled_object, const NodeLayout& layout,
                     const NodeLayout::Gpu& gpu) {
  return !gpu.holders.empty() && std::ranges::none_of(gpu.holders, [&](const GpuHolder& holder) {
    return scaled_object.MaySee(layout.pods[static_cast<size_t>(holder.pod)].namespace_name);
  });
}

bool AnyGpuInUse(const DecisionInputs& inputs, const NodeRun& newest) {
  const NodeLayout& layout = *newest.layout();
  for (size_t i = 0; i < layout.gpus.size(); ++i) {
    // A named endpoint may lead to any pod.
    const bool counts =
        IsNamed(inputs.trigger) || !IsOfOthersAlone(inputs.scaled_object, layout, layout.gpus[i]);
    if (counts && newest.point(i).in_use()) return true;
  }
  return false;
}

}  // namespace

std::string NoAddressText(const EngineEndpoint& endpoint) {
  return absl::StrCat(endpoint.url,
                      " has no address: no pod is Ready behind it, or the name is another");
}

absl::Status CheckNoneIsHidden(const DecisionInputs& inputs) {
  const Trigger& trigger = inputs.trigger;
  const SignalHistory& signals = *inputs.signals;
  const bool any_in_use = signals.series.empty() &&
                          std::ranges::any_of(inputs.fleet.nodes, [&](const NodeState& state) {
                            return AnyGpuInUse(inputs, state.history->runs.back());
                          });
  if (!any_in_use) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      IsNamed(trigger) ? NoAddressText(trigger.engine_endpoint) : NoneFoundText(signals),
      "; and GPUs are in use"));
}

bool AllNodesSearch(const Replica& replica, const SignalHistory& signals) {
  return signals.missing_engines == nullptr ||
         std::ranges::none_of(*signals.missing_engines, [&](const MissingEngine& each) {
           return each.pod.empty() && AppliesTo(each, replica);
         });
}

std::string WhyNotFoundIn(const Replica& replica, const SignalHistory& signals) {
  if (signals.missing_engines == nullptr) return "";
  const auto found = std::ranges::find_if(*signals.missing_engines, [&](const MissingEngine& each) {
    return AppliesTo(each, replica);
  });
  return found == signals.missing_engines->end() ? "" : found->why;
}

std::string UnreadableEnginesText(const std::vector<Replica>& replicas) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> named;
  size_t unreadable = 0;
  for (const Replica& replica : replicas) {
    if (!HasNoValue(replica) || ++unreadable > kNamed) continue;
    named.push_back(absl::StrCat(replica.name, replica.last_error.empty() ? "" : " (",
                                 replica.last_error, replica.last_error.empty() ? "" : ")"));
  }
  if (unreadable == 0) return "";
  return absl::StrCat("no number from the engines of ",
                      CountText(static_cast<int64_t>(unreadable), "replica"), ": ",
                      ListText(named, kNamed, unreadable - named.size()));
}

}  // namespace gpuscaler
