#include "workload/gpu_processes.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "workload/gpu_holders.h"

namespace gpuscaler {
namespace {

constexpr int kNoPod = -1;

}  // namespace

std::vector<GpuProcessesOfPod> GpuProcesses::Find(const NodeSnapshot& snapshot) {
  std::vector<GpuProcessesOfPod> found(snapshot.pods.size());
  for (size_t i = 0; i < found.size(); ++i) found[i].uid = snapshot.pods[i].uid;
  for (const auto& [pid, holders] : HoldersByProcess(snapshot)) {
    const std::string uid = cgroup_pods_.PodUidOf(pid);
    std::error_code error;
    const bool is_hidden =
        uid.empty() && !std::filesystem::exists(absl::StrCat(proc_, "/", pid), error);
    for (const int pod : holders) found[pod].has_hidden |= is_hidden;
    if (uid.empty()) continue;
    const int pod = PodOf(uid, snapshot, found);
    if (pod != kNoPod) {
      found[pod].uid = uid;
      found[pod].processes.push_back(pid);
    } else if (pod_logs_.NameOf(uid, snapshot.taken_at).empty()) {
      for (const int holder : holders) found[holder].has_nameless = true;
    }
  }
  Remember(snapshot, found);
  return found;
}

std::map<int64_t, std::set<int>> GpuProcesses::HoldersByProcess(const NodeSnapshot& snapshot) {
  std::map<std::string, std::vector<int64_t>> read;
  std::map<int64_t, std::set<int>> holders;
  for (const GpuSample& gpu : snapshot.gpus) {
    std::vector<int64_t>& pids = read[gpu.uuid];
    if (gpu.processes) {
      for (const GpuProcess& process : *gpu.processes) pids.push_back(process.pid);
    } else {
      pids = last_read_[gpu.uuid];
    }
    for (const int64_t pid : pids) {
      std::set<int>& of_process = holders[pid];
      for (const GpuHolder& holder : gpu.holders) of_process.insert(holder.pod);
    }
  }
  last_read_ = std::move(read);
  return holders;
}

int GpuProcesses::PodOf(const std::string& uid, const NodeSnapshot& snapshot,
                        const std::vector<GpuProcessesOfPod>& found) {
  const auto by_uid = std::ranges::find(found, uid, &GpuProcessesOfPod::uid);
  if (by_uid != found.end()) return static_cast<int>(by_uid - found.begin());
  const std::string name = pod_logs_.NameOf(uid, snapshot.taken_at);
  if (name.empty()) return kNoPod;
  for (size_t i = 0; i < snapshot.pods.size(); ++i) {
    // A pod with another uid is its successor.
    if (NameOf(snapshot.pods[i]) == name && found[i].uid.empty()) return static_cast<int>(i);
  }
  return kNoPod;
}

void GpuProcesses::Remember(const NodeSnapshot& snapshot, std::vector<GpuProcessesOfPod>& found) {
  std::map<PodName, std::string> uids;
  for (size_t i = 0; i < found.size(); ++i) {
    const PodName name = {snapshot.pods[i].namespace_name, snapshot.pods[i].name};
    const auto before = uids_.find(name);
    if (found[i].uid.empty() && before != uids_.end()) found[i].uid = before->second;
    if (!found[i].uid.empty()) uids.emplace(name, found[i].uid);
  }
  uids_ = std::move(uids);
}

}  // namespace gpuscaler
