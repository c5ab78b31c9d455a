// The fleet of tools/bench fleet: nodes of 8 GPUs, each held by a pod of one of 500 workloads.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "model/memory_watch.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

constexpr int kGpusPerNode = 8;

// GPU n of the fleet belongs to workload n modulo this: the workloads grow with the fleet, and each
// GPU counts for one of them.
constexpr int kWorkloads = 500;

std::string WorkloadName(int workload);
std::string NamespaceOf(int workload);  // ten workloads each

// One workload in ten is idle except for its first GPU, which is busy for three readings and idle
// for three. It makes the edges, and has the shortest windows.
bool Alternates(int workload);

// The reports of one node's driver and kubelet. Not thread-safe.
class SimulatedNode {
 public:
  // On a busy node every GPU has different utilization, memory activity and power at each reading.
  // On an idle node only the alternating GPUs change.
  SimulatedNode(int number, bool busy);

  // Returns reading number `reading`, one a second; `at` must not go back.
  const NodeSnapshot& Read(int64_t reading, absl::Time at);

  // Returns the workload that becomes busy in that reading, or -1.
  int RisingAt(int64_t reading) const;

 private:
  void Show(GpuSample& gpu, int64_t reading) const;
  int WorkloadOf(int place) const;

  const int first_gpu_;  // in the fleet
  const bool busy_;
  NodeSnapshot snapshot_;
  MemoryWatch memory_;
};

}  // namespace gpuscaler
