#include "simulate/test_loop_load.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kHalfHour = absl::Minutes(30);

RateCurve Changes(absl::string_view text) {
  absl::StatusOr<RateCurve> curve = RateCurve::Parse(text);
  return curve.ok() ? *curve : RateCurve::Constant(0);
}

// Runs Poisson arrivals of the trace's requests in random order, for twenty minutes on one engine.
bool IsSustained(const EnginePreset& preset, const RequestTrace& trace, double rate) {
  LoopScenario scenario{
      .workload = {.engine = preset.batch}, .goals = preset.goals, .duration = absl::Minutes(20)};
  scenario.requests = PoissonTrace(RateCurve::Constant(rate), scenario.duration, preset.request, 1);
  std::mt19937_64 random(1);
  for (TracedRequest& each : scenario.requests) {
    each.request = trace[random() % trace.size()].request;
  }
  ScheduledPolicy policy(1);
  return RunLoop(scenario, policy).totals.slo_percent() >= 99;
}

double SustainedRate(const EnginePreset& preset, const RequestTrace& trace) {
  double low = 0, high = 200;
  while (high - low > 0.01 * high) {
    const double rate = (low + high) / 2;
    (IsSustained(preset, trace, rate) ? low : high) = rate;
  }
  return low;
}

}  // namespace

int LoopLoad::Needed(absl::Duration from, absl::Duration until) const {
  double most = 0;
  for (absl::Duration at = std::max(from, absl::ZeroDuration()); at <= std::min(until, duration);
       at += absl::Seconds(5)) {
    most = std::max(most, engines.RateAt(at));
  }
  return std::max(1, static_cast<int>(std::ceil(most - 1e-9)));
}

LoopLoad ConstantLoad(double engines) {
  return {.name = absl::StrCat("constant ", engines),
          .engines = RateCurve::Constant(engines),
          .duration = kHalfHour + absl::Hours(2),
          .measured_from = kHalfHour};
}

std::vector<LoopLoad> LoopLoads() {
  std::vector<LoopLoad> loads;
  for (const double engines : {0.3, 0.8, 1.5, 2.5, 3.3, 4.2, 8.3}) {
    loads.push_back(ConstantLoad(engines));
  }
  loads.push_back({.name = "step 1 to 6",
                   .engines = Changes("0 1\n1800 6"),
                   .duration = kHalfHour + absl::Hours(1),
                   .measured_from = kHalfHour,
                   .rises_at = kHalfHour});
  loads.push_back({.name = "ramp 1 to 6",
                   .engines = RateCurve::Ramp(1, 6, absl::Minutes(20), absl::Minutes(80)),
                   .duration = absl::Hours(2),
                   .measured_from = absl::Minutes(20)});
  loads.push_back({.name = "diurnal 1 to 6",
                   .engines = RateCurve::Sine(1, 6, absl::Hours(2)),
                   .duration = absl::Hours(2)});
  loads.push_back({.name = "bursts 1.5 to 4.5",
                   .engines = RateCurve::Burst(1.5, 4.5, absl::Minutes(15)),
                   .duration = absl::Hours(2)});
  std::string on_and_off;
  for (int second = 0; second < 7200; second += 600) {
    absl::StrAppend(&on_and_off, second, " 3\n", second + 360, " 0\n");
  }
  loads.push_back({.name = "on/off 3, gaps of 240 s",
                   .engines = Changes(on_and_off),
                   .duration = absl::Hours(2)});
  return loads;
}

LoopScenario ScenarioOf(const EnginePreset& preset, const LoopLoad& load, uint64_t seed) {
  LoopScenario scenario{.workload = {.engine = preset.batch, .seed = seed},
                        .goals = preset.goals,
                        .duration = load.duration,
                        .initial_replicas = load.Needed(absl::ZeroDuration(), absl::ZeroDuration()),
                        .measured_from = load.measured_from};
  scenario.requests = PoissonTrace(load.engines.Times(preset.requests_per_second), load.duration,
                                   preset.request, seed);
  return scenario;
}

void ChangeRequests(LoopScenario& scenario, const EnginePreset& preset, const LoopLoad& load,
                    const EngineRequest& later, absl::Duration at) {
  const double rate = SustainedRate(preset, {{.request = later}});
  std::erase_if(scenario.requests, [&](const TracedRequest& each) { return each.at >= at; });
  for (const TracedRequest& each :
       PoissonTrace(load.engines.Times(rate), load.duration, later, scenario.workload.seed + 1)) {
    if (each.at >= at) scenario.requests.push_back(each);
  }
}

RequestTrace TraceFor(const EnginePreset& preset, const RequestTrace& trace, double engines,
                      uint64_t seed) {
  return ScaledTrace(trace, engines * SustainedRate(preset, trace), seed);
}

LoopLoad LoadOf(const std::string& name, const RequestTrace& trace, double engines) {
  constexpr int kMinute = 60;
  const double mean = RequestsPerSecond(trace);
  std::string lines;
  auto first = trace.begin();
  for (int second = 0; first != trace.end(); second += kMinute) {
    const auto last = std::find_if(first, trace.end(), [second](const TracedRequest& each) {
      return each.at >= absl::Seconds(second + kMinute);
    });
    absl::StrAppend(&lines, second, " ",
                    engines * static_cast<double>(last - first) / kMinute / mean, "\n");
    first = last;
  }
  return {.name = name, .engines = Changes(lines), .duration = trace.back().at};
}

ScheduledPolicy Clairvoyant(const LoopLoad& load, absl::Duration lead) {
  return ScheduledPolicy(
      [load, lead](absl::Duration passed) { return load.Needed(passed, passed + lead); });
}

LoopScenario LlmdEpisode(uint64_t seed) {
  const EnginePreset& preset = *EnginePresetNamed("llm-d");
  constexpr absl::Duration kStart = absl::Seconds(100), kLoad = absl::Seconds(2430);
  LoopScenario scenario{.workload = {.engine = preset.batch,
                                     .shortest_start = kStart,
                                     .longest_start = kStart,
                                     .seed = seed},
                        .goals = preset.goals,
                        .duration = kLoad + absl::Minutes(30),
                        .initial_replicas = kLlmdFewestReplicas,
                        .ends_at_replicas = kLlmdFewestReplicas};
  // Prompts of 3,500 to 4,500 tokens with a deviation of 300, answers of 900 to 1,100 with 80.
  scenario.requests = PoissonTrace(
      Changes("0 2\n330 4\n690 6\n1050 8\n1410 10\n1770 4\n2130 1"), kLoad, preset.request, seed,
      {.deviation = 0.075, .spread = 0.125}, {.deviation = 0.08, .spread = 0.1});
  return scenario;
}

}  // namespace gpuscaler
