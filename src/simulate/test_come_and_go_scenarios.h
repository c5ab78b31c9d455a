// Scenarios for tests: rollouts, drains, lost pods and other workloads, under a constant load.
//
//   for (const ComeAndGo& scenario : ComeAndGoScenarios()) {
//     LoopOf(scenario, {.load = LoadSource::kEngines, .pods_api = false})->Timeline();
//   }
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "simulate/test_cluster_loop.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {

inline constexpr PodsOrPercent kOnePod{.value = 1, .is_percent = false};
inline constexpr PodsOrPercent kNoPod{.value = 0, .is_percent = false};
inline constexpr DeploymentController::Strategy kSurgeOne{.max_surge = kOnePod,
                                                          .max_unavailable = kNoPod};
inline constexpr DeploymentController::Strategy kRecreate{.recreate = true};

enum class LoadSource {
  kGpus,     // utilization
  kEngines,  // demand: profile vllm-inference with maxConcurrency and tpotSloMs
};

struct ComeAndGo {
  const char* name;
  void (*begin)(ClusterLoop& loop);
  PodTemplate pods;
  DeploymentController::Strategy strategy;
  bool is_stateful_set = false;
  GpuCluster::Options cluster;
  int replicas = 4;
  double load = 3.75;
  // Another name than the workload's: the scaler must find the owner of the pods.
  const char* scaled_object = "llm";
  absl::Duration lasts = absl::Minutes(30);
  // The remaining replicas cannot serve the load for minutes: requests wait in the engines.
  bool requests_wait = false;
  // Without the Pods API this looks as if no requests arrived.
  bool needs_pods_api = false;

  int Need() const { return load > 0 ? static_cast<int>(std::ceil(load)) : replicas; }
  // Returns the fewest replicas that are allowed. An OrderedReady StatefulSet creates its pods one
  // by one, and the HPA within its tolerance keeps status.replicas, which is one short. Full
  // engines refuse the requests that would show more demand. No pod is removed by this.
  int Least(LoadSource source) const {
    const bool lacks_last = is_stateful_set && requests_wait && source == LoadSource::kEngines;
    return Need() - (lacks_last ? 1 : 0);
  }
  // Returns the most replicas that are allowed. Waiting requests add half of the demand at most.
  int Most(LoadSource source) const {
    const int by_load = Need() + std::max(1, Need() / 10);
    const bool counts_waiting = requests_wait && source == LoadSource::kEngines;
    return counts_waiting ? std::max(by_load, static_cast<int>(std::ceil(1.5 * load))) : by_load;
  }

  friend void PrintTo(const ComeAndGo& scenario, std::ostream* out) { *out << scenario.name; }
};

