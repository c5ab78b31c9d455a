// Inference engines in the pods of a GpuCluster, behind a router with a constant mean request rate.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "simulate/engine_preset.h"
#include "simulate/simulated_workload.h"
#include "simulate/test_gpu_cluster.h"
#include "simulate/test_workload_telemetry.h"

namespace gpuscaler {

// Poisson arrivals go to the least loaded engine of an available pod. If no pod is available, or
// each engine holds two batches, requests are refused. Not thread-safe.
class ClusterEngines {
 public:
  ClusterEngines(const EnginePreset& preset, absl::Time start);

  void SetRate(double requests_per_second);

  // Serves until cluster.now(). An engine starts when its pod becomes Ready, and ends with its
  // container.
  void Advance(const GpuCluster& cluster);

  // Includes those of terminating pods.
  std::vector<ReadEngine> AnsweringEngines() const;
  bool IsBusy(const SimulatedPod& pod) const;

 private:
  struct Engine {
    EngineAddress place;
    int number;  // number of its SimulatedReplica
    std::shared_ptr<BatchEngine> engine;
  };
  void SyncEngines(const GpuCluster& cluster);
  void Submit();
  absl::Duration NextGap();

  const EnginePreset& preset_;
  double requests_per_second_ = 0;
  absl::Time next_arrival_ = absl::InfiniteFuture();
  std::mt19937_64 random_;
  SimulatedWorkload workload_;
  std::map<std::string, Engine> engines_;  // key: the pod's name
};

}  // namespace gpuscaler
