#include "simulate/closed_loop.h"

#include <algorithm>

#include "simulate/arrivals.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kSampling = absl::Seconds(1);

bool IsWithin(const LatencyGoals& goals, const LoopRequest& request) {
  if (request.first_token - request.arrived > goals.first_token) return false;
  const int64_t gaps = request.request.max_tokens - 1;
  return gaps == 0 || (request.last_token - request.first_token) / gaps <= goals.per_output_token;
}

// Returns true if the first or the last token is missing for longer than the goals allow.
bool IsLate(const LatencyGoals& goals, const LoopRequest& request, absl::Time now) {
  if (std::min(request.first_token, now) - request.arrived > goals.first_token) return true;
  return now - request.arrived >
         goals.first_token + (request.request.max_tokens - 1) * goals.per_output_token;
}

class ResultCollector {
 public:
  explicit ResultCollector(const LoopScenario& scenario)
      : scenario_(scenario), from_(SimulatedStart() + scenario.measured_from) {}

  void AddServed(const std::vector<LoopRequest>& served) {
    for (const LoopRequest& request : served) {
      if (request.arrived < from_) continue;
      LoopTotals& totals = result_.totals;
      ++totals.requests;
      ++totals.served;
      totals.within_goals += IsWithin(scenario_.goals, request) ? 1 : 0;
      const absl::Duration latency = request.last_token - request.arrived;
      totals.latency += latency;
      totals.longest_latency = std::max(totals.longest_latency, latency);
    }
  }

  void Add(const LoopSample& sample) {
    if (sample.at >= scenario_.measured_from) AddToTotals(sample);
    result_.samples.push_back(sample);
  }

  LoopResult Finish(const SimulatedWorkload& workload) {
    for (const LoopRequest& request : workload.Unserved()) {
      if (request.arrived < from_) continue;
      ++result_.totals.unserved;
      result_.totals.requests += IsLate(scenario_.goals, request, workload.now()) ? 1 : 0;
    }
    result_.totals.mean_replicas /= std::max(seconds_, 1.0);
    result_.totals.hours = seconds_ / 3600;
    return std::move(result_);
  }

 private:
  void AddToTotals(const LoopSample& sample) {
    LoopTotals& totals = result_.totals;
    seconds_ += absl::ToDoubleSeconds(kSampling);
    totals.gpu_hours += absl::ToDoubleHours(kSampling) * (sample.replicas + sample.terminating);
    totals.mean_replicas += sample.replicas;
    const bool is_first = totals.most_replicas == 0;
    totals.fewest_replicas =
        is_first ? sample.desired : std::min(totals.fewest_replicas, sample.desired);
    totals.most_replicas = std::max(totals.most_replicas, sample.desired);
    if (result_.samples.empty()) return;
    const int change = sample.desired - result_.samples.back().desired;
    if (change == 0) return;
    ++totals.changes;
    totals.scale_outs += change > 0 ? 1 : 0;
    totals.direction_changes +=
        (change > 0 && last_change_ < 0) || (change < 0 && last_change_ > 0);
    last_change_ = change;
  }

  const LoopScenario& scenario_;
  const absl::Time from_;
  LoopResult result_;
  double seconds_ = 0;
  int last_change_ = 0;
};

}  // namespace

absl::Time SimulatedStart() { return absl::FromUnixSeconds(1'767'225'600); }

RequestTrace EvenTrace(const RateCurve& curve, absl::Duration duration,
                       const EngineRequest& request) {
  Arrivals arrivals(curve, duration, Spacing::kEven, /*seed=*/1);
  RequestTrace trace;
  while (const auto at = arrivals.Next()) trace.push_back({.at = *at, .request = request});
  return trace;
}

std::optional<absl::Duration> LoopResult::TimeUntilReady(int replicas, absl::Duration since) const {
  for (const LoopSample& sample : samples) {
    if (sample.at >= since && sample.ready >= replicas) return sample.at - since;
  }
  return std::nullopt;
}

LoopResult RunLoop(const LoopScenario& scenario, ReplicaPolicy& policy,
                   absl::FunctionRef<void(SimulatedWorkload&, absl::Duration)> each_second) {
  SimulatedWorkload workload(scenario.workload, SimulatedStart());
  for (int i = 0; i < scenario.initial_replicas; ++i) workload.StartReadyAt(SimulatedStart());
  ResultCollector collector(scenario);
  int desired = scenario.initial_replicas;
  auto next = scenario.requests.begin();
  for (absl::Duration passed; passed <= scenario.duration; passed += kSampling) {
    for (; next != scenario.requests.end() && next->at <= passed; ++next) {
      workload.Advance(SimulatedStart() + next->at);
      workload.Submit(next->request);
    }
    workload.Advance(SimulatedStart() + passed);
    if (std::ranges::count(scenario.restarts_at, passed) > 0) workload.Restart();
    each_second(workload, passed);
    desired = policy.Step(passed, workload, desired);
    workload.Scale(desired);
    collector.AddServed(workload.served());
    workload.ClearEvents();
    collector.Add({.at = passed,
                   .desired = desired,
                   .replicas = workload.replicas(),
                   .ready = workload.ready(),
                   .terminating = static_cast<int>(workload.pods().size()) - workload.replicas(),
                   .running = workload.running(),
                   .waiting = workload.waiting(),
                   .value = policy.value()});
    if (next == scenario.requests.end() && workload.replicas() <= scenario.ends_at_replicas) break;
  }
  return collector.Finish(workload);
}

}  // namespace gpuscaler
