#include "simulate/test_recipe_scalers.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "simulate/recipe_scalers.h"

namespace gpuscaler {
namespace {

constexpr double kBusyPercent = 97;

constexpr absl::Duration kLatencyWindow = absl::Minutes(1), kSmoothing = absl::Seconds(45),
                         kEvaluation = absl::Seconds(15);
constexpr double kUpThreshold = 0.55, kDownBoundary = 0.40, kCap = 2;

double MeanUtilization(const SimulatedWorkload& workload) {
  double sum = 0;
  int pods = 0;
  for (const SimulatedReplica& pod : workload.pods()) {
    if (!pod.IsLoaded(workload.now())) continue;
    ++pods;
    sum += pod.engine->Gauges().running > 0 ? kBusyPercent : 0;
  }
  return pods == 0 ? 0 : sum / pods;
}

class LatencyLawScaler : public Scaler {
 public:
  explicit LatencyLawScaler(const LatencyGoals& goals) : goals_(goals) {}

  void Observe(const SimulatedWorkload& workload) override;
  absl::StatusOr<double> GetMetrics() override { return desired_; }
  absl::StatusOr<bool> IsActive() override { return true; }

 private:
  struct Measured {
    absl::Time at;
    double of_goal;
  };
  double Saturation() const;

  const LatencyGoals goals_;
  std::vector<Measured> first_tokens_;   // last minute
  std::vector<Measured> output_tokens_;  // last minute
  std::deque<Measured> saturation_;      // last 45 s
  absl::Time next_evaluation_ = absl::InfinitePast();
  double desired_ = 0;
};

double LatencyLawScaler::Saturation() const {
  const auto p90 = [](const std::vector<Measured>& measured) {
    if (measured.empty()) return 0.0;
    std::vector<double> values;
    for (const Measured& each : measured) values.push_back(each.of_goal);
    const auto rank =
        static_cast<std::ptrdiff_t>(std::ceil(0.9 * static_cast<double>(values.size()))) - 1;
    std::ranges::nth_element(values, values.begin() + rank);
    return values[static_cast<size_t>(rank)];
  };
  return std::min(kCap, std::max(p90(first_tokens_), p90(output_tokens_)));
}

void LatencyLawScaler::Observe(const SimulatedWorkload& workload) {
  const absl::Time now = workload.now();
  for (const LoopRequest& request : workload.started()) {
    first_tokens_.push_back(
        {now, absl::FDivDuration(request.first_token - request.arrived, goals_.first_token)});
  }
  for (const LoopRequest& request : workload.served()) {
    const int64_t gaps = std::max<int64_t>(request.request.max_tokens - 1, 1);
    output_tokens_.push_back({now, absl::FDivDuration(request.last_token - request.first_token,
                                                      gaps * goals_.per_output_token)});
  }
  if (now < next_evaluation_) return;
  next_evaluation_ = now + kEvaluation;
  const auto is_old = [now](const Measured& each) { return each.at <= now - kLatencyWindow; };
  std::erase_if(first_tokens_, is_old);
  std::erase_if(output_tokens_, is_old);
  saturation_.push_back({now, Saturation()});
  while (saturation_.front().at <= now - kSmoothing) saturation_.pop_front();
  double saturation = 0;
  for (const Measured& each : saturation_) {
    saturation += each.of_goal / static_cast<double>(saturation_.size());
  }

  const double replicas = workload.replicas();
  const double ready = workload.ready();
  // Starting pods will take part of the load, so that part adds no further pods.
  const double credit = 0 < ready && ready < replicas ? ready / replicas : 1;
  desired_ = replicas;
  if (saturation * credit > kUpThreshold) {
    desired_ = replicas + std::ceil(replicas * (saturation * credit / kUpThreshold - 1));
  } else if (saturation < kDownBoundary) {
    desired_ = replicas - std::floor(replicas * (1 - saturation / kDownBoundary));
  }
}

}  // namespace

KedaTrigger WaitingRecipe(double target) {
  return Recipe(
      [](const SimulatedWorkload& workload) {
        return static_cast<double>(workload.waiting() - workload.held());
      },
      target);
}

KedaTrigger InFlightRecipe(double target) {
  return Recipe(
      [](const SimulatedWorkload& workload) {
        return static_cast<double>(workload.running() + workload.waiting() - workload.held());
      },
      target);
}

KedaTrigger UtilizationRecipe(TargetType type) { return Recipe(MeanUtilization, 80, type); }

KedaTrigger HeldRecipe(double target) {
  return Recipe(
      [](const SimulatedWorkload& workload) { return static_cast<double>(workload.held()); },
      target);
}

KedaTrigger LatencyLaw(const LatencyGoals& goals) {
  return {.scaler = std::make_shared<LatencyLawScaler>(goals), .target = 1};
}

ScaledObjectSpec LatencyLawObject(int min_replicas, int max_replicas) {
  return {.min_replica_count = min_replicas,
          .max_replica_count = max_replicas,
          .hpa = {.scale_up = {.stabilization_window = absl::Seconds(30),
                               .policies = {{HpaPolicy::Type::kPercent, 100, absl::Minutes(1)},
                                            {HpaPolicy::Type::kPods, 4, absl::Minutes(1)}}},
                  .scale_down = {.stabilization_window = absl::Seconds(180),
                                 .policies = {{HpaPolicy::Type::kPods, 1, absl::Seconds(120)}}}}};
}

}  // namespace gpuscaler
