// Collects the readings that agents and engine readers would take of a simulated workload, and
// decides on them: the interface between the simulation and the product.
//
// GPU samples go through MemoryWatch into NodeHistory, and engine readings into SignalStore, once a
// second as in production. SourceOf(), SourceQueryOf() and Decide() are the product's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "engine/engine_reading.h"
#include "model/memory_watch.h"
#include "model/node_history.h"
#include "scaling/decision.h"
#include "signal/signal_store.h"
#include "simulate/replica_policy.h"
#include "simulate/simulated_workload.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct TelemetrySources {
  bool pods_api = true;  // readiness and deletion of pods are known (kubelet Pods API)
  bool engines = true;   // engines are discovered and read
};

EngineReading VllmReading(const BatchEngine& engine, bool histograms);

struct ReadEngine {
  EngineAddress place;
  const BatchEngine* engine;
};

// Stores one reading of each engine. Subscribes to the source first.
void StoreReadings(const SignalSource& source, const EngineQuery& query,
                   const std::vector<ReadEngine>& engines, absl::Time now, SignalStore& signals);

// This project's scaler on the Deployment llm in the namespace team-a, with a ScaledObject of the
// same name. Not thread-safe.
class WorkloadTelemetry : public Scaler {
 public:
  WorkloadTelemetry(const Trigger& trigger, const TelemetrySources& sources);

  // Reads every GPU and engine. Must be called once a second.
  void Observe(const SimulatedWorkload& workload) override;
  absl::StatusOr<double> GetMetrics() override;
  absl::StatusOr<bool> IsActive() override;

  // The decision on the newest observation.
  const Decision& Decided();

 private:
  Decision Decide() const;
  NodeSnapshot SnapshotOf(const SimulatedWorkload& workload) const;
  void SampleGpus(const SimulatedWorkload& workload);
  void SampleEngines(const SimulatedWorkload& workload);
  void SampleGateway(const SimulatedWorkload& workload);

  const Trigger trigger_;
  const TelemetrySources sources_;
  const ScaledObjectRef scaled_object_;
  const std::optional<SignalSource> source_;
  const std::optional<SignalSource> gateway_;  // reports the requests held by the router
  const EngineQuery query_;
  absl::Time now_;
  MemoryWatch memory_;
  NodeHistory history_;
  SignalStore signals_;
  std::optional<Decision> decision_;  // empty: not decided since the newest observation
};

// The trigger for KedaPolicy.
KedaTrigger OwnTrigger(const Trigger& trigger, const TelemetrySources& sources = {});

}  // namespace gpuscaler
