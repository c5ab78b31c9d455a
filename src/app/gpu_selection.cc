#include "app/gpu_selection.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

bool IsIndex(absl::string_view entry) {
  int index = 0;
  return absl::SimpleAtoi(entry, &index);
}

// Drivers before R470 name an instance MIG-GPU-<parent's uuid>/<gi>/<ci>, newer ones MIG-<uuid>.
// The older form identifies only the parent.
bool MatchesGpu(absl::string_view entry, const GpuSample& gpu) {
  int index = 0;
  if (absl::SimpleAtoi(entry, &index)) return gpu.index == index;
  if (absl::StartsWith(gpu.uuid, entry)) return true;
  return !IsMig(gpu) && absl::StartsWith(entry, absl::StrCat("MIG-", gpu.uuid, "/"));
}

bool MatchesAnyEntry(const std::vector<std::string>& entries, const GpuSample& gpu) {
  return std::ranges::any_of(entries,
                             [&](const std::string& entry) { return MatchesGpu(entry, gpu); });
}

// A job that is confined to its devices sees as many GPUs as it has indices.
bool MayBeConfined(const std::vector<GpuSample>& gpus, const std::vector<std::string>& entries) {
  const auto whole = static_cast<size_t>(
      std::ranges::count_if(gpus, [](const GpuSample& gpu) { return !IsMig(gpu); }));
  return whole == entries.size() && std::ranges::all_of(entries, IsIndex);
}

}  // namespace

GpuSelection SelectGpus(const std::vector<GpuSample>& gpus,
                        const std::vector<std::string>& entries) {
  GpuSelection selection;
  for (const std::string& entry : entries) {
    const bool is_absent =
        std::ranges::none_of(gpus, [&](const GpuSample& gpu) { return MatchesGpu(entry, gpu); });
    if (is_absent) selection.notes.push_back(absl::StrCat("the driver shows no GPU ", entry));
  }
  if (!selection.notes.empty() && MayBeConfined(gpus, entries)) return {.gpus = gpus};
  for (const GpuSample& gpu : gpus) {
    const auto parent = std::ranges::find(gpus, gpu.parent_uuid, &GpuSample::uuid);
    const bool with_parent = parent != gpus.end() && MatchesAnyEntry(entries, *parent);
    if (with_parent || MatchesAnyEntry(entries, gpu)) selection.gpus.push_back(gpu);
  }
  return selection;
}

}  // namespace gpuscaler
