#include "signal/process_scan.h"

#include <dirent.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signal/proc_file.h"
#include "workload/cgroup_pod.h"

namespace gpuscaler {
namespace {

// After a PID was reused by another pod's process, that process is found within this time.
constexpr absl::Duration kFullScanInterval = absl::Minutes(5);

constexpr size_t kLongestCgroup = 16384;

// Returns an empty string if the process is of no pod, or has ended.
std::string PodUidOf(const std::string& proc, int64_t pid) {
  const auto text = ReadProcFile(absl::StrCat(proc, "/", pid, "/cgroup"), kLongestCgroup);
  return text.ok() ? PodUidIn(*text) : "";
}

}  // namespace

ProcessScan::ByPod ProcessScan::Find(const std::set<std::string>& uids, absl::Time now) {
  if (now - all_read_at_ >= kFullScanInterval) {
    uids_.clear();
    all_read_at_ = now;
  }
  ScanProc();
  ByPod found;
  for (auto& [pid, uid] : uids_) {
    if (!uids.contains(uid)) continue;
    uid = PodUidOf(proc_, pid);
    if (uids.contains(uid)) found[uid].push_back(pid);
  }
  return found;
}

void ProcessScan::ScanProc() {
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(opendir(proc_.c_str()), &closedir);
  if (opened == nullptr) return;
  std::map<int64_t, std::string> uids;
  while (const dirent* entry = readdir(opened.get())) {
    int64_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    const auto known = uids_.find(pid);
    uids.emplace(pid, known == uids_.end() ? PodUidOf(proc_, pid) : known->second);
  }
  uids_ = std::move(uids);
}

}  // namespace gpuscaler
