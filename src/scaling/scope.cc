#include "scaling/scope.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

using Gpus = std::vector<NodeLayout::Gpu>;

constexpr size_t kDevicesNamed = 8;

bool IsInstance(const NodeLayout::Gpu& gpu) { return !gpu.parent_uuid.empty(); }

// A GPU with MIG instances.
struct Split {
  bool parent_has = false;  // has the metric
  bool instances_have = false;
};

std::map<absl::string_view, Split> SplitGpus(const MetricTypeInfo& metric, const NodeView& view) {
  const Gpus& gpus = view.Layout().gpus;
  std::map<absl::string_view, Split> split;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (!IsInstance(gpus[i])) continue;
    split[gpus[i].parent_uuid].instances_have |= view.Point(i).Has(metric.reading);
  }
  for (size_t i = 0; i < gpus.size() && !split.empty(); ++i) {
    const auto found = split.find(gpus[i].uuid);
    if (found != split.end()) found->second.parent_has = view.Point(i).Has(metric.reading);
  }
  return split;
}

// If a GPU has instances, they are in scope, or the GPU itself for a metric that it alone has.
std::vector<size_t> InScope(const Trigger& trigger, const NodeView& view) {
  const Gpus& gpus = view.Layout().gpus;
  const auto split = SplitGpus(InfoOf(trigger.metric), view);
  std::vector<size_t> in_scope;
  in_scope.reserve(gpus.size());
  for (size_t i = 0; i < gpus.size(); ++i) {
    const NodeLayout::Gpu& gpu = gpus[i];
    if (trigger.gpu_index >= 0 && gpu.index != trigger.gpu_index) continue;
    const auto found =
        split.empty() ? split.end() : split.find(IsInstance(gpu) ? gpu.parent_uuid : gpu.uuid);
    const bool parent_counts =
        found != split.end() && found->second.parent_has && !found->second.instances_have;
    if (found == split.end() || IsInstance(gpu) != parent_counts) in_scope.push_back(i);
  }
  return in_scope;
}

// Returns which runs of a node have the GPUs of the newest one, each in its place. Nearly always
// all have, and then no UUID is compared twice.
std::vector<bool> LikeNewest(const NodeView& view) {
  std::vector<bool> like_newest(view.runs.size());
  const NodeLayout* compared = nullptr;
  bool like = true;
  for (size_t i = view.runs.size(); i-- > 0;) {
    const NodeLayout* const layout = view.runs[i].layout().get();
    if (layout != compared) {
      compared = layout;
      like = std::ranges::equal(layout->gpus, view.Layout().gpus, {}, &NodeLayout::Gpu::uuid,
                                &NodeLayout::Gpu::uuid);
    }
    like_newest[i] = like;
  }
  return like_newest;
}

// A node's GPUs over time.
class NodeScope {
 public:
  NodeScope(const Trigger& trigger, const NodeView& view, size_t node)
      : trigger_(trigger), view_(view), node_(node), like_newest_(LikeNewest(view)) {}

  void AddPresent(const std::vector<size_t>& in_scope, std::vector<GpuSeries>& series) const {
    for (const size_t position : in_scope) {
      series.push_back(SeriesOf(view_.runs.size() - 1, position));
      series.back().position = static_cast<int>(position);
    }
  }

  // Adds GPUs with the metric that earlier readings had and the newest lacks, each as last seen.
  void AddGone(std::vector<GpuSeries>& series) const {
    const GpuReading reading = InfoOf(trigger_.metric).reading;
    std::set<absl::string_view> gone;
    for (size_t i = view_.runs.size(); i-- > 0;) {
      if (like_newest_[i]) continue;
      const Gpus& gpus = view_.runs[i].layout()->gpus;
      for (size_t position = 0; position < gpus.size(); ++position) {
        const NodeLayout::Gpu& gpu = gpus[position];
        if (trigger_.gpu_index >= 0 && gpu.index != trigger_.gpu_index) continue;
        if (!view_.runs[i].point(position).Has(reading)) continue;
        if (PositionOf(view_.Layout().gpus, gpu.uuid, position) >= 0) continue;
        if (gone.insert(gpu.uuid).second) series.push_back(SeriesOf(i, position));
      }
    }
  }

