// A workload of pods with engines, for tests.
//
//   EngineWorkloadBuilder llm({{"llm-a", 4}, {"llm-b", 8}});  // the value of each engine
//   llm.Decide(trigger);
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scaling/decision.h"
#include "scaling/test_fleet_builder.h"
#include "scaling/test_signal_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {

inline Trigger InFlight(double target = 10) {
  Trigger trigger;
  trigger.metric = MetricType::kRequestsInFlight;
  trigger.target = target;
  trigger.aggregation = Aggregation::kSum;
  trigger.window = absl::Seconds(15);
  return trigger;
}

inline Trigger VllmInference() {
  Trigger trigger;
  trigger.metric = MetricType::kMemoryUsedPercent;
  trigger.preallocated_memory = PreallocatedMemory::kPressure;
  trigger.target = 80;
  trigger.activation_threshold = 5;
  trigger.activation_window = absl::Seconds(120);
  return trigger;
}

inline Trigger Named(Trigger trigger) {
  trigger.engine_endpoint.url = "http://llm:8000";
  return trigger;
}

struct PodWithEngine {
  std::string name;
  // Empty: no engine is found in the pod.
  std::optional<double> observed = std::nullopt;
};

inline GpuPod LlmPod(const std::string& name, double gpu_load = 60) {
  return {.name = name, .owner = "llm", .loads = {gpu_load}, .memory_used_percent = 90};
}

// The Deployment llm of team-a.
class EngineWorkloadBuilder {
 public:
  // Each pod was on its own node, "n-llm-a", for 12 minutes.
  explicit EngineWorkloadBuilder(std::initializer_list<PodWithEngine> pods, double gpu_load = 60)
      : EngineWorkloadBuilder(NodesOf(pods, gpu_load)) {
    for (const PodWithEngine& pod : pods) {
      if (pod.observed) EngineIn(pod.name, pod.observed);
    }
  }

  // The pods, if any, are on `nodes`.
  explicit EngineWorkloadBuilder(FleetBuilder nodes)
      : nodes_(std::move(nodes)), signals_(nodes_.now()) {}

  // Sets the value of the pod's engine for the last `duration`; empty: it does not answer.
  SignalSeries& EngineIn(const std::string& pod, std::optional<double> observed,
                         absl::Duration duration = kBeforeAll) {
    SignalSeries& engine = signals_.RepeatFor(NameOf(pod), duration, observed);
    engine.namespace_name = "team-a";
    engine.pod = pod;
    return engine;
  }

  // Changes the value of the pod's engine from `ago` on.
  SignalSeries& ChangeEngineIn(const std::string& pod, absl::Duration ago,
                               std::optional<double> observed) {
    return signals_.Then(NameOf(pod), ago, observed);
  }

  // Adds an engine of no known pod.
  SignalSeries& EngineAt(const std::string& address, std::optional<double> observed) {
    SignalSeries& engine = signals_.RepeatFor(NameOf(address), kBeforeAll, observed);
    engine.address = address;
    return engine;
  }

  // Unlists the engine from `ago` on.
  void Unlist(const std::string& engine, absl::Duration ago) { signals_.Unlist(engine, ago); }

  // Sets the pods and nodes in which no engine is found, with the reasons.
  void SetWithoutEngine(std::vector<MissingEngine> pods) {
    signals().missing_engines = std::make_shared<const std::vector<MissingEngine>>(std::move(pods));
  }

  absl::Time now() const { return nodes_.now(); }
  SignalHistory& signals() { return signals_.history(); }

  Decision Decide(const Trigger& trigger) const {
    return gpuscaler::Decide(trigger, kScaledObject, nodes_.fleet(), &signals_.history(),
                             kStaleness);
  }
  std::string Explained(const Trigger& trigger) const { return Explain(trigger, Decide(trigger)); }

  // Decides without a history of engines.
  Decision DecideWithoutSignals(const Trigger& trigger) const {
    return gpuscaler::Decide(trigger, kScaledObject, nodes_.fleet(), kStaleness);
  }

 private:
  static constexpr absl::Duration kBeforeAll = absl::Minutes(12);
  static inline const ScaledObjectRef kScaledObject{
      .namespace_name = "team-a", .name = "llm", .allowed_namespaces = {}};

  static FleetBuilder NodesOf(std::initializer_list<PodWithEngine> pods, double gpu_load) {
    std::vector<NodeSnapshot> nodes;
    for (const PodWithEngine& pod : pods) {
      nodes.push_back(Node(absl::StrCat("n-", pod.name), {LlmPod(pod.name, gpu_load)}));
    }
    return FleetBuilder().RepeatFor(kBeforeAll, nodes);
  }
  static std::string NameOf(const std::string& place) { return absl::StrCat("vllm at ", place); }

  FleetBuilder nodes_;
  SignalBuilder signals_;
};

inline std::vector<Contribution::State> StatesOf(const Decision& decision) {
  std::vector<Contribution::State> states;
  for (const Contribution& contribution : decision.contributions)
    states.push_back(contribution.state);
  return states;
}

}  // namespace gpuscaler
