#include "gpu/failing_gpus.h"

#include <algorithm>
#include <utility>

#include "model/unreadable_gpu.h"

namespace gpuscaler {
namespace {

using Gpus = std::vector<const GpuSample*>;

bool HasUuid(const std::vector<GpuSample>& gpus, const std::string& uuid) {
  return std::ranges::find(gpus, uuid, &GpuSample::uuid) != gpus.end();
}

std::ptrdiff_t CountGpus(const std::vector<GpuSample>& samples) {
  return std::ranges::count_if(samples, [](const GpuSample& gpu) { return !IsMig(gpu); });
}

// The order is the driver's.
Gpus MissingGpus(const std::vector<GpuSample>& answered, const std::vector<GpuSample>& before) {
  Gpus missing;
  for (const GpuSample& gpu : before) {
    const bool is_known = gpu.uuid != UnknownGpuUuid(gpu.index);
    if (!IsMig(gpu) && is_known && !HasUuid(answered, gpu.uuid)) missing.push_back(&gpu);
  }
  return missing;
}

// Returns the GPU of each of `failing`, null if unknown.
Gpus MatchByIndex(const std::vector<FailingIndex>& failing, const Gpus& missing) {
  Gpus matched;
  for (const FailingIndex& row : failing) {
    const auto same = std::ranges::find(missing, row.index, &GpuSample::index);
    matched.push_back(same == missing.end() ? nullptr : *same);
  }
  return matched;
}

Gpus MatchByElimination(const std::vector<FailingIndex>& failing, Gpus missing) {
  if (missing.size() > failing.size()) {
    std::erase_if(missing, [](const GpuSample* gpu) { return !IsUnreadable(*gpu); });
  }
  missing.resize(failing.size(), nullptr);
  return missing;
}

void AddSamples(const FailingIndex& failing, const GpuSample& gpu,
                const std::vector<GpuSample>& before, const CostlyReadings& wanted,
                std::vector<GpuSample>& samples) {
  for (const GpuSample& sample : before) {
    if (sample.uuid != gpu.uuid && sample.parent_uuid != gpu.uuid) continue;
    samples.push_back(UnreadableGpu(sample, failing.detail, wanted));
    samples.back().index = failing.index;
  }
}

}  // namespace

std::vector<GpuSample> SamplesOf(const std::vector<FailingIndex>& failing,
                                 const std::vector<GpuSample>& answered,
                                 const std::vector<GpuSample>& before,
                                 const CostlyReadings& wanted) {
  const Gpus missing = MissingGpus(answered, before);
  const bool same_count = CountGpus(before) == CountGpus(answered) + std::ssize(failing);
  const Gpus matched =
      same_count ? MatchByIndex(failing, missing) : MatchByElimination(failing, missing);
  std::vector<GpuSample> samples;
  for (size_t i = 0; i < failing.size(); ++i) {
    if (matched[i] == nullptr) {
      samples.push_back(UnknownGpu(failing[i].index, failing[i].detail));
    } else {
      AddSamples(failing[i], *matched[i], before, wanted, samples);
    }
  }
  return samples;
}

}  // namespace gpuscaler
