#include "model/node_history.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

bool Matches(const NodeLayout::Gpu& gpu, const GpuSample& sample) {
  return gpu.index == sample.index && gpu.uuid == sample.uuid &&
         gpu.parent_uuid == sample.parent_uuid && gpu.name == sample.name &&
         HaveSameHolders(gpu.holders, sample.holders);
}

bool Matches(const NodeLayout& layout, const NodeSnapshot& snapshot) {
  return layout.node == snapshot.node && layout.attribution == snapshot.attribution &&
         layout.pods == snapshot.pods &&
         std::ranges::equal(layout.gpus, snapshot.gpus,
                            [](const NodeLayout::Gpu& gpu, const GpuSample& sample) {
                              return Matches(gpu, sample);
                            });
}

std::shared_ptr<const NodeLayout> LayoutOf(const NodeSnapshot& snapshot) {
  auto layout = std::make_shared<NodeLayout>();
  layout->node = snapshot.node;
  layout->pods = snapshot.pods;
  layout->attribution = snapshot.attribution;
  layout->gpus.reserve(snapshot.gpus.size());
  for (const GpuSample& gpu : snapshot.gpus) {
    layout->gpus.push_back({.uuid = gpu.uuid,
                            .parent_uuid = gpu.parent_uuid,
                            .name = gpu.name,
                            .index = gpu.index,
                            .holders = gpu.holders});
  }
  return layout;
}

// Two copies of a history may share the block. Only the first of them to append can use it.
bool CanAppend(const NodeRun& newest) { return newest.instant + 1 == newest.block->size(); }

NodePoints PointsOf(const NodeSnapshot& snapshot) {
  NodePoints points;
  points.gpus.reserve(snapshot.gpus.size());
  bool shared = false;
  size_t holders = 0;
  for (const GpuSample& gpu : snapshot.gpus) {
    points.gpus.emplace_back(gpu);
    shared |= gpu.holders.size() > 1;
    holders += gpu.holders.size();
  }
  if (!shared) return points;
  points.shares.reserve(holders);
  for (const GpuSample& gpu : snapshot.gpus) {
    for (const GpuHolder& holder : gpu.holders) {
      points.shares.push_back(static_cast<float>(holder.share));
    }
  }
  return points;
}

}  // namespace

void NodeHistory::Append(NodeSnapshot snapshot, const Limits& limits) {
  const absl::Time at = snapshot.taken_at;
  KeepPastHolders(snapshot);
  Forget(at, limits);
  const bool same_layout = !runs.empty() && Matches(*runs.back().layout(), snapshot);
  if (same_layout) snapshot.pods = runs.back().layout()->pods;  // which are equal, and kept once
  const NodePoints points = PointsOf(snapshot);
  if (same_layout && Joins(at, limits) && CanAppend(runs.back()) &&
      blocks_.back()->NewestIs(points)) {
    runs.back().last = at;
  } else {
    Push(at, same_layout ? runs.back().layout() : LayoutOf(snapshot), points);
  }
  newest = std::make_shared<const NodeSnapshot>(std::move(snapshot));
  ++generation;
}

void NodeHistory::Push(absl::Time at, std::shared_ptr<const NodeLayout> layout,
                       const NodePoints& points) {
  if (layout->attribution.state == Attribution::State::kKnown) attributed = layout;
  const bool can_append = !runs.empty() && CanAppend(runs.back()) && runs.back().layout() == layout;
  if (!can_append || !blocks_.back()->Append(points)) {
    blocks_.push_back(std::make_shared<PointBlock>(std::move(layout), points,
                                                   can_append ? blocks_.back().get() : nullptr));
  }
  const PointBlock& block = *blocks_.back();
  runs.push_back({.first = at, .last = at, .block = &block, .instant = block.size() - 1});
}

void NodeHistory::Extend(absl::Time at, const Limits& limits) {
  Forget(at, limits);
  if (Joins(at, limits)) {
    runs.back().last = at;
  } else {
    NodeRun again = runs.back();
    again.first = again.last = at;
    runs.push_back(again);
  }
  ++generation;
}

std::vector<std::pair<absl::Time, const NodeLayout*>> NodeHistory::Layouts() const {
  std::vector<std::pair<absl::Time, const NodeLayout*>> layouts;
  for (const PastLayout& past : past_layouts) layouts.emplace_back(past.first, past.layout.get());
  for (const NodeRun& run : runs) {
    const NodeLayout* const layout = run.layout().get();
    if (layouts.empty() || layouts.back().second != layout) layouts.emplace_back(run.first, layout);
  }
  return layouts;
}

// The first reading of all is a run of its own: the time to the second shows how long it was valid.
bool NodeHistory::Joins(absl::Time at, const Limits& limits) const {
  const NodeRun& newest_run = runs.back();
  const bool is_first = runs.size() == 1 && newest_run.first == newest_run.last &&
                        dropped_until == absl::InfinitePast();
  return !is_first && at - newest_run.last <= limits.join_within;
}

void NodeHistory::KeepPastHolders(const NodeSnapshot& next) {
  if (newest == nullptr) return;
  for (size_t i = 0; i < newest->gpus.size(); ++i) {
    const GpuSample& before = newest->gpus[i];
    if (!before.in_use) continue;
    const bool same_place = i < next.gpus.size() && next.gpus[i].uuid == before.uuid;
    const auto now = same_place ? next.gpus.begin() + static_cast<std::ptrdiff_t>(i)
                                : std::ranges::find(next.gpus, before.uuid, &GpuSample::uuid);
    const bool still_holds =
        now != next.gpus.end() && now->in_use && now->held_since == before.held_since;
    if (still_holds) continue;
    past_holders.push_back({.gpu_uuid = before.uuid,
                            .held_since = before.held_since,
                            .until = NewestAt(),
                            .steady_memory = before.steady_memory});
  }
}

void NodeHistory::Forget(absl::Time at, const Limits& limits) {
  const absl::Time before = at - std::min(limits.horizon, limits.readings);
  const auto first_kept = std::ranges::find_if(
      runs, [&](const NodeRun& run) { return run.last >= before || &run == &runs.back(); });
  for (auto run = runs.begin(); run != first_kept; ++run) {
    dropped_until = run->last;
    if (!past_layouts.empty() && past_layouts.back().layout == run->layout()) continue;
    past_layouts.push_back({.first = run->first, .layout = run->layout()});
  }
  runs.erase(runs.begin(), first_kept);
  if (!runs.empty()) {
    blocks_.erase(blocks_.begin(),
                  std::ranges::find(blocks_, runs.front().block,
                                    [](const auto& block) { return block.get(); }));
  }

  const absl::Time horizon = at - limits.horizon;
  while (!past_layouts.empty()) {
    const bool only = past_layouts.size() == 1;
    const absl::Time end = only ? runs.front().first : past_layouts[1].first;
    if (end >= horizon) break;
    past_layouts.erase(past_layouts.begin());
  }
  std::erase_if(past_holders, [horizon](const PastHolder& past) { return past.until < horizon; });
}

}  // namespace gpuscaler
