#include "simulate/keda.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

HpaOptions OptionsOf(const ScaledObjectSpec& spec) {
  HpaOptions options = spec.hpa;
  options.min_replicas = std::max(1, spec.min_replica_count);  // an HPA never scales to 0
  options.max_replicas = spec.max_replica_count;
  return options;
}

int FallbackReplicas(const Fallback& fallback, int replicas) {
  switch (fallback.behavior) {
    case Fallback::Behavior::kCurrentReplicas:
      return replicas;
    case Fallback::Behavior::kCurrentReplicasIfHigher:
      return std::max(replicas, fallback.replicas);
    case Fallback::Behavior::kCurrentReplicasIfLower:
      return std::min(replicas, fallback.replicas);
    case Fallback::Behavior::kStatic:
      break;
  }
  return fallback.replicas;
}

}  // namespace

Keda::Keda(const ScaledObjectSpec& spec, const std::vector<KedaTrigger>& triggers)
    : spec_(spec), hpa_(OptionsOf(spec)) {
  for (const KedaTrigger& trigger : triggers) triggers_.push_back({.trigger = trigger});
}

int Keda::Step(absl::Time now, int replicas, int ready, int status_replicas) {
  if (now >= next_sync_) {
    next_sync_ = now + spec_.hpa_sync_period;
    replicas = Sync(now, replicas, ready, status_replicas);
  }
  if (now >= next_poll_) {
    next_poll_ = now + spec_.polling_interval;
    replicas = Poll(now, replicas, ready);
  }
  return replicas;
}

// Gets value and activity together: an error of either is an error of both.
Keda::Answer Keda::GetAnswer(TriggerState& state, int replicas, int ready) const {
  Answer answer;
  answer.value = state.trigger.scaler->GetMetrics();
  const absl::StatusOr<bool> active =
      answer.value.ok() ? state.trigger.scaler->IsActive() : answer.value.status();
  if (!active.ok()) answer.value = active.status();
  answer.active = active.value_or(false);

  state.failures = active.ok() ? 0 : state.failures + 1;
  if (!active.ok() && spec_.fallback && state.failures > spec_.fallback->failure_threshold) {
    if (const auto value = FallbackValue(state, replicas, ready)) {
      answer.value = *value;
      answer.active = true;  // a fallback wakes a workload at zero
    }
  }
  state.last = answer;
  return answer;
}

std::optional<double> Keda::FallbackValue(const TriggerState& state, int replicas,
                                          int ready) const {
  const double wanted = FallbackReplicas(*spec_.fallback, replicas);
  if (state.trigger.target_type == TargetType::kAverageValue) {
    return wanted * state.trigger.target;
  }
  if (ready == 0) return std::nullopt;
  return wanted / ready * state.trigger.target;
}

int Keda::Poll(absl::Time now, int replicas, int ready) {
  bool active = false;
  bool failed = false;
  for (TriggerState& state : triggers_) {
    const Answer answer = GetAnswer(state, replicas, ready);
    active = active || answer.active;
    failed = failed || !answer.value.ok();
  }
  if (active) {
    if (replicas == 0) {
      last_active_ = now;
      return std::max(1, spec_.min_replica_count);
    }
    // If another trigger fails, the time of the last activity is not updated. The first inactive
    // answer after a long outage then finds the cooldown expired.
    if (!failed) last_active_ = now;
    return replicas;
  }
  if (failed && (!spec_.fallback || spec_.fallback->replicas != 0)) return replicas;
  if (replicas > 0 && spec_.min_replica_count == 0) return CoolDown(now, replicas);
  return std::max(replicas, spec_.min_replica_count);
}

int Keda::CoolDown(absl::Time now, int replicas) const {
  const bool over = !last_active_ || *last_active_ + spec_.cooldown_period < now;
  return over ? 0 : replicas;
}

int Keda::Sync(absl::Time now, int replicas, int ready, int status_replicas) {
  if (replicas == 0) return hpa_.Apply(now, replicas, std::nullopt);
  std::vector<std::optional<int>> proposals;
  for (TriggerState& state : triggers_) {
    const Answer answer = GetAnswer(state, replicas, ready);
    HpaOptions options = hpa_.options();
    options.target = state.trigger.target;
    options.target_type = state.trigger.target_type;
    proposals.push_back(answer.value.ok() ? std::make_optional(ProposeReplicas(
                                                options,
                                                options.target_type == TargetType::kAverageValue &&
                                                        status_replicas >= 0
                                                    ? status_replicas
                                                    : replicas,
                                                ready, *answer.value))
                                          : std::nullopt);
  }
  return hpa_.Apply(now, replicas, HighestProposal(replicas, proposals));
}

}  // namespace gpuscaler
