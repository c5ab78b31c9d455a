// The cost of a decision, of parsing a trigger's metadata and of the metrics page, by the number of
// GPUs.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "fleet/fleet_store.h"
#include "model/fleet_history.h"
#include "scaling/decision.h"
#include "serve/metrics.h"
#include "serve/request_metrics.h"
#include "trigger/profile.h"
#include "trigger/trigger.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kPollInterval = absl::Seconds(2);
const StalenessLimits kStaleness{.stale_after = 3 * kPollInterval, .grace = absl::Seconds(15)};
const absl::Time kStart = absl::FromUnixSeconds(1'767'225'600);

GpuSample BusyGpu(int index, int tick) {
  GpuSample gpu;
  gpu.index = index;
  gpu.uuid = absl::StrCat("GPU-00000000-0000-0000-0000-", index);
  gpu.name = "NVIDIA H200";
  gpu.utilization_percent = 50 + (index * 7 + tick * 3) % 50;
  gpu.memory_utilization_percent = 40;
  gpu.memory_total_bytes = 141LL << 30;
  gpu.memory_used_bytes = 127LL << 30;  // preallocated
  gpu.temperature_celsius = 60;
  gpu.power_watts = 500;
  gpu.power_limit_watts = 700;
  gpu.nvlink_tx_mbps = 1000;
  gpu.nvlink_rx_mbps = 1000;
  gpu.processes = std::vector<GpuProcess>{GpuProcess{.pid = 4000 + index}};
  gpu.in_use = true;
  return gpu;
}

NodeSnapshot Snapshot(int gpus, int tick) {
  NodeSnapshot snapshot{.taken_at = kStart + tick * kPollInterval, .node = "node"};
  for (int index = 0; index < gpus; ++index) snapshot.gpus.push_back(BusyGpu(index, tick));
  return snapshot;
}

// The history that a store keeps at the default interval. For 8,000 GPUs, which no node has, a
// fiftieth of it: to see how the cost grows.
FleetHistory History(int gpus) {
  const int whole = static_cast<int>(kLongestWindow / kPollInterval);
  const int ticks = gpus > 1000 ? whole / 50 : whole;
  auto history = std::make_shared<NodeHistory>();
  for (int tick = 0; tick < ticks; ++tick) {
    history->Append(Snapshot(gpus, tick),
                    {.horizon = kLongestWindow, .join_within = 3 * kPollInterval});
  }
  return FleetOfOne(std::move(history));
}

Metadata ThreeLines() {
  return {{"scalerAddress", "keda-gpu-scaler.keda:6000"}, {"profile", "vllm-inference"}};
}

Metadata EveryKind() {
  Metadata metadata = ThreeLines();
  metadata.merge(Metadata{{"targetValue", "72.5"},
                          {"activationThreshold", "5"},
                          {"aggregation", "p95"},
                          {"replicaAggregation", "avg"},
                          {"window", "45s"},
                          {"activationWindow", "2m"},
                          {"warmupSeconds", "240"},
                          {"engineFallback", "activity"},
                          {"metricName", "llm_pressure"}});
  return metadata;
}

void BM_Decide(benchmark::State& state) {
  const FleetHistory history = History(static_cast<int>(state.range(0)));
  const auto trigger = ParseTrigger(ThreeLines(), BuiltInProfiles());
  if (!trigger.ok()) return state.SkipWithError(trigger.status().ToString().c_str());
  for (auto _ : state) {
    Decision decision = Decide(*trigger, {}, history, kStaleness);
    if (!decision.status.ok()) return state.SkipWithError(decision.status.ToString().c_str());
    benchmark::DoNotOptimize(decision.value);
  }
  state.counters["stretches"] = static_cast<double>(history.nodes[0].history->runs.size());
}
BENCHMARK(BM_Decide)->Arg(1)->Arg(8)->Arg(64)->Arg(8000)->Unit(benchmark::kMicrosecond);

// A pod of our workload on every eighth node, at most 8 of them, and seven pods of other workloads
// on each node.
NodeSnapshot NodeOfTheFleet(int node, int tick) {
  NodeSnapshot snapshot = Snapshot(8, tick + node);
  snapshot.node = absl::StrCat("gpu-", node);
  snapshot.attribution.state = Attribution::State::kKnown;
  for (int i = 0; i < 8; ++i) {
    const bool ours = i == 0 && node % 8 == 0 && node < 64;
    const std::string name = ours ? "llm" : absl::StrCat("workload-", node % 50, "-", i);
    snapshot.pods.push_back({.namespace_name = ours ? "llm" : absl::StrCat("team-", node % 50),
                             .name = absl::StrCat(name, "-5b6c7d8f9-", node),
                             .owners = {{.kind = "Deployment", .name = name}}});
    snapshot.gpus[static_cast<size_t>(i)].holders = {{.pod = i, .container = "main"}};
  }
  return snapshot;
}

FleetHistory FleetOf(int nodes) {
  constexpr int kTicks = 65;
  FleetHistory fleet{.generation = 1, .now = kStart + kTicks * kPollInterval};
  for (int node = 0; node < nodes; ++node) {
    auto history = std::make_shared<NodeHistory>();
    for (int tick = 0; tick <= kTicks; ++tick) {
      history->Append(NodeOfTheFleet(node, tick),
                      {.horizon = kLongestWindow, .join_within = 3 * kPollInterval});
    }
    fleet.nodes.push_back({.node = absl::StrCat("gpu-", node),
                           .history = std::move(history),
                           .received_at = fleet.now});
    fleet.queries_kubelets |= QueriesKubelet(fleet.nodes.back());
  }
  return fleet;
}

// Fails the benchmark if the decision used other GPUs.
bool IsOn(int replicas, const Decision& decision, benchmark::State& state) {
  const bool on_these = decision.status.ok() && decision.replicas == replicas;
  if (!on_these) {
    state.SkipWithError(absl::StrCat(decision.replicas, " replicas in place of ", replicas, ": ",
                                     decision.status.ToString())
                            .c_str());
  }
  return on_these;
}

void BM_DecideInFleet(benchmark::State& state) {
  const auto nodes = static_cast<int>(state.range(0));
  const FleetHistory fleet = FleetOf(nodes);
  const auto trigger = ParseTrigger(ThreeLines(), BuiltInProfiles());
  if (!trigger.ok()) return state.SkipWithError(trigger.status().ToString().c_str());
  const ScaledObjectRef scaled_object{.namespace_name = "llm", .name = "llm"};
  for (auto _ : state) {
    const Decision decision = Decide(*trigger, scaled_object, fleet, kStaleness);
    if (!IsOn(std::min(nodes / 8, 8), decision, state)) return;
    state.counters["replicas"] = decision.replicas;
  }
}
BENCHMARK(BM_DecideInFleet)->Arg(8)->Arg(64)->Arg(1000)->Unit(benchmark::kMicrosecond);

// A replica holds each GPU, and all readings of the last 10 minutes are kept. Either the last
// replica is starting, or none.
FleetHistory FleetOfReplicas(int replicas, bool starts) {
  constexpr int kTicks = 300;
  FleetHistory fleet{.generation = 1, .now = kStart + kTicks * kPollInterval};
  for (int node = 0; node < replicas / 8; ++node) {
    auto history = std::make_shared<NodeHistory>();
    for (int tick = 0; tick <= kTicks; ++tick) {
      NodeSnapshot snapshot = Snapshot(8, tick + node);
      snapshot.taken_at = kStart + tick * kPollInterval;
      snapshot.node = absl::StrCat("gpu-", node);
      snapshot.attribution.state = Attribution::State::kKnown;
      for (int i = 0; i < 8; ++i) {
        snapshot.pods.push_back({.namespace_name = "llm",
                                 .name = absl::StrCat("llm-", node, "-", i),
                                 .owners = {{.kind = "Deployment", .name = "llm"}},
                                 .ready = !(starts && node == 0 && i == 7),
                                 .listed_since = kStart + (kTicks - 15) * kPollInterval});
        snapshot.gpus[static_cast<size_t>(i)].holders = {{.pod = i, .container = "main"}};
      }
      history->Append(std::move(snapshot),
                      {.horizon = kLongestWindow, .join_within = 3 * kPollInterval});
    }
    fleet.nodes.push_back({.node = absl::StrCat("gpu-", node),
                           .history = std::move(history),
                           .received_at = fleet.now});
  }
  fleet.queries_kubelets = true;
  return fleet;
}

void BM_DecideOnReplicas(benchmark::State& state, bool starts) {
  const auto replicas = static_cast<int>(state.range(0));
  const FleetHistory fleet = FleetOfReplicas(replicas, starts);
  const auto trigger = ParseTrigger(ThreeLines(), BuiltInProfiles());
  if (!trigger.ok()) return state.SkipWithError(trigger.status().ToString().c_str());
  const ScaledObjectRef scaled_object{.namespace_name = "llm", .name = "llm"};
  for (auto _ : state) {
    const Decision decision = Decide(*trigger, scaled_object, fleet, kStaleness);
    if (!IsOn(starts ? replicas - 1 : replicas, decision, state)) return;
  }
}
BENCHMARK_CAPTURE(BM_DecideOnReplicas, steady, false)
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_DecideOnReplicas, one_starts, true)
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Unit(benchmark::kMicrosecond);

