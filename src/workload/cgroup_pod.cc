#include "workload/cgroup_pod.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file_text.h"

namespace gpuscaler {
namespace {

constexpr size_t kStaticPodUidSize = 32;  // the hash of the pod's file, without dashes
constexpr size_t kUidSize = 36;

// The cache is cleared at this size. A node runs some hundred GPU processes at most; entries of
// ended ones are dropped only when their id is looked up again.
constexpr size_t kMaxCached = 4096;

bool IsHex(absl::string_view text) { return std::ranges::all_of(text, absl::ascii_isxdigit); }

// A dash separates levels of systemd's slices, so the kubelet writes underscores there.
std::string UidOf(absl::string_view text) {
  std::string uid = absl::StrReplaceAll(text, {{"_", "-"}});
  if (uid.size() == kStaticPodUidSize && IsHex(uid)) return uid;
  if (uid.size() != kUidSize || !IsHex(absl::StrReplaceAll(uid, {{"-", ""}}))) return "";
  for (const size_t dash : {8, 13, 18, 23}) {
    if (uid[dash] != '-') return "";
  }
  return uid;
}

// Returns the UID in "pod<uid>" or "kubepods-burstable-pod<uid>.slice".
std::string PodUid(absl::string_view level) {
  absl::ConsumeSuffix(&level, ".slice");
  const size_t at = level.rfind("pod");
  if (at == absl::string_view::npos || (at > 0 && level[at - 1] != '-')) return "";
  return UidOf(level.substr(at + 3));
}

// Parses a path of cgroups. If runtime and kubelet have different cgroup drivers, its last level is
// "kubepods-pod<uid>.slice:cri-containerd:<id>".
std::string PodUidInPath(absl::string_view path) {
  std::string last;
  if (!absl::StrContains(path, "kubepods")) return last;
  for (const absl::string_view level : absl::StrSplit(path, absl::ByAnyChar("/:"))) {
    if (std::string uid = PodUid(level); !uid.empty()) last = std::move(uid);
  }
  return last;
}

}  // namespace

std::string PodUidIn(absl::string_view cgroup) {
  for (const absl::string_view line : absl::StrSplit(cgroup, '\n')) {
    // "hierarchy:controllers:path"
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (std::string uid = PodUidInPath(parts[2]); !uid.empty()) return uid;
  }
  return "";
}

// The start time is the 22nd field of /proc/PID/stat. The second field is the program's name in
// brackets, which may contain spaces and brackets: fields are counted from the third.
std::string CgroupPods::StartTime(int64_t pid) const {
  constexpr size_t kStartTimeIndex = 22 - 3;
  const auto stat = ReadFileText(absl::StrCat(proc_, "/", pid, "/stat"));
  if (!stat.ok()) return "";
  const absl::string_view text = *stat;
  const size_t name_end = text.rfind(") ");
  if (name_end == absl::string_view::npos) return "";
  const std::vector<absl::string_view> fields = absl::StrSplit(text.substr(name_end + 2), ' ');
  return fields.size() > kStartTimeIndex ? std::string(fields[kStartTimeIndex]) : "";
}

std::string CgroupPods::PodUidOf(int64_t pid) {
  const std::string started = StartTime(pid);
  const auto known = cache_.find(pid);
  if (started.empty()) {
    if (known != cache_.end()) cache_.erase(known);
    return "";
  }
  if (known != cache_.end() && known->second.started == started) return known->second.pod_uid;
  const auto text = ReadFileText(absl::StrCat(proc_, "/", pid, "/cgroup"));
  if (!text.ok()) return "";
  if (cache_.size() >= kMaxCached) cache_.clear();
  std::string uid = PodUidIn(*text);
  cache_.insert_or_assign(pid, CachedProcess{.started = started, .pod_uid = uid});
  return uid;
}

}  // namespace gpuscaler
