#include "workload/gpu_processes.h"

#include <algorithm>
#include <filesystem>
#include <optional>
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
  for (const OnGpu& process : ProcessesOf(snapshot)) {
    const auto of = cgroup_pods_.Find(process.pid);
    std::error_code error;
    const bool is_hidden =
        !of && !std::filesystem::exists(absl::StrCat(proc_, "/", process.pid), error);
    for (const int pod : process.holders) found[pod].has_hidden |= is_hidden;
    if (!of) continue;
    const int pod = PodOf(*of, snapshot, found);
    if (pod != kNoPod) {
      found[pod].uid = of->uid;
      found[pod].processes.push_back(process.pid);
    } else if (pod_logs_.NameOf(of->uid, snapshot.taken_at).empty()) {
      for (const int holder : process.holders) found[holder].has_nameless = true;
    }
  }
  Remember(snapshot, found);
  return found;
}

std::vector<GpuProcesses::OnGpu> GpuProcesses::ProcessesOf(const NodeSnapshot& snapshot) {
  std::map<std::string, std::vector<int64_t>> read;
  std::map<int64_t, OnGpu> by_pid;
  for (const GpuSample& gpu : snapshot.gpus) {
    std::vector<int64_t>& pids = read[gpu.uuid];
    if (gpu.processes) {
      for (const GpuProcess& process : *gpu.processes) pids.push_back(process.pid);
    } else {
      pids = last_read_[gpu.uuid];
    }
    for (const int64_t pid : pids) {
      OnGpu& process = by_pid[pid];
      process.pid = pid;
      for (const GpuHolder& holder : gpu.holders) process.holders.insert(holder.pod);
    }
  }
  last_read_ = std::move(read);
  std::vector<OnGpu> processes;
  for (auto& [pid, process] : by_pid) processes.push_back(std::move(process));
  return processes;
}

int GpuProcesses::PodOf(const CgroupPod& process, const NodeSnapshot& snapshot,
                        const std::vector<GpuProcessesOfPod>& found) {
  const auto by_uid = std::ranges::find(found, process.uid, &GpuProcessesOfPod::uid);
  if (by_uid != found.end()) return static_cast<int>(by_uid - found.begin());
  const std::string name = pod_logs_.NameOf(process.uid, snapshot.taken_at);
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