// All pods of 1,000 nodes are in one namespace; those of our workload are on sixteen nodes.
class CrowdedNamespace {
 public:
  static constexpr int kOurs = 16;

  CrowdedNamespace() {
    std::vector<std::string> addresses;
    for (int node = 0; node < kNodes; ++node) addresses.push_back(absl::StrCat("gpu-", node, ":1"));
    store_.Listed(addresses);
    for (int tick = 0; tick <= kTicks; ++tick) {
      clock_.Advance(kPollInterval);
      for (int node = 0; node < kNodes; ++node) AddReading(node, tick);
    }
  }

  const FleetStore& store() const { return store_; }

 private:
  static constexpr int kNodes = 1000;
  static constexpr int kTicks = 65;

  void AddReading(int node, int tick) {
    NodeSnapshot snapshot = NodeOfTheFleet(node, tick);
    snapshot.taken_at = clock_.Now();
    for (Pod& pod : snapshot.pods.Own()) pod.namespace_name = "crowd";
    snapshot.pods[0].owners[0].name = node < kOurs ? "llm" : absl::StrCat("workload-", node);
    AgentUpdate update{.node = snapshot.node,
                       .instance = static_cast<uint64_t>(node + 1),
                       .received_at = clock_.Now()};
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Received(absl::StrCat("gpu-", node, ":1"), std::move(update));
  }