inline std::vector<ComeAndGo> ComeAndGoScenarios() {
  const auto roll = [](ClusterLoop& loop) { loop.controller().Update({}); };
  const auto roll_slowly = [](ClusterLoop& loop) {
    loop.controller().Update({.start = absl::Seconds(300)});
  };
  return {
      {.name = "RollingUpdate", .begin = roll},
      {.name = "RollingUpdateOfTen",
       .begin = roll,
       .replicas = 10,
       .load = 9.5,
       .requests_wait = true},
      {.name = "RollingUpdateWhileIdle", .begin = roll, .load = 0},
      {.name = "RollingUpdateWithALongGrace",
       .begin = [](ClusterLoop& loop) { loop.controller().Update({.grace = absl::Seconds(120)}); },
       .pods = {.grace = absl::Seconds(120)}},
      {.name = "SurgeOfOneThatStartsSlowly",
       .begin = roll_slowly,
       .strategy = kSurgeOne,
       .lasts = absl::Minutes(35)},
      {.name = "BrokenImage",
       .begin = [](ClusterLoop& loop) { loop.controller().Update({.is_broken = true}); },
       .strategy = kSurgeOne,
       .lasts = absl::Minutes(45)},  // longer than any start
      {.name = "Recreate",
       .begin = [](ClusterLoop& loop) { loop.controller().Update({.start = absl::Seconds(400)}); },
       .pods = {.start = absl::Seconds(400)},
       .strategy = kRecreate},
      {.name = "RecreateAfterALongDrain",
       .begin =
           [](ClusterLoop& loop) {
             loop.controller().Update({.start = absl::Seconds(400), .grace = absl::Seconds(400)});
           },
       .pods = {.start = absl::Seconds(400), .grace = absl::Seconds(400)},
       .strategy = kRecreate,
       .needs_pods_api = true},
      {.name = "StatefulSetRollsOut", .begin = roll, .is_stateful_set = true},
      {.name = "StatefulSetLosesAllPods",
       .begin =
           [](ClusterLoop& loop) {
             while (!loop.cluster().pods().empty()) {
               loop.cluster().Lose(loop.cluster().pods().front().name);
             }
           },
       .pods = {.start = absl::Seconds(400)},
       .is_stateful_set = true,
       .lasts = absl::Minutes(50),
       .requests_wait = true},
      {.name = "PodDeleted",
       .begin =
           [](ClusterLoop& loop) { loop.cluster().Delete(loop.cluster().pods().front().name); }},
      {.name = "DrainWithALongGrace",
       .begin = [](ClusterLoop& loop) { loop.cluster().Drain(0); },
       .pods = {.grace = absl::Seconds(300)},
       .cluster = {.gpus_per_node = 2}},
      {.name = "SurgePodPendingForLackOfGpus",
       .begin = roll,
       .strategy = kSurgeOne,
       .cluster = {.nodes = 1}},
      {.name = "DrainWithoutFreeGpus",
       .begin = [](ClusterLoop& loop) { loop.cluster().Drain(0); },
       .pods = {.grace = absl::Seconds(300)},
       .cluster = {.nodes = 2, .gpus_per_node = 3},
       .requests_wait = true},
      {.name = "JobStartsBesideARollingUpdate",
       .begin =
           [](ClusterLoop& loop) {
             loop.cluster().StartOther({.kind = "Job", .name = "batch"}, 3);
             loop.controller().Update({});
           },
       .scaled_object = "chat"},
      {.name = "DeploymentStartsBesideARollingUpdate",
       .begin =
           [](ClusterLoop& loop) {
             loop.cluster().StartOther({.kind = "Deployment", .name = "embeddings"}, 3);
             loop.controller().Update({});
           },
       .scaled_object = "chat"},
      {.name = "OlderDeploymentRollsBesideANewerOne",
       .begin =
           [](ClusterLoop& loop) {
             loop.cluster().StartOther({.kind = "Deployment", .name = "embeddings"}, 3);
             loop.RunFor(absl::Minutes(10));
             loop.controller().Update({});
           },
       .scaled_object = "chat"},
  };
}

struct ComeAndGoOptions {
  LoadSource load = LoadSource::kGpus;
  bool pods_api = true;
  ValueRule value;
  TargetType target_type = TargetType::kAverageValue;  // ignored for engines
};

// A trigger for which a fully busy pod counts twice the target.
inline Trigger HalfUtilization(TargetType type = TargetType::kAverageValue) {
  Trigger trigger;
  trigger.target = 50;
  trigger.target_type = type;
  trigger.warmup = absl::Seconds(300);
  return trigger;
}

inline const EnginePreset& ComeAndGoEngine() { return *EnginePresetNamed("small-batch"); }

// The capacity of that engine (docs/demand.md), in answers per second: 91 % of the tokens
// per second of a batch at 95 % of the limit.
inline double ComeAndGoCapacity() {
  const EnginePreset& preset = ComeAndGoEngine();
  const double batch = 0.95 * preset.batch.max_num_seqs;
  const double step = preset.batch.step.base + preset.batch.step.per_request * batch;
  return 0.91 * batch / step / static_cast<double>(preset.request.max_tokens);
}

inline Trigger EngineDemandTrigger() {
  return Parsed({{"profile", "vllm-inference"}, {"maxConcurrency", "64"}, {"tpotSloMs", "40"}});
}

// The workload was settled before the scenario began.
inline std::unique_ptr<ClusterLoop> LoopOf(const ComeAndGo& scenario,
                                           const ComeAndGoOptions& options) {
  ClusterScenario cluster{
      .cluster = scenario.cluster,
      .replicas = scenario.replicas,
      .load = scenario.load,
      .scaled_object_name = scenario.scaled_object,
      .value = options.value,
      .scaled_object = {.min_replica_count = scenario.load > 0 ? 1 : scenario.replicas,
                        .max_replica_count = 20}};
  cluster.cluster.pods_api = options.pods_api;
  Trigger trigger = HalfUtilization(options.target_type);
  if (options.load == LoadSource::kEngines) {
    trigger = EngineDemandTrigger();
    cluster.engines = {.preset = &ComeAndGoEngine(), .requests_per_second = ComeAndGoCapacity()};
  }
  std::unique_ptr<WorkloadController> controller;
  if (scenario.is_stateful_set) {
    controller = std::make_unique<StatefulSetController>(scenario.pods);
  } else {
    controller = std::make_unique<DeploymentController>(scenario.pods, scenario.strategy);
  }
  auto loop = std::make_unique<ClusterLoop>(cluster, trigger, std::move(controller));
  scenario.begin(*loop);
  return loop;
}

}  // namespace gpuscaler
