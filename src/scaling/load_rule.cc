#include "scaling/load_rule.h"

#include <algorithm>

#include "scaling/node_view.h"

namespace gpuscaler {
namespace {

LoadRule PreallocatedRule(const Trigger& trigger) {
  if (trigger.preallocated_memory == PreallocatedMemory::kActivity) {
    return LoadRule::kTargetWhileBusy;
  }
  switch (trigger.engine_fallback) {
    case EngineFallback::kUtilization:
      return LoadRule::kUtilization;
    case EngineFallback::kActivity:
      return LoadRule::kTargetWhileBusy;
    case EngineFallback::kNone:
      break;
  }
  return LoadRule::kUnknown;
}

// The utilization of a replica that is gone shows its work. It may have freed its memory first, so
// whether that was preallocated is not known.
LoadRule GoneRule(const Trigger& trigger) {
  const LoadRule preallocated = PreallocatedRule(trigger);
  return preallocated == LoadRule::kUnknown ? LoadRule::kUtilization : preallocated;
}

// Memory that ended the start was watched from its beginning.
absl::Time WatchedSince(const Replica& replica) {
  return replica.started_at == replica.loaded_at ? replica.held_since : replica.started_at;
}

}  // namespace

// An engine that preallocates does so on any of its GPUs.
bool IsPreallocated(const Trigger& trigger, const Replica& replica) {
  if (trigger.metric != MetricType::kMemoryUsedPercent || replica.by_engine) return false;
  const bool literal = trigger.preallocated_memory == PreallocatedMemory::kLiteral;
  return (replica.present || literal) &&
         std::ranges::any_of(replica.steady_memory, [&](const SteadyMemory& memory) {
           return memory.WasSteadyFor(trigger.preallocation_window, WatchedSince(replica));
         });
}

LoadRule LoadRuleOf(const Trigger& trigger, const Replica& replica) {
  if (!EvaluatesPreallocatedMemory(trigger) || replica.by_engine) return LoadRule::kMetric;
  if (!replica.present) return GoneRule(trigger);
  if (IsPreallocated(trigger, replica)) return PreallocatedRule(trigger);
  const Samples since_start = From(replica.samples, replica.started_at);
  const bool is_new = since_start.empty() ||
                      since_start.back().at - since_start.front().at < trigger.preallocation_window;
  const bool not_evaluated =
      std::ranges::any_of(replica.steady_memory, [&](const SteadyMemory& memory) {
        return memory.IsTooNew(trigger.preallocation_window, replica.started_at);
      });
  return is_new || not_evaluated ? LoadRule::kNotEvaluated : LoadRule::kMetric;
}

std::optional<double> ValueOf(const Trigger& trigger, LoadRule load_rule,
                              const ReplicaSample& sample) {
  switch (load_rule) {
    case LoadRule::kMetric:
      return sample.metric;
    case LoadRule::kNotEvaluated:
      if (!sample.metric) return std::nullopt;
      return std::min(*sample.metric, trigger.target);
    case LoadRule::kUtilization:
      return sample.utilization;
    case LoadRule::kTargetWhileBusy:
      if (!sample.utilization) return std::nullopt;
      return sample.busy ? trigger.target : 0;
    case LoadRule::kUnknown:
      break;
  }
  return std::nullopt;
}

absl::Time ReadAt(LoadRule load_rule, const ReplicaSample& sample) {
  switch (load_rule) {
    case LoadRule::kMetric:
    case LoadRule::kNotEvaluated:
      return sample.metric_read_at;
    case LoadRule::kUtilization:
    case LoadRule::kTargetWhileBusy:
      return sample.utilization_read_at;
    case LoadRule::kUnknown:
      break;
  }
  return absl::InfinitePast();
}

Samples After(Samples samples, absl::Time at) {
  const auto first = std::ranges::upper_bound(samples, at, {}, &ReplicaSample::at);
  return samples.subspan(static_cast<size_t>(first - samples.begin()));
}

Samples From(Samples samples, absl::Time at) {
  const auto first = std::ranges::lower_bound(samples, at, {}, &ReplicaSample::at);
  return samples.subspan(static_cast<size_t>(first - samples.begin()));
}

}  // namespace gpuscaler