  FakeClock clock_;
  FleetStore store_{clock_,
                    {.timeouts = {.grace = kStaleness.grace},
                     .limits = {.horizon = kLongestWindow, .join_within = kStaleness.stale_after}}};
};

// The time includes looking up its nodes.
void BM_DecideInNamespace(benchmark::State& state, bool own_nodes) {
  static const CrowdedNamespace* const kCrowd = new CrowdedNamespace();
  const auto trigger = ParseTrigger(ThreeLines(), BuiltInProfiles());
  if (!trigger.ok()) return state.SkipWithError(trigger.status().ToString().c_str());
  const ScaledObjectRef scaled_object{.namespace_name = "crowd", .name = "llm"};
  const PodInterest wanted =
      own_nodes ? PodsOfInterest(*trigger, scaled_object) : PodInterest{.namespaces = {"crowd"}};
  for (auto _ : state) {
    const auto fleet = kCrowd->store().NodesFor(wanted);
    const Decision decision = Decide(*trigger, scaled_object, **fleet, kStaleness);
    if (!IsOn(CrowdedNamespace::kOurs, decision, state)) return;
    state.counters["nodes"] = static_cast<double>((*fleet)->nodes.size());
    state.counters["replicas"] = decision.replicas;
  }
}
BENCHMARK_CAPTURE(BM_DecideInNamespace, own_nodes, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_DecideInNamespace, all_nodes, false)->Unit(benchmark::kMicrosecond);

void BM_Explain(benchmark::State& state) {
  const FleetHistory history = History(static_cast<int>(state.range(0)));
  const auto trigger = ParseTrigger(ThreeLines(), BuiltInProfiles());
  if (!trigger.ok()) return state.SkipWithError(trigger.status().ToString().c_str());
  const Decision decision = Decide(*trigger, {}, history, kStaleness);
  for (auto _ : state) benchmark::DoNotOptimize(Explain(*trigger, decision));
}
BENCHMARK(BM_Explain)->Arg(1)->Arg(8)->Arg(64)->Arg(8000)->Unit(benchmark::kMicrosecond);

void BM_ParseTrigger(benchmark::State& state, const Metadata& metadata) {
  for (auto _ : state) {
    auto trigger = ParseTrigger(metadata, BuiltInProfiles());
    if (!trigger.ok()) return state.SkipWithError(trigger.status().ToString().c_str());
    benchmark::DoNotOptimize(trigger->target);
  }
}
BENCHMARK_CAPTURE(BM_ParseTrigger, three_lines, ThreeLines())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_ParseTrigger, eleven_keys, EveryKind())->Unit(benchmark::kMicrosecond);

void BM_MetricsPage(benchmark::State& state) {
  const NodeSnapshot newest = Snapshot(static_cast<int>(state.range(0)), 0);
  Metrics metrics;
  metrics.Answered(Rpc::kGetMetrics, absl::StatusCode::kOk, absl::Microseconds(200));
  metrics.Collected(absl::OkStatus(), absl::Milliseconds(3));
  size_t bytes = 0;
  for (auto _ : state) bytes = metrics.Page(&newest, kStart, absl::Seconds(6)).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_MetricsPage)->Arg(1)->Arg(8)->Arg(64)->Arg(8000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gpuscaler

BENCHMARK_MAIN();
