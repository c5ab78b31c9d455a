// Finds the pods of the processes on a node's GPUs.
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

// The GPU processes of one pod.
struct GpuProcessesOfPod {
  std::string uid;                 // the pod's; empty: unknown
  std::vector<int64_t> processes;  // those that exist
  bool has_hidden = false;         // its GPUs have a process, of any pod, that our /proc lacks
  bool has_nameless = false;       // its GPUs have a process of an unknown pod
};

// Not thread-safe.
class GpuProcesses {
 public:
  explicit GpuProcesses(NodeFolders folders)
      : proc_(std::move(folders.proc)),
        cgroup_pods_(proc_),
        pod_logs_(std::move(folders.pod_logs)) {}

  // Returns one element for each of snapshot.pods, in their order. A pod's uid is that of the Pods
  // API, or that in the kubelet's folder of logs. Once known it is kept, even while the pod's GPUs
  // have no process. A process of an unknown pod is never counted for a GPU's only holder: a
  // privileged pod holds no GPU and sees all GPUs of the node.
  std::vector<GpuProcessesOfPod> Find(const NodeSnapshot& snapshot);

 private:
  using PodName = std::pair<std::string, std::string>;  // namespace, name

  // Returns the holders of each process' GPUs, as indices in NodeSnapshot::pods.
  std::map<int64_t, std::set<int>> HoldersByProcess(const NodeSnapshot& snapshot);
  // Returns its index in snapshot.pods; -1: none of them, or unknown.
  int PodOf(const std::string& uid, const NodeSnapshot& snapshot,
            const std::vector<GpuProcessesOfPod>& found);
  void Remember(const NodeSnapshot& snapshot, std::vector<GpuProcessesOfPod>& found);

  const std::string proc_;
  CgroupPods cgroup_pods_;
  PodLogs pod_logs_;
  // Key: the GPU's uuid; a gap is no change
  std::map<std::string, std::vector<int64_t>> last_read_;
  std::map<PodName, std::string> uids_;
};

}  // namespace gpuscaler
