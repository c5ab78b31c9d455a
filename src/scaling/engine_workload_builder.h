// A workload whose pods have engines, for tests.
//
//   EngineWorkloadBuilder llm({{"llm-a", 4}, {"llm-b", 8}});  // what their engines say
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
#include "scaling/fleet_builder.h"
#include "scaling/signal_builder.h"
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
  std::optional<double> observed = std::nullopt;  // by its engine; empty: none is found in it
};

inline HeldPod LlmPod(const std::string& name, double gpu_load = 60) {
  return {.name = name, .owner = "llm", .loads = {gpu_load}, .memory_used_percent = 90};
}

// The Deployment llm of team-a.
class EngineWorkloadBuilder {
 public:
  // Its pods were there for long, each on the node of its name, "n-llm-a".
  explicit EngineWorkloadBuilder(std::initializer_list<PodWithEngine> pods, double gpu_load = 60)
      : EngineWorkloadBuilder(NodesOf(pods, gpu_load)) {
    for (const PodWithEngine& pod : pods) {
      if (pod.observed) EngineIn(pod.name, pod.observed);
    }
  }

  // Its pods are on these, if it has any.
  explicit EngineWorkloadBuilder(FleetBuilder nodes)
      : nodes_(std::move(nodes)), signals_(nodes_.now()) {}

  // What the pod's engine says, and has said for so long; empty: it does not answer.
  SignalSeries& EngineIn(const std::string& pod, std::optional<double> observed,
                         absl::Duration duration = kBeforeAll) {
    SignalSeries& engine = signals_.Hold(NameOf(pod), duration, observed);
    engine.namespace_name = "team-a";
    engine.pod = pod;
    return engine;
  }

  // Since then it has said something else.
  SignalSeries& EngineInThen(const std::string& pod, absl::Duration ago,
                             std::optional<double> observed) {
    return signals_.Then(NameOf(pod), ago, observed);
  }

  // One of which nobody knows in which pod it is.
  SignalSeries& EngineAt(const std::string& address, std::optional<double> observed) {
    SignalSeries& engine = signals_.Hold(NameOf(address), kBeforeAll, observed);
    engine.address = address;
    return engine;
  }

  // It is listed no more since then.
  void Leave(const std::string& engine, absl::Duration ago) { signals_.Leave(engine, ago); }

  // Where none is found, though there might be.
  void Without(std::vector<WithoutEngine> pods) {
    signals().without = std::make_shared<const std::vector<WithoutEngine>>(std::move(pods));
  }

  absl::Time now() const { return nodes_.now(); }
  SignalHistory& signals() { return signals_.history(); }

  Decision Decide(const Trigger& trigger) const {
    return gpuscaler::Decide(trigger, kScaledObject, nodes_.fleet(), &signals_.history(),
                             kStaleness);
  }
  std::string Explained(const Trigger& trigger) const { return Explain(trigger, Decide(trigger)); }

  // Where nobody reads any engine.
  Decision DecideWithoutSignals(const Trigger& trigger) const {
    return gpuscaler::Decide(trigger, kScaledObject, nodes_.fleet(), kStaleness);
  }

 private:
  static constexpr absl::Duration kBeforeAll = absl::Minutes(12);
  static inline const ScaledObjectRef kScaledObject{
      .namespace_name = "team-a", .name = "llm", .opened = {}};

  static FleetBuilder NodesOf(std::initializer_list<PodWithEngine> pods, double gpu_load) {
    std::vector<NodeSnapshot> nodes;
    for (const PodWithEngine& pod : pods) {
      nodes.push_back(Node(absl::StrCat("n-", pod.name), {LlmPod(pod.name, gpu_load)}));
    }
    return FleetBuilder().Hold(kBeforeAll, nodes);
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
