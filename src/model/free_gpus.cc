#include "model/free_gpus.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/unreadable_gpu.h"

namespace gpuscaler {
namespace {

// FreeText() lists as many parts one by one.
constexpr size_t kListedParts = 8;

std::set<std::string> DividedGpus(const NodeSnapshot& snapshot) {
  std::set<std::string> divided;
  for (const GpuSample& gpu : snapshot.gpus) {
    if (gpu.is_in_mig_mode) divided.insert(gpu.uuid);
    if (IsMig(gpu)) divided.insert(gpu.parent_uuid);
  }
  return divided;
}

// A GPU that does not answer may be lost, so that no pod would get it. One with possible holders
// alone may be free.
std::optional<bool> IsFree(const NodeSnapshot& snapshot, const GpuSample& gpu, bool is_divided) {
  if (IsMig(gpu) || is_divided) return false;
  if (std::ranges::any_of(gpu.holders, std::logical_not<>(), &GpuHolder::is_possible)) return false;
  if (snapshot.attribution.state != Attribution::State::kKnown) return std::nullopt;
  if (!gpu.holders.empty() || IsUnreadable(gpu)) return std::nullopt;
  return true;
}

// The sizes of the parts with free GPUs, in ascending order.
std::vector<int> PartsOf(const FreeGpus& free, bool linked) {
  std::map<std::string, int> nodes;
  std::vector<int> parts;
  for (const FreeGroup& group : free.groups) {
    if (linked && group.gpus > 0) parts.push_back(group.gpus);
    if (!linked && group.gpus > 0) nodes[group.node] += group.gpus;
  }
  for (const auto& [node, gpus] : nodes) parts.push_back(gpus);
  std::ranges::sort(parts);
  return parts;
}

// Takes the GPUs of one pod. Requires sorted `parts`, and keeps them sorted.
bool TakePod(int gpus, std::vector<int>& parts) {
  const auto part = std::ranges::lower_bound(parts, gpus);
  if (part == parts.end()) return false;
  const int rest = *part - gpus;
  parts.erase(part);
  if (rest > 0) parts.insert(std::ranges::upper_bound(parts, rest), rest);
  return true;
}

}  // namespace

void MarkFreeGpus(NodeSnapshot& snapshot) {
  const std::set<std::string> divided = DividedGpus(snapshot);
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    gpu.is_free = IsFree(snapshot, gpu, divided.contains(gpu.uuid));
  }
}

void FreeGpus::Add(const NodeSnapshot& snapshot) {
  std::map<std::string, int> free;
  for (const GpuSample& gpu : snapshot.gpus) {
    if (IsMig(gpu)) continue;
    if (gpu.is_free.has_value()) {
      free[gpu.link_group] += *gpu.is_free ? 1 : 0;
    } else {
      ++unknown;
    }
  }
  for (const auto& [group, gpus] : free) groups.push_back({snapshot.node, group, gpus});
}

void FreeGpus::AddUnknown(const NodeSnapshot& snapshot) {
  for (const GpuSample& gpu : snapshot.gpus) unknown += IsMig(gpu) ? 0 : 1;
}

int CountFree(const FreeGpus& free) {
  int gpus = 0;
  for (const FreeGroup& group : free.groups) gpus += group.gpus;
  return gpus;
}

int LargestGroup(const FreeGpus& free) {
  int largest = 0;
  for (const FreeGroup& group : free.groups) largest = std::max(largest, group.gpus);
  return largest;
}

std::vector<WholeGpus> WholeGpusOfPods(const NodeSnapshot& snapshot) {
  std::map<int, std::vector<const GpuSample*>> held;
  std::set<int> others;  // pods with anything but whole GPUs
  const std::set<std::string> divided = DividedGpus(snapshot);
  for (const GpuSample& gpu : snapshot.gpus) {
    std::set<int> pods;
    for (const GpuHolder& holder : gpu.holders) {
      pods.insert(holder.pod);
      if (holder.is_possible) others.insert(holder.pod);
    }
    if (pods.size() > 1 || IsMig(gpu) || divided.contains(gpu.uuid)) {
      others.insert(pods.begin(), pods.end());
    }
    for (const int pod : pods) held[pod].push_back(&gpu);
  }
  std::vector<WholeGpus> whole;
  for (const auto& [pod, gpus] : held) {
    if (others.contains(pod)) continue;
    const std::string& group = gpus.front()->link_group;
    WholeGpus& added = whole.emplace_back();
    added.are_linked =
        gpus.size() > 1 && !group.empty() &&
        std::ranges::all_of(gpus, [&](const GpuSample* gpu) { return gpu->link_group == group; });
    for (const GpuSample* const gpu : gpus) added.uuids.push_back(gpu->uuid);
  }
  return whole;
}

int RoomFor(const ReplicaNeed& need, const FreeGpus& free) {
  std::vector<int> pods = need.pods;
  std::ranges::sort(pods, std::greater<>());
  if (pods.empty() || pods.back() < 1) return 0;
  std::vector<int> parts = PartsOf(free, need.linked);
  int replicas = 0;
  while (std::ranges::all_of(pods, [&](int gpus) { return TakePod(gpus, parts); })) ++replicas;
  return replicas;
}

std::string FreeText(const FreeGpus& free, bool linked) {
  const std::vector<int> parts = PartsOf(free, linked);
  if (parts.empty()) return "none free";
  std::string text;
  if (parts.size() <= kListedParts) {
    text = absl::StrJoin(parts, "+");
  } else {
    std::map<int, int> counts;
    for (const int part : parts) ++counts[part];
    text = absl::StrJoin(counts, "+", [](std::string* out, const auto& count) {
      absl::StrAppend(out, count.second, "x", count.first);
    });
  }
  return absl::StrCat(CountFree(free), " free in ", text);
}

}  // namespace gpuscaler
