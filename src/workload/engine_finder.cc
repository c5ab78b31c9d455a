#include "workload/engine_finder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "workload/process_sockets.h"

namespace gpuscaler {
namespace {

// The init process of the node, where we see the node's processes at all.
constexpr int64_t kNodesInit = 1;

std::string OnlyContainer(const NodeSnapshot& snapshot, int pod) {
  std::set<std::string> containers;
  for (const GpuSample& gpu : snapshot.gpus) {
    for (const GpuHolder& holder : gpu.holders) {
      if (holder.pod == pod) containers.insert(holder.container);
    }
  }
  return containers.size() == 1 ? *containers.begin() : "";
}

// In the order of the GPUs; a list that failed is no change.
std::vector<std::vector<int64_t>> PidsOf(const NodeSnapshot& snapshot,
                                         std::vector<std::vector<int64_t>> before) {
  before.resize(snapshot.gpus.size());
  for (size_t i = 0; i < snapshot.gpus.size(); ++i) {
    if (!snapshot.gpus[i].processes) continue;
    before[i].clear();
    for (const GpuProcess& process : *snapshot.gpus[i].processes) before[i].push_back(process.pid);
    std::ranges::sort(before[i]);
  }
  return before;
}

}  // namespace

EngineFinder::EngineFinder(const Clock& clock, std::vector<int> usual_ports, NodeFolders folders)
    : clock_(clock),
      usual_ports_(std::move(usual_ports)),
      folders_(std::move(folders)),
      gpu_processes_(folders_),
      scan_(folders_.proc) {}

const std::vector<PodEngines>& EngineFinder::Find(const NodeSnapshot& snapshot) {
  const absl::Time now = clock_.Now();
  auto pids = PidsOf(snapshot, pids_);
  is_due_ |= pids != pids_;
  pids_ = std::move(pids);
  const bool are_others = snapshot.pods != pods_;
  pods_ = snapshot.pods;
  const absl::Duration patience = is_due_ ? kEnginesReadAtMostEvery : kEnginesReadEvery;
  if (!are_others && now - read_at_ < patience) return found_;
  is_due_ = false;
  read_at_ = now;
  Processes processes = gpu_processes_.Find(snapshot);
  AddProcessesOffGpus(processes);
  found_.clear();
  for (size_t i = 0; i < pods_.size(); ++i) {
    PodEngines engines = Read(pods_[i], processes[i]);
    engines.container = OnlyContainer(snapshot, static_cast<int>(i));
    found_.push_back(std::move(engines));
  }
  return found_;
}

// An engine that still loads, or that has put its model away, has none on a GPU.
void EngineFinder::AddProcessesOffGpus(Processes& processes) {
  std::set<std::string> uids;
  for (const GpuProcessesOfPod& pod : processes) {
    if (pod.processes.empty() && !pod.uid.empty()) uids.insert(pod.uid);
  }
  if (uids.empty()) return;
  auto found = scan_.Find(uids, read_at_);
  for (GpuProcessesOfPod& pod : processes) {
    if (pod.processes.empty() && !pod.uid.empty()) pod.processes = std::move(found[pod.uid]);
  }
}

PodEngines EngineFinder::Read(const Pod& pod, const GpuProcessesOfPod& processes) {
  PodEngines engines = {
      .namespace_name = pod.namespace_name, .pod = pod.name, .address = pod.address};
  auto network = ReadNetworkOf(processes.processes);
  if (absl::IsNotFound(network.status())) {
    WithoutProcesses(pod, processes, engines);
    return engines;
  }
  if (network.ok()) engines.status = KeepItsOwn(processes.uid, *network);
  if (!network.ok()) engines.status = network.status();
  if (!engines.status.ok()) return engines;
  // The kubelet's word comes before what we make of the network.
  std::erase(network->addresses, pod.address);
  if (!pod.address.empty()) network->addresses.insert(network->addresses.begin(), pod.address);
  auto candidates = EngineCandidatesOf(network->listeners, network->addresses, usual_ports_);
  if (!network->addresses.empty()) engines.address = network->addresses.front();
  engines.status = candidates.status();
  if (candidates.ok()) engines.candidates = *std::move(candidates);
  return engines;
}

// All of a pod's processes share it: the first that is still there tells. NOT_FOUND: none is.
absl::StatusOr<NetworkNamespace> EngineFinder::ReadNetworkOf(
    const std::vector<int64_t>& processes) const {
  absl::StatusOr<NetworkNamespace> network = absl::NotFoundError("no process is seen");
  for (const int64_t pid : processes) {
    network = ReadNetwork(folders_.proc, pid);
    if (!absl::IsNotFound(network.status())) break;
  }
  return network;
}

// In the node's own network others listen too.
absl::Status EngineFinder::KeepItsOwn(const std::string& uid, NetworkNamespace& network) {
  ASSIGN_OR_RETURN(const uint64_t of_node, NetworkIdOf(folders_.proc, kNodesInit));
  if (network.id != of_node) return absl::OkStatus();
  std::set<uint64_t> own;
  absl::Status refused;
  auto processes = scan_.Find({uid}, read_at_);
  for (const int64_t pid : processes[uid]) {
    const auto sockets = SocketsOf(folders_.proc, pid);
    if (sockets.ok()) {
      own.insert(sockets->begin(), sockets->end());
    } else if (!absl::IsNotFound(sockets.status())) {
      refused = sockets.status();
    }
  }
  std::erase_if(network.listeners,
                [&own](const Listener& listener) { return !own.contains(listener.socket); });
  if (refused.ok() || !network.listeners.empty()) return absl::OkStatus();
  return absl::Status(
      refused.code(),
      absl::StrCat("it is in its node's network, and which of the ports there are its own only "
                   "its open sockets tell: agents need the capabilities SYS_PTRACE and "
                   "DAC_READ_SEARCH (",
                   refused.message(), ")"));
}

void EngineFinder::WithoutProcesses(const Pod& pod, const GpuProcessesOfPod& processes,
                                    PodEngines& engines) {
  if (!pod.address.empty() && !pod.is_in_node_network) {
    engines.candidates = EngineCandidatesAt(pod.address, usual_ports_);
  } else if (pod.is_in_node_network) {
    engines.status = absl::FailedPreconditionError(
        "it is in its node's network, and its processes are not seen, which would tell its ports "
        "from others': agents need hostPID");
  } else if (processes.has_hidden) {
    engines.status = absl::FailedPreconditionError(
        "its processes are not seen: agents need hostPID, or the kubelet's Pods API (Kubernetes "
        "1.37) for its address");
  } else if (processes.has_nameless) {
    engines.status = absl::FailedPreconditionError(
        "its processes cannot be told from those of other pods on its GPU: agents need the names "
        "in /var/log/pods");
  } else {
    engines.status = absl::UnavailableError(
        "no process of it is seen on its GPUs yet, and its address is not known");
  }
}

}  // namespace gpuscaler
