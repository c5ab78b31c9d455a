#include "scaling/hpa.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace gpuscaler {
namespace {

// --horizontal-pod-autoscaler-downscale-stabilization, used without a behavior.
constexpr absl::Duration kDownscaleStabilization = absl::Minutes(5);

// Returns a quantity of the metrics API in thousandths, as KEDA 2.21 rounds it; 0 if not a positive
// number.
double Milli(double value) {
  return std::isfinite(value) && value > 0 ? std::round(value * 1000) : 0;
}

int CeilToReplicas(double count) {
  constexpr double kMaxReplicas = std::numeric_limits<int32_t>::max();
  return static_cast<int>(std::clamp(std::ceil(count), 0.0, kMaxReplicas));
}

// Compares each bound separately, like the controller since 1.33: in binary, |1 - 1.1| exceeds a
// tenth.
bool IsWithin(double tolerance, double ratio) {
  return 1.0 - tolerance <= ratio && ratio <= 1.0 + tolerance;
}

absl::Duration LongestPeriod(const HpaRules& rules) {
  absl::Duration longest;
  for (const HpaPolicy& policy : rules.policies) longest = std::max(longest, policy.period);
  return longest;
}

}  // namespace

HpaRules DefaultScaleUp() {
  return {.stabilization_window = absl::ZeroDuration(),
          .policies = {{HpaPolicy::Type::kPods, 4, absl::Seconds(15)},
                       {HpaPolicy::Type::kPercent, 100, absl::Seconds(15)}}};
}

HpaRules DefaultScaleDown() {
  return {.stabilization_window = absl::Minutes(5),
          .policies = {{HpaPolicy::Type::kPercent, 100, absl::Seconds(15)}}};
}

int ProposeReplicas(const HpaOptions& options, int replicas, int ready, double value) {
  const double total = Milli(value);
  const double target = std::max(1.0, Milli(options.target));
  const bool average = options.target_type == TargetType::kAverageValue;
  const double ratio = total / (average ? target * std::max(replicas, 1) : target);
  if (replicas > 0 && IsWithin(options.tolerance, ratio)) return replicas;
  if (average) return CeilToReplicas(total / target);
  return CeilToReplicas(ratio * (replicas > 0 ? ready : 1));
}

std::optional<int> HighestProposal(int replicas, const std::vector<std::optional<int>>& proposals) {
  std::optional<int> highest;
  bool all_known = true;
  for (const std::optional<int>& proposal : proposals) {
    all_known = all_known && proposal.has_value();
    if (proposal.has_value()) highest = std::max(highest.value_or(*proposal), *proposal);
  }
  if (!all_known && highest.has_value() && *highest < replicas) return std::nullopt;
  return highest;
}

Hpa::Hpa(HpaOptions options) : options_(std::move(options)) {}

int Hpa::Sync(absl::Time now, int replicas, int ready, std::optional<double> value) {
  if (!value.has_value()) return Apply(now, replicas, std::nullopt);
  return Apply(now, replicas, ProposeReplicas(options_, replicas, ready, *value));
}

int Hpa::Apply(absl::Time now, int replicas, std::optional<int> proposal) {
  // The initial count is the first proposal, so a new HPA does not scale in at once.
  if (proposals_.empty()) proposals_.push_back({now, replicas});
  if (replicas == 0) return 0;
  const int in_range = std::clamp(replicas, options_.min_replicas, options_.max_replicas);
  int wanted = in_range;
  if (in_range == replicas) {
    if (!proposal.has_value()) return replicas;
    DropExpired(now);
    wanted = Limit(now, replicas, Stabilize(now, replicas, *proposal));
    proposals_.push_back({now, *proposal});
  }
  if (wanted != replicas) changes_.push_back({now, wanted - replicas});
  return wanted;
}

int Hpa::Stabilize(absl::Time now, int replicas, int proposal) const {
  int highest = proposal;
  int lowest = proposal;
  for (const Event& past : proposals_) {
    const absl::Duration age = now - past.at;
    if (options_.no_behavior) {
      if (age <= kDownscaleStabilization) highest = std::max(highest, past.replicas);
      continue;
    }
    if (age < options_.scale_up.stabilization_window) lowest = std::min(lowest, past.replicas);
    if (age < options_.scale_down.stabilization_window) highest = std::max(highest, past.replicas);
  }
  if (options_.no_behavior) return highest;
  // The result is the count nearest to the present one that the proposals of both windows allow.
  return std::min(std::max(replicas, lowest), highest);
}

int Hpa::Limit(absl::Time now, int replicas, int wanted) const {
  if (options_.no_behavior) {
    const int most = std::min(options_.max_replicas, std::max(2 * replicas, 4));
    return std::min(std::max(wanted, options_.min_replicas), most);
  }
  if (wanted > replicas) {
    return std::min(
        {wanted, options_.max_replicas, std::max(replicas, PolicyLimit(now, replicas, true))});
  }
  if (wanted < replicas) {
    return std::max(
        {wanted, options_.min_replicas, std::min(replicas, PolicyLimit(now, replicas, false))});
  }
  return wanted;
}

// Returns the limit of the policies on scaling up or down. Without policies it is that of the HPA.
int Hpa::PolicyLimit(absl::Time now, int replicas, bool up) const {
  const HpaRules& rules = up ? options_.scale_up : options_.scale_down;
  if (rules.select == HpaRules::Select::kDisabled) return replicas;
  const bool highest = (rules.select == HpaRules::Select::kMax) == up;
  std::optional<int> limit;
  for (const HpaPolicy& policy : rules.policies) {
    const int before = ReplicasBefore(now, replicas, policy.period);
    const int change = up ? policy.value : -policy.value;
    const double percent = before * (1 + change / 100.0);
    const int allowed = policy.type == HpaPolicy::Type::kPods ? before + change
                        : up                                  ? CeilToReplicas(percent)
                                                              : static_cast<int>(percent);
    limit = highest ? std::max(limit.value_or(allowed), allowed)
                    : std::min(limit.value_or(allowed), allowed);
  }
  return limit.value_or(up ? options_.max_replicas : options_.min_replicas);
}

// `period` is that of a policy. Only changes by this HPA are known.
int Hpa::ReplicasBefore(absl::Time now, int replicas, absl::Duration period) const {
  for (const Event& change : changes_) {
    if (now - change.at < period) replicas -= change.replicas;
  }
  return replicas;
}

void Hpa::DropExpired(absl::Time now) {
  const absl::Duration window =
      std::max({kDownscaleStabilization, options_.scale_up.stabilization_window,
                options_.scale_down.stabilization_window});
  while (!proposals_.empty() && now - proposals_.front().at > window) proposals_.pop_front();
  const absl::Duration period =
      std::max(LongestPeriod(options_.scale_up), LongestPeriod(options_.scale_down));
  while (!changes_.empty() && now - changes_.front().at > period) changes_.pop_front();
}

}  // namespace gpuscaler
