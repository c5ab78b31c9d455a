// Where the engines of a node's GPU pods may be asked: from the GPU outward (DESIGN 4), without
// rights at the API server. Which of the candidates is an engine its page tells, not we.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "model/node_snapshot.h"
#include "workload/engine_candidates.h"
#include "workload/gpu_processes.h"
#include "workload/network_namespace.h"
#include "workload/node_folders.h"
#include "workload/process_scan.h"

namespace gpuscaler {

// A server may move within a pod while nothing changes on the GPUs.
inline constexpr absl::Duration kEnginesReadEvery = absl::Seconds(10);
// Whatever processes do, and whoever asks.
inline constexpr absl::Duration kEnginesReadAtMostEvery = absl::Seconds(1);

// Of one pod that holds GPUs.
struct PodEngines {
  std::string namespace_name;
  std::string pod;
  std::string container;  // that holds the GPUs; empty: several do
  std::string address;    // the pod's; empty: not known
  // OK: there are candidates. UNAVAILABLE: there may be soon. FAILED_PRECONDITION and
  // PERMISSION_DENIED: not before somebody changes what it says. Others: the kernel's tables are
  // not what they were.
  absl::Status status;
  std::vector<EngineCandidate> candidates;  // in the order to ask them

  friend bool operator==(const PodEngines&, const PodEngines&) = default;
};

// Not thread-safe; reads files of /proc, for milliseconds.
class EngineFinder {
 public:
  // `usual_ports`: of the engines, the likeliest first. `clock` outlives the finder.
  EngineFinder(const Clock& clock, std::vector<int> usual_ports, NodeFolders folders = {});

  // For each of snapshot.pods, in their order; stands until the next call. Read at once when they
  // are others, soon when their processes are and after LookAgain(), else every kEnginesReadEvery.
  const std::vector<PodEngines>& Find(const NodeSnapshot& snapshot);

  // A candidate has stopped answering, or none of a pod's is an engine.
  void LookAgain() { is_due_ = true; }

 private:
  using Processes = std::vector<GpuProcessesOfPod>;

  PodEngines Read(const Pod& pod, const GpuProcessesOfPod& processes);
  absl::StatusOr<NetworkNamespace> ReadNetworkOf(const std::vector<int64_t>& processes) const;
  absl::Status KeepItsOwn(const std::string& uid, NetworkNamespace& network);
  void WithoutProcesses(const Pod& pod, const GpuProcessesOfPod& processes, PodEngines& engines);
  void AddProcessesOffGpus(Processes& processes);

  const Clock& clock_;
  const std::vector<int> usual_ports_;
  const NodeFolders folders_;
  GpuProcesses gpu_processes_;
  ProcessScan scan_;

  std::vector<PodEngines> found_;
  std::vector<Pod> pods_;                   // of the snapshot that they were found by
  std::vector<std::vector<int64_t>> pids_;  // of its GPUs
  absl::Time read_at_ = absl::InfinitePast();
  bool is_due_ = false;
};

}  // namespace gpuscaler
