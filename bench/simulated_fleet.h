// The fleet of tools/bench fleet: nodes of 8 GPUs, each held by a pod of one of 500 workloads.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "model/memory_watch.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

constexpr int kGpusPerNode = 8;

// The n-th GPU of the fleet belongs to workload n modulo this: the workloads grow with the fleet,
// and every GPU counts for one of them.
constexpr int kWorkloads = 500;

std::string WorkloadName(int workload);
std::string NamespaceOf(int workload);  // ten workloads each: a team

// One workload in ten is idle but for its first GPU, which is busy for three readings and idle for
// three: it makes the edges, and is watched with the shortest windows.
bool Alternates(int workload);

// What one node's driver and kubelet report. Not thread-safe.
class SimulatedNode {
 public:
  // Of a busy node every GPU shows another utilisation, memory activity and power at each reading;
  // of an idle one nothing changes but what alternates.
  SimulatedNode(int number, bool busy);

  // Reading number `reading`, one a second; `at` never goes back.
  const NodeSnapshot& Read(int64_t reading, absl::Time at);

  // The workload whose edge up that reading is the first to show; -1: none.
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