 private:
  // `named_by` is the run that names the GPU.
  GpuSeries SeriesOf(size_t named_by, size_t position) const {
    const NodeLayout::Gpu& gpu = view_.runs[named_by].layout()->gpus[position];
    GpuSeries series{.name = NameOf(view_.name(), gpu), .uuid = gpu.uuid, .node = node_};
    series.points.reserve(view_.runs.size());
    for (size_t i = 0; i < view_.runs.size(); ++i) {
      const NodeRun& run = view_.runs[i];
      const bool same_place = like_newest_[named_by] && like_newest_[i];
      const int found = same_place ? static_cast<int>(position)
                                   : PositionOf(run.layout()->gpus, gpu.uuid, position);
      series.points.push_back(found < 0 ? GpuPointView() : run.point(static_cast<size_t>(found)));
    }
    return series;
  }

  const Trigger& trigger_;
  const NodeView& view_;
  const size_t node_;
  const std::vector<bool> like_newest_;
};

}  // namespace

std::string NameOf(absl::string_view node, const NodeLayout::Gpu& gpu) {
  const std::string name = absl::StrCat(node, "/", gpu.index);
  return IsInstance(gpu) ? absl::StrCat(name, "/", gpu.uuid) : name;
}

int PositionOf(const std::vector<NodeLayout::Gpu>& gpus, absl::string_view uuid, size_t likely) {
  if (likely < gpus.size() && gpus[likely].uuid == uuid) return static_cast<int>(likely);
  const auto found = std::ranges::find(gpus, uuid, &NodeLayout::Gpu::uuid);
  return found == gpus.end() ? -1 : static_cast<int>(found - gpus.begin());
}

absl::Status CheckIndex(const Trigger& trigger, const FleetHistory& fleet) {
  std::set<int> indices;
  for (const NodeState& state : fleet.nodes) {
    if (trigger.gpu_index < 0) break;
    for (const NodeLayout::Gpu& gpu : state.history->runs.back().layout()->gpus) {
      indices.insert(gpu.index);
    }
  }
  if (indices.empty() || indices.contains(trigger.gpu_index)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("gpuIndex=\"", trigger.gpu_index,
                                                    "\": no node has this GPU; there are ",
                                                    absl::StrJoin(indices, ", ")));
}

absl::Status CheckMetric(const Trigger& trigger, std::span<const NodeView> views,
                         std::span<const GpuSeries> gpus) {
  const MetricTypeInfo& metric = InfoOf(trigger.metric);
  std::set<std::string> devices;
  for (const GpuSeries& gpu : gpus) {
    if (!gpu.present() || !gpu.points.back().exists()) continue;
    if (gpu.points.back().Has(metric.reading)) return absl::OkStatus();
    const std::string& model =
        views[gpu.node].Layout().gpus[static_cast<size_t>(gpu.position)].name;
    devices.insert(absl::StrCat(gpu.name, " (", model, ")"));
  }
  if (devices.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("no GPU in scope has ", metric.name, ": ", ListText(devices, kDevicesNamed)));
}

absl::StatusOr<ScopedFleet> ScopeOf(const Trigger& trigger, const FleetHistory& fleet,
                                    const StalenessLimits& staleness) {
  RETURN_IF_ERROR(CheckIndex(trigger, fleet));
  ScopedFleet scoped{.now = fleet.now};
  scoped.nodes.reserve(fleet.nodes.size());
  const absl::Time oldest = OldestLookedAt(trigger, fleet.now, staleness);
  for (const NodeState& state : fleet.nodes) {
    const NodeView& view = scoped.nodes.emplace_back(ViewOf(state, oldest, fleet.now, staleness));
    const NodeScope node(trigger, view, scoped.nodes.size() - 1);
    node.AddPresent(InScope(trigger, view), scoped.gpus);
    node.AddGone(scoped.gpus);
  }
  RETURN_IF_ERROR(CheckMetric(trigger, scoped.nodes, scoped.gpus));
  return scoped;
}

}  // namespace gpuscaler
