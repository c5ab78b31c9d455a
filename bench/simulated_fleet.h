// The fleet of `tools/bench fleet`. Each node has 8 GPUs, and a pod of one of 500 workloads holds
// each GPU.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "model/memory_watch.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

constexpr int kGpusPerNode = 8;

// GPU n of the fleet belongs to workload n % kWorkloads, so a larger fleet has larger workloads and
// not more of them.
constexpr int kWorkloads = 500;

std::string WorkloadName(int workload);
std::string NamespaceOf(int workload);  // ten workloads in each namespace

// Returns true for one workload in ten. Its first GPU is busy for three readings, then idle for
// three, and its other GPUs are always idle. Each start of a busy time is an edge: the benchmark
// measures how long the scaler takes to push it to KEDA. So that no window delays the push, the
// trigger of the workload has a window of 0 s.
bool Alternates(int workload);

// The reports of one node's driver and kubelet. Not thread-safe.
class SimulatedNode {
 public:
  // On a busy node the utilization, memory activity and power of every GPU change at each reading,
  // except for those of alternating workloads. On an idle node only the latter change.
  SimulatedNode(int number, bool busy);

  // Returns reading number `reading`, one a second; `at` must not go back.
  const NodeSnapshot& Read(int64_t reading, absl::Time at);

  // Returns the alternating workload that becomes busy in that reading, or -1. A node has the first
  // GPU of one such workload at most.
  int RisingAt(int64_t reading) const;

 private:
  void UpdateGpu(GpuSample& gpu, int64_t reading) const;
  int WorkloadOf(int index) const;  // `index`: of the GPU on its node

  const int first_gpu_;  // number in the fleet
  const bool busy_;
  NodeSnapshot snapshot_;
  MemoryWatch memory_watch_;
};

}  // namespace gpuscaler
