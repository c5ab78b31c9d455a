#include "scaling/scope.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gpuscaler {
namespace {

bool Has(const MetricTypeInfo& metric, const GpuSample& gpu) {
  return metric.read(gpu).has_value() || FindGap(gpu, metric.field) != nullptr;
}

std::string NameOf(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  const std::string name = absl::StrCat(snapshot.node, "/", gpu.index);
  return IsMig(gpu) ? absl::StrCat(name, "/", gpu.uuid) : name;
}

// What there is of a GPU that is split into MIG instances.
struct Split {
  bool parent_has = false;  // the metric
  bool instances_have = false;
};

std::map<absl::string_view, Split> SplitGpus(const MetricTypeInfo& metric,
                                             const NodeSnapshot& snapshot) {
  std::map<absl::string_view, Split> split;
  for (const GpuSample& gpu : snapshot.gpus) {
    if (IsMig(gpu)) split[gpu.parent_uuid].instances_have |= Has(metric, gpu);
  }
  for (const GpuSample& gpu : snapshot.gpus) {
    const auto found = split.find(gpu.uuid);
    if (found != split.end()) found->second.parent_has = Has(metric, gpu);
  }
  return split;
}

// Of a split GPU the instances, or the parent for a metric that it alone has.
std::vector<const GpuSample*> InScope(const Trigger& trigger, const NodeSnapshot& snapshot) {
  const auto split = SplitGpus(InfoOf(trigger.metric), snapshot);
  std::vector<const GpuSample*> in_scope;
  for (const GpuSample& gpu : snapshot.gpus) {
    if (trigger.gpu_index >= 0 && gpu.index != trigger.gpu_index) continue;
    const auto found = split.find(IsMig(gpu) ? gpu.parent_uuid : gpu.uuid);
    const bool parent_counts =
        found != split.end() && found->second.parent_has && !found->second.instances_have;
    if (found == split.end() || IsMig(gpu) != parent_counts) in_scope.push_back(&gpu);
  }
  return in_scope;
}

// The GPU of `uuid` in `snapshot`; usually at `position`, where the newest snapshot has it.
const GpuSample* Find(const NodeSnapshot& snapshot, absl::string_view uuid, size_t position) {
  if (position < snapshot.gpus.size() && snapshot.gpus[position].uuid == uuid) {
    return &snapshot.gpus[position];
  }
  const auto found = std::ranges::find(snapshot.gpus, uuid, &GpuSample::uuid);
  return found == snapshot.gpus.end() ? nullptr : &*found;
}

using Snapshots = std::span<const std::shared_ptr<const NodeSnapshot>>;

Snapshots LookedBackOn(const Trigger& trigger, const NodeHistory& history,
                       absl::Duration stale_after) {
  const Snapshots all(history.snapshots);
  const absl::Duration longest_window =
      std::max({trigger.window, trigger.activation_window, trigger.preallocation_window});
  const absl::Time oldest = history.Newest().taken_at - longest_window - stale_after;
  const auto first = std::ranges::lower_bound(
      all, oldest, {}, [](const auto& snapshot) { return snapshot->taken_at; });
  return all.subspan(static_cast<size_t>(first - all.begin()));
}

// What a trigger looks back on.
struct Past {
  Snapshots snapshots;
  // Which of them have the GPUs of the newest one, each in its place: nearly always all, and then
  // no UUID is compared twice.
  std::vector<bool> like_newest;
};

Past PastOf(Snapshots snapshots) {
  Past past{.snapshots = snapshots};
  for (const auto& snapshot : snapshots) {
    past.like_newest.push_back(snapshot == snapshots.back() ||
                               std::ranges::equal(snapshot->gpus, snapshots.back()->gpus, {},
                                                  &GpuSample::uuid, &GpuSample::uuid));
  }
  return past;
}

// Of a GPU as the snapshot `named_by` has it.
GpuSeries SeriesOf(const Past& past, size_t named_by, const GpuSample& gpu) {
  const NodeSnapshot& naming = *past.snapshots[named_by];
  const size_t position = static_cast<size_t>(&gpu - naming.gpus.data());
  GpuSeries series;
  series.name = NameOf(naming, gpu);
  series.samples.reserve(past.snapshots.size());
  for (size_t i = 0; i < past.snapshots.size(); ++i) {
    const NodeSnapshot& snapshot = *past.snapshots[i];
    const bool same_place = past.like_newest[named_by] && past.like_newest[i];
    series.samples.push_back(same_place ? &snapshot.gpus[position]
                                        : Find(snapshot, gpu.uuid, position));
  }
  series.present = series.samples.back() != nullptr;
  return series;
}

// GPUs with the metric that earlier snapshots had and the newest lacks, each as its last sample.
void AddGone(const Trigger& trigger, const Past& past, ScopedHistory& scoped) {
  const NodeSnapshot& newest = *past.snapshots.back();
  std::set<absl::string_view> gone;
  for (size_t i = past.snapshots.size(); i-- > 0;) {
    if (past.like_newest[i]) continue;
    const std::vector<GpuSample>& gpus = past.snapshots[i]->gpus;
    for (size_t position = 0; position < gpus.size(); ++position) {
      const GpuSample& gpu = gpus[position];
      if (trigger.gpu_index >= 0 && gpu.index != trigger.gpu_index) continue;
      if (!Has(InfoOf(trigger.metric), gpu)) continue;
      if (Find(newest, gpu.uuid, position) != nullptr || !gone.insert(gpu.uuid).second) continue;
      scoped.gpus.push_back(SeriesOf(past, i, gpu));
    }
  }
}

absl::Status NoSuchIndex(const Trigger& trigger, const NodeSnapshot& newest) {
  std::set<int> indices;
  for (const GpuSample& gpu : newest.gpus) indices.insert(gpu.index);
  return absl::FailedPreconditionError(absl::StrCat("gpuIndex=\"", trigger.gpu_index,
                                                    "\": no node has this GPU; there are ",
                                                    absl::StrJoin(indices, ", ")));
}

absl::Status NoSuchMetric(const Trigger& trigger, const NodeSnapshot& newest,
                          const std::vector<const GpuSample*>& gpus) {
  std::set<std::string> devices;
  for (const GpuSample* gpu : gpus) {
    devices.insert(absl::StrCat(NameOf(newest, *gpu), " (", gpu->name, ")"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "no GPU in scope has ", InfoOf(trigger.metric).name, ": ", absl::StrJoin(devices, ", ")));
}

}  // namespace

absl::StatusOr<ScopedHistory> ScopeOf(const Trigger& trigger, const NodeHistory& history,
                                      absl::Duration stale_after) {
  const NodeSnapshot& newest = history.Newest();
  const std::vector<const GpuSample*> gpus = InScope(trigger, newest);
  if (gpus.empty() && !newest.gpus.empty()) return NoSuchIndex(trigger, newest);
  const MetricTypeInfo& metric = InfoOf(trigger.metric);
  if (!gpus.empty() &&
      std::ranges::none_of(gpus, [&](const GpuSample* gpu) { return Has(metric, *gpu); })) {
    return NoSuchMetric(trigger, newest, gpus);
  }

  const Past past = PastOf(LookedBackOn(trigger, history, stale_after));
  ScopedHistory scoped;
  for (const auto& snapshot : past.snapshots) scoped.times.push_back(snapshot->taken_at);
  scoped.gpus.reserve(gpus.size());
  for (const GpuSample* gpu : gpus) {
    scoped.gpus.push_back(SeriesOf(past, past.snapshots.size() - 1, *gpu));
  }
  AddGone(trigger, past, scoped);
  return scoped;
}

}  // namespace gpuscaler
