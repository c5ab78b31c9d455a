// The cost of evaluating triggers on discovered engines in a large namespace: 20 workloads of 10
// pods. Each pod has a GPU and an engine that is read every second, and each workload is evaluated
// twice a second. Measures the evaluations of one second, with constant or changing GPU readings,
// and with and without a window.
#include <benchmark/benchmark.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "fleet/fleet_store.h"
#include "serve/trigger_evaluator.h"
#include "signal/found_engines.h"

namespace gpuscaler {
namespace {

constexpr int kWorkloads = 20;
constexpr int kPodsOfEach = 10;
constexpr int kPods = kWorkloads * kPodsOfEach;
constexpr int kPodsOfNode = 8;
constexpr int kSecondsBefore = 120;
const StalenessLimits kStaleness{.stale_after = absl::Seconds(6), .grace = absl::Seconds(15)};

class CountsNothing : public RequestMetrics {
 public:
  void Answered(Rpc /*rpc*/, absl::StatusCode /*code*/, absl::Duration /*took*/) override {}
  void StreamsOpen(Rpc /*rpc*/, int /*count*/) override {}
  void Decided(Outcome /*outcome*/) override {}
};

std::string WorkloadOf(int pod) { return absl::StrCat("llm-", pod % kWorkloads); }

EngineAddress PlaceOf(int pod) {
  return {.address = absl::StrCat("10.0.", pod / 250, ".", pod % 250),
          .port = 8000,
          .namespace_name = "crowd",
          .pod = absl::StrCat(WorkloadOf(pod), "-", pod)};
}

GpuSample GpuOf(int pod, int place, double utilization_percent) {
  return {.uuid = absl::StrCat("GPU-", pod),
          .name = "NVIDIA H200",
          .index = place,
          .utilization_percent = utilization_percent,
          .memory_used_bytes = int64_t{127} << 30,
          .memory_total_bytes = int64_t{141} << 30,
          .in_use = true,
          .holders = {{.pod = place, .container = "vllm"}}};
}

class Namespace {
 public:
  Namespace(bool busy, std::string window) : busy_(busy), window_(std::move(window)) {
    for (int first = 0; first < kPods; first += kPodsOfNode) {
      nodes_.insert(absl::StrCat("gpu-", first));
      addresses_.push_back(absl::StrCat("gpu-", first, ":1"));
    }
    store_.Listed(addresses_);
    for (int workload = 0; workload < kWorkloads; ++workload) AddTrigger(workload);
    EvaluateAll();
    found_.SetNodes(found_.Subscription(clock_.Now()), nodes_, clock_.Now());
    for (int first = 0; first < kPods; first += kPodsOfNode) {
      NodeEngines engines{.namespaces = {{"crowd", {}}}};
      for (int pod = first; pod < first + kPodsOfNode; ++pod) {
        engines.Add(PlaceOf(pod));
      }
      found_.SetEngines(absl::StrCat("gpu-", first), engines, clock_.Now());
    }
    for (int second = 0; second < kSecondsBefore; ++second) PassSecond();
  }

  // Advances one second, in which every node and every engine reports.
  void PassSecond() {
    clock_.Advance(absl::Milliseconds(500));
    ++second_;
    for (int first = 0; first < kPods; first += kPodsOfNode) ReportNode(first);
    for (int pod = 0; pod < kPods; ++pod) {
      const double waiting = (pod + second_) % 7;
      found_.AddReading(
          absl::StrCat("gpu-", pod / kPodsOfNode * kPodsOfNode), PlaceOf(pod),
          {.at = clock_.Now(),
           .engine = "vllm",
           .reading = EngineReading{{{.model = "llama", .waiting = waiting, .running = 8}}}});
    }
    store_.Tick();
  }
  void PassHalfSecond() { clock_.Advance(absl::Milliseconds(500)); }

  // Evaluates each trigger. Returns false if one has no value.
  bool EvaluateAll() {
    bool all = true;
    for (const auto& trigger : triggers_) {
      const TriggerEvaluator::Parsed parsed = evaluator_.Parse(*trigger);
      evaluator_.RecordRequest(*trigger, *parsed);
      const TriggerEvaluator::EvaluationOr evaluated =
          evaluator_.Try(DecisionPart::kAll, *trigger, parsed);
      all = all && evaluated.ok() && evaluated->cached->decision.status.ok() &&
            evaluated->cached->decision.replicas == kPodsOfEach;
    }
    return all;
  }

 private:
  void AddTrigger(int workload) {
    externalscaler::ScaledObjectRef ref;
    ref.set_namespace_("crowd");
    ref.set_name(absl::StrCat("llm-", workload));
    (*ref.mutable_scalermetadata())["metricType"] = "requests_in_flight";
    (*ref.mutable_scalermetadata())["window"] = window_;
    triggers_.push_back(std::make_unique<TriggerEntry>(ref));
  }

  void ReportNode(int first) {
    NodeSnapshot snapshot{.taken_at = clock_.Now(), .node = absl::StrCat("gpu-", first)};
    snapshot.attribution.state = Attribution::State::kKnown;
    for (int pod = first; pod < first + kPodsOfNode; ++pod) {
      const double load = busy_ ? (pod + second_) % 100 : 60;
      snapshot.gpus.push_back(GpuOf(pod, pod - first, load));
      const EngineAddress place = PlaceOf(pod);
      snapshot.pods.push_back({.namespace_name = place.namespace_name,
                               .name = place.pod,
                               .uid = place.pod,
                               .owners = {{.kind = "Deployment", .name = WorkloadOf(pod)}},
                               .owners_from = Pod::OwnersFrom::kReferences,
                               .ready = true,
                               .address = place.address});
    }
    AgentUpdate update{.node = snapshot.node,
                       .instance = static_cast<uint64_t>(first) + 1,
                       .received_at = clock_.Now()};
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Received(absl::StrCat("gpu-", first, ":1"), std::move(update));
  }

  const bool busy_;
  const std::string window_;
  int second_ = 0;
  std::set<std::string> nodes_;
  std::vector<std::string> addresses_;
  FakeClock clock_;
  FleetStore store_{
      clock_,
      {.timeouts = {.grace = kStaleness.grace},
       .limits = {.horizon = absl::Minutes(15), .join_within = kStaleness.stale_after}}};
  CountsNothing counted_;
  Leases leases_;
  ProfileStore profiles_{"/nonexistent/judge_bench.yaml"};
  SignalStore signals_{{.max_gap = absl::Seconds(10)}, [] {}};
  FoundEngines found_{signals_};
  TriggerEvaluator evaluator_{
      kStaleness, clock_,   store_, leases_,
      profiles_,  counted_, [] {},  {.store = &signals_, .finds_engines = true}};
  std::vector<std::unique_ptr<TriggerEntry>> triggers_;
};

void BM_AskTwiceASecond(benchmark::State& state) {
  Namespace crowd(state.range(0) != 0, absl::StrCat(state.range(1), "s"));
  for (auto _ : state) {
    state.PauseTiming();
    crowd.PassSecond();
    state.ResumeTiming();
    bool all = crowd.EvaluateAll();
    crowd.PassHalfSecond();
    all = crowd.EvaluateAll() && all;
    if (!all) state.SkipWithError("a query was not answered");
  }
}
BENCHMARK(BM_AskTwiceASecond)
    ->ArgNames({"busy", "window"})
    ->ArgsProduct({{0, 1}, {0, 30}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gpuscaler

BENCHMARK_MAIN();
