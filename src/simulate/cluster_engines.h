// Inference engines in the pods of a GpuCluster, behind a router that gets requests at a constant
// mean rate.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "batching/engine_preset.h"
#include "simulate/gpu_cluster.h"
#include "simulate/simulated_workload.h"
#include "simulate/workload_telemetry.h"

namespace gpuscaler {

// Poisson arrivals go to the least loaded engine of an available pod. While there is none, or each
// holds two batches, clients are refused. Not thread-safe.
class ClusterEngines {
 public:
  ClusterEngines(const EnginePreset& preset, absl::Time start);

  void SetRate(double requests_per_second);

  // Serves until cluster.now(). An engine begins when its pod becomes Ready, and ends with its
  // container.
  void Advance(const GpuCluster& cluster);

  // Those that answer now, a terminating pod's included.
  std::vector<ReadEngine> Answering() const;
  bool IsBusy(const SimulatedPod& pod) const;

 private:
  struct Engine {
    EnginePlace place;
    int number;  // its SimulatedReplica
    std::shared_ptr<BatchEngine> engine;
  };
  void Follow(const GpuCluster& cluster);
  void Submit();
  absl::Duration Gap();

  const EnginePreset& preset_;
  double requests_per_second_ = 0;
  absl::Time next_arrival_ = absl::InfiniteFuture();
  std::mt19937_64 random_;
  SimulatedWorkload workload_;
  std::map<std::string, Engine> engines_;  // key: the pod's name
};

}  // namespace gpuscaler
