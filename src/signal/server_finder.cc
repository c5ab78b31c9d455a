#include "signal/server_finder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "signal/process_sockets.h"

namespace gpuscaler {
namespace {

// The node's init process, if the node's processes are visible at all.
constexpr int64_t kInitPid = 1;

// Includes the processes of other pods that share the GPUs. Empty: a GPU's process list failed,
// which is not a change.
std::optional<std::set<int64_t>> PidsOnGpusOf(const NodeSnapshot& snapshot, int pod) {
  std::set<int64_t> pids;
  for (const GpuSample& gpu : snapshot.gpus) {
    if (std::ranges::find(gpu.holders, pod, &GpuHolder::pod) == gpu.holders.end()) continue;
    if (!gpu.processes) return std::nullopt;
    for (const GpuProcess& process : *gpu.processes) pids.insert(process.pid);
  }
  return pids;
}

}  // namespace

ServerFinder::ServerFinder(const Clock& clock, std::vector<int> default_ports, NodeFolders folders)
    : clock_(clock),
      default_ports_(std::move(default_ports)),
      folders_(std::move(folders)),
      gpu_processes_(folders_),
      scan_(folders_.proc) {}

const std::vector<PodServers>& ServerFinder::Find(const NodeSnapshot& snapshot) {
  const absl::Time now = clock_.Now();
  std::map<PodName, KnownPod> known;
  std::vector<int> due;
  for (size_t i = 0; i < snapshot.pods.size(); ++i) {
    const PodName name = {snapshot.pods[i].namespace_name, snapshot.pods[i].name};
    const auto before = known_.find(name);
    KnownPod& pod = known[name];
    if (before != known_.end()) pod = std::move(before->second);
    if (Update(snapshot, static_cast<int>(i), now, pod)) due.push_back(static_cast<int>(i));
  }
  known_ = std::move(known);
  if (!due.empty()) ReadAll(snapshot, due, now);
  found_.clear();
  for (const Pod& pod : snapshot.pods) {
    found_.push_back(known_[{pod.namespace_name, pod.name}].servers);
  }
  return found_;
}

void ServerFinder::Refresh(const std::string& namespace_name, const std::string& pod) {
  const auto known = known_.find({namespace_name, pod});
  if (known != known_.end()) known->second.needs_refresh = true;
}

bool ServerFinder::Update(const NodeSnapshot& snapshot, int pod, absl::Time now, KnownPod& known) {
  const bool has_changed = known.pod != snapshot.pods[pod];
  known.pod = snapshot.pods[pod];
  auto pids = PidsOnGpusOf(snapshot, pod);
  if (pids && *pids != known.pids) {
    known.pids = *std::move(pids);
    known.needs_refresh = true;
  }
  const bool is_urgent = known.needs_refresh || !known.servers.status.ok();
  return has_changed || now - known.read_at >= (is_urgent ? kPodRefreshInterval : kPodReadInterval);
}

void ServerFinder::ReadAll(const NodeSnapshot& snapshot, const std::vector<int>& due,
                           absl::Time now) {
  std::vector<GpuProcessesOfPod> processes = gpu_processes_.Find(snapshot);
  // An engine that is loading, or has unloaded its model, has no process on a GPU.
  std::set<std::string> uids;
  for (const int pod : due) {
    if (processes[pod].processes.empty()) uids.insert(processes[pod].uid);
  }
  uids.erase("");
  auto off_gpus = uids.empty() ? ProcessScan::ByPod() : scan_.Find(uids, now);
  for (const int pod : due) {
    GpuProcessesOfPod& of_pod = processes[pod];
    if (of_pod.processes.empty()) of_pod.processes = std::move(off_gpus[of_pod.uid]);
    KnownPod& known = known_[{snapshot.pods[pod].namespace_name, snapshot.pods[pod].name}];
    known.read_at = now;
    known.needs_refresh = false;
    auto candidates = Read(known.pod, of_pod, now);
    known.servers = {.namespace_name = known.pod.namespace_name,
                     .pod = known.pod.name,
                     .status = candidates.status()};
    if (candidates.ok()) known.servers.candidates = *std::move(candidates);
  }
}

absl::StatusOr<std::vector<EngineCandidate>> ServerFinder::Read(const Pod& pod,
                                                                const GpuProcessesOfPod& processes,
                                                                absl::Time now) {
  auto network = ReadNetworkOf(processes.processes);
  if (absl::IsNotFound(network.status())) return WithoutProcesses(pod, processes);
  RETURN_IF_ERROR(network.status());
  RETURN_IF_ERROR(KeepOwnListeners(processes.uid, now, *network));
  // The kubelet's address has precedence over those found in the network.
  std::erase(network->addresses, pod.address);
  if (!pod.address.empty()) network->addresses.insert(network->addresses.begin(), pod.address);
  return EngineCandidatesOf(network->listeners, network->addresses, default_ports_);
}

// The pod's processes share a network: the first that still exists gives it. NOT_FOUND: none
// exists.
absl::StatusOr<NetworkNamespace> ServerFinder::ReadNetworkOf(
    const std::vector<int64_t>& processes) const {
  absl::StatusOr<NetworkNamespace> network = absl::NotFoundError("no process is seen");
  for (const int64_t pid : processes) {
    network = ReadNetworkNamespace(folders_.proc, pid);
    if (!absl::IsNotFound(network.status())) break;
  }
  return network;
}

// In the node's network other programs listen too: keeps only the pod's sockets.
absl::Status ServerFinder::KeepOwnListeners(const std::string& uid, absl::Time now,
                                            NetworkNamespace& network) {
  ASSIGN_OR_RETURN(const uint64_t of_node, NetworkNamespaceIdOf(folders_.proc, kInitPid));
  if (network.id != of_node) return absl::OkStatus();
  std::set<uint64_t> own;
  absl::Status refused;
  auto processes = scan_.Find({uid}, now);
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
      absl::StrCat("it is in its node's network, and only its open sockets show which ports are "
                   "its own: agents need the capabilities SYS_PTRACE and "
                   "DAC_READ_SEARCH (",
                   refused.message(), ")"));
}

absl::StatusOr<std::vector<EngineCandidate>> ServerFinder::WithoutProcesses(
    const Pod& pod, const GpuProcessesOfPod& processes) const {
  if (pod.is_in_node_network) {
    return absl::FailedPreconditionError(
        "it is in its node's network, and without its processes its ports cannot be distinguished "
        "from others': agents need hostPID");
  }
  if (!pod.address.empty()) return EngineCandidatesAt(pod.address, default_ports_);
  if (processes.has_hidden) {
    return absl::FailedPreconditionError(
        "its processes are not seen: agents need hostPID, or the kubelet's Pods API (Kubernetes "
        "1.37) for its address");
  }
  if (processes.has_nameless) {
    return absl::FailedPreconditionError(
        "its processes look like those of other pods on its GPU: agents need the names "
        "in /var/log/pods");
  }
  return absl::UnavailableError(
      "no process of it is seen on its GPUs yet, and its address is not known");
}

}  // namespace gpuscaler
