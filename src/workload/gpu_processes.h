// From the processes on a node's GPUs to the pods that hold them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/node_snapshot.h"
#include "workload/cgroup_pod.h"
#include "workload/node_folders.h"
#include "workload/pod_logs.h"

namespace gpuscaler {

// What is on the GPUs, of one pod.
struct GpuProcessesOfPod {
  std::string uid;                 // the pod's; empty: nobody tells
  std::vector<int64_t> processes;  // those that are there
  // On its GPUs are, though none may be known to be its own, processes
  bool has_hidden = false;    // that the driver names and our /proc does not have
  bool has_nameless = false;  // of pods that nobody names
};

// Not thread-safe.
class GpuProcesses {
 public:
  explicit GpuProcesses(NodeFolders folders)
      : proc_(std::move(folders.proc)),
        cgroup_pods_(proc_),
        pod_logs_(std::move(folders.pod_logs)) {}

  // For each of snapshot.pods, in their order. A pod's uid is the Pods API's, or that of the
  // kubelet's folder of logs; once known it stays, also while nothing is on its GPUs. Nobody's
  // processes are taken for those of a GPU's only holder: a privileged pod, which holds none, sees
  // all GPUs of the node.
  std::vector<GpuProcessesOfPod> Find(const NodeSnapshot& snapshot);

 private:
  using PodName = std::pair<std::string, std::string>;  // namespace, name

  struct OnGpu {
    int64_t pid = 0;
    std::set<int> holders;  // of the GPU: places in NodeSnapshot::pods
  };

  std::vector<OnGpu> ProcessesOf(const NodeSnapshot& snapshot);
  // Its place in snapshot.pods; -1: none of them, or not known.
  int PodOf(const CgroupPod& process, const NodeSnapshot& snapshot,
            const std::vector<GpuProcessesOfPod>& found);
  void Remember(const NodeSnapshot& snapshot, std::vector<GpuProcessesOfPod>& found);

  const std::string proc_;
  CgroupPods cgroup_pods_;
  PodLogs pod_logs_;
  std::map<std::string, std::vector<int64_t>> last_read_;  // by the GPU's uuid: a gap is no change
  std::map<PodName, std::string> uids_;
};

}  // namespace gpuscaler
