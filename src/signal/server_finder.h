// Finds the servers of a node's GPU pods that may be engines, starting from the GPU processes
// (docs/discovery.md). Needs no access to the API server. Whether a server is an engine is decided
// later, from its metrics.
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
#include "model/node_snapshot.h"
#include "signal/engine_candidates.h"
#include "signal/network_namespace.h"
#include "signal/process_scan.h"
#include "workload/gpu_processes.h"
#include "workload/node_folders.h"

namespace gpuscaler {

// A server may change its port while nothing else changes.
inline constexpr absl::Duration kPodReadInterval = absl::Seconds(60);
// The interval for a pod with changed processes, without candidates, or after Refresh(). Reading a
// network with few connections takes up to 4 ms of CPU time (listening_ports.h).
inline constexpr absl::Duration kPodRefreshInterval = absl::Seconds(5);

// The servers of one pod that holds GPUs.
struct PodServers {
  std::string namespace_name;
  std::string pod;
  // OK: there are candidates. UNAVAILABLE: there may be some soon. FAILED_PRECONDITION and
  // PERMISSION_DENIED: somebody must first change what the message names. Other codes: the kernel's
  // tables have an unknown format.
  absl::Status status;
  std::vector<EngineCandidate> candidates;  // in the order to probe them

  friend bool operator==(const PodServers&, const PodServers&) = default;
};

// Not thread-safe. Reads files of /proc, which takes milliseconds.
class ServerFinder {
 public:
  // `default_ports`: default ports of the engines, the likeliest first. `clock` must outlive the
  // finder.
  ServerFinder(const Clock& clock, std::vector<int> default_ports, NodeFolders folders = {});

  // Returns an entry for each of snapshot.pods, in their order; valid until the next call. A pod
  // that is new, or for which the kubelet reports a change, is read at once.
  const std::vector<PodServers>& Find(const NodeSnapshot& snapshot);

  // Call it when a candidate of the pod has stopped answering, or none of them is an engine.
  void Refresh(const std::string& namespace_name, const std::string& pod);

 private:
  using PodName = std::pair<std::string, std::string>;  // namespace, name

  struct KnownPod {
    Pod pod;
    std::set<int64_t> pids;  // on its GPUs
    absl::Time read_at = absl::InfinitePast();
    bool needs_refresh = false;
    PodServers servers;
  };

  // Returns true if the pod must be read.
  bool Update(const NodeSnapshot& snapshot, int pod, absl::Time now, KnownPod& known);
  void ReadAll(const NodeSnapshot& snapshot, const std::vector<int>& due, absl::Time now);
  absl::StatusOr<std::vector<EngineCandidate>> Read(const Pod& pod,
                                                    const GpuProcessesOfPod& processes,
                                                    absl::Time now);
  absl::StatusOr<NetworkNamespace> ReadNetworkOf(const std::vector<int64_t>& processes) const;
  absl::Status KeepOwnListeners(const std::string& uid, absl::Time now, NetworkNamespace& network);
  absl::StatusOr<std::vector<EngineCandidate>> WithoutProcesses(
      const Pod& pod, const GpuProcessesOfPod& processes) const;

  const Clock& clock_;
  const std::vector<int> default_ports_;
  const NodeFolders folders_;
  GpuProcesses gpu_processes_;
  ProcessScan scan_;

  std::map<PodName, KnownPod> known_;
  std::vector<PodServers> found_;
};

}  // namespace gpuscaler
