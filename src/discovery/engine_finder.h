// Where the engines of a node's GPU pods may be asked: from the GPU outward (DESIGN 4), without
// rights at the API server. Which of the candidates is an engine its page tells, not we.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "discovery/engine_candidates.h"
#include "discovery/network_namespace.h"
#include "discovery/process_scan.h"
#include "model/node_snapshot.h"
#include "workload/gpu_processes.h"
#include "workload/node_folders.h"

namespace gpuscaler {

// A server may move within its pod while nothing else changes.
inline constexpr absl::Duration kEnginesReadEvery = absl::Seconds(60);
// A pod whose processes are others, that has no candidates, or that was asked for: a network with
// few connections takes up to 4 ms of a core to read (listener_tables.h).
inline constexpr absl::Duration kEnginesReadAgainAfter = absl::Seconds(5);

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

  // For each of snapshot.pods, in their order; stands until the next call. A pod that is new, or of
  // which the kubelet says something new, is read at once.
  const std::vector<PodEngines>& Find(const NodeSnapshot& snapshot);

  // A candidate of the pod has stopped answering, or none of them is an engine.
  void LookAgain(const std::string& namespace_name, const std::string& pod);

 private:
  using PodName = std::pair<std::string, std::string>;  // namespace, name

  struct Known {
    Pod pod;
    std::set<int64_t> pids;  // on its GPUs
    absl::Time read_at = absl::InfinitePast();
    bool is_asked_for = false;
    PodEngines engines;
  };

  // True: the pod has to be read.
  bool Update(const NodeSnapshot& snapshot, int pod, absl::Time now, Known& known);
  void ReadAll(const NodeSnapshot& snapshot, const std::vector<int>& due, absl::Time now);
  absl::Status Read(const Pod& pod, const GpuProcessesOfPod& processes, absl::Time now,
                    PodEngines& engines);
  absl::StatusOr<NetworkNamespace> ReadNetworkOf(const std::vector<int64_t>& processes) const;
  absl::Status KeepItsOwn(const std::string& uid, absl::Time now, NetworkNamespace& network);
  absl::Status WithoutProcesses(const Pod& pod, const GpuProcessesOfPod& processes,
                                PodEngines& engines) const;

  const Clock& clock_;
  const std::vector<int> usual_ports_;
  const NodeFolders folders_;
  GpuProcesses gpu_processes_;
  ProcessScan scan_;

  std::map<PodName, Known> known_;
  std::vector<PodEngines> found_;
};

}  // namespace gpuscaler
