#include "scaling/pod_gpus.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

bool IsKnown(const NodeLayout& layout) {
  return layout.attribution.state == Attribution::State::kKnown;
}

bool IsSame(const Pod& a, const Pod& b) {
  return a.name == b.name && a.namespace_name == b.namespace_name &&
         (a.uid == b.uid || a.uid.empty() || b.uid.empty());
}

const Pod* FindPod(const NodeLayout& layout, const Pod& pod) {
  const auto found =
      std::ranges::find_if(layout.pods, [&](const Pod& other) { return IsSame(other, pod); });
  return found == layout.pods.end() ? nullptr : &*found;
}

// Returns the layout with the holders for each run of the view: its own, or the last one before
// with known holders; null: there is none.
std::vector<const NodeLayout*> KnownLayouts(const NodeView& view) {
  const NodeHistory& history = *view.state->history;
  const NodeLayout* known = nullptr;
  for (const PastLayout& past : history.past_layouts) {
    if (IsKnown(*past.layout)) known = past.layout.get();
  }
  const bool any_past = known != nullptr;
  for (const NodeRun& run : history.runs) {
    if (&run == view.runs.data()) break;
    if (IsKnown(*run.layout())) known = run.layout().get();
  }
  const bool any_known =
      std::ranges::any_of(history.runs, [](const NodeRun& run) { return IsKnown(*run.layout()); });
  if (!any_known && !any_past) known = history.attributed.get();
  std::vector<const NodeLayout*> layouts;
  for (const NodeRun& run : view.runs) {
    if (IsKnown(*run.layout())) known = run.layout().get();
    layouts.push_back(known);
  }
  return layouts;
}

// As of NodeHistory::Layouts().
using TimedLayouts = std::vector<std::pair<absl::Time, const NodeLayout*>>;

// Returns the first time at which `predicate` holds. InfinitePast if it held from the beginning or
// since a time of which nothing is known. InfiniteFuture if it never did.
template <typename Predicate>
absl::Time FirstTime(const TimedLayouts& layouts, Predicate predicate) {
  enum { kUnknown, kFalse } before = kUnknown;
  for (const auto& [first, layout] : layouts) {
    const std::optional<bool> is_so = IsKnown(*layout) ? predicate(*layout) : std::nullopt;
    if (is_so.value_or(false)) return before == kFalse ? first : absl::InfinitePast();
    before = is_so ? kFalse : kUnknown;
  }
  return absl::InfiniteFuture();
}

std::optional<absl::Time> ReadyAt(const TimedLayouts& layouts, const Pod& pod) {
  bool known = false;
  const absl::Time at = FirstTime(layouts, [&](const NodeLayout& layout) -> std::optional<bool> {
    const Pod* const then = FindPod(layout, pod);
    if (then == nullptr) return false;
    const std::optional<bool> ready = then->was_ready ? true : then->ready;
    known |= ready.has_value();
    return ready;
  });
  return known ? std::optional(at) : std::nullopt;
}

absl::Time EndingSince(const TimedLayouts& layouts, const Pod& pod) {
  return FirstTime(layouts, [&](const NodeLayout& layout) -> std::optional<bool> {
    const Pod* const then = FindPod(layout, pod);
    return then != nullptr && then->is_terminating.value_or(false);
  });
}

// Returns when the pod was first found; InfinitePast: not in what is remembered.
absl::Time FirstFound(const TimedLayouts& layouts, const Pod& pod) {
  for (const auto& [first, layout] : layouts) {
    if (IsKnown(*layout) && FindPod(*layout, pod) != nullptr) return first;
  }
  return absl::InfinitePast();
}

bool IsHeldBy(const NodeLayout::Gpu& gpu, const NodeLayout& layout, const Pod& pod) {
  return std::ranges::any_of(gpu.holders, [&](const GpuHolder& holder) {
    return IsSame(layout.pods[static_cast<size_t>(holder.pod)], pod);
  });
}

// The result reaches back only as far as the history. The pod's processes may come and go. A GPU
// that had not answered yet may have been this one.
absl::Time FirstHeld(const TimedLayouts& layouts, const Pod& pod, absl::string_view uuid) {
  const absl::Time at = FirstTime(layouts, [&](const NodeLayout& layout) {
    return std::optional(std::ranges::any_of(layout.gpus, [&](const NodeLayout::Gpu& gpu) {
      return IsHeldBy(gpu, layout, pod) &&
             (gpu.uuid == uuid || gpu.uuid == UnknownGpuUuid(gpu.index));
    }));
  });
  return at == absl::InfiniteFuture() ? absl::InfinitePast() : at;
}

// The node may know a holder from before the history.
absl::Time HeldSince(const GpuSeries& series) {
  if (series.pod_since != absl::InfinitePast()) return series.pod_since;
  const auto first = std::ranges::find_if(series.points, &GpuPointView::exists);
  return first == series.points.end() ? absl::InfinitePast() : first->held_since();
}

// A pod's part of one GPU under one layout.
struct Holding {
  size_t pod;                         // index in `pods_`
  size_t series;                      // index in PodGpus::gpus
  size_t position;                    // index of the GPU in the layout
  int parent;                         // index of the GPU that it is an instance of; -1: none
  float instances;                    // number of the parent's instances
  std::vector<size_t> share_indices;  // NodeRun::share(), one for each container of the pod
  float equal_share;                  // used for points without shares
  bool is_possible;                   // GpuHolder::is_possible
};

// Returns the point of a GPU of `known` in a run that may have another layout.
GpuPointView PointAt(const NodeRun& at, const NodeLayout& known, size_t position) {
  if (at.layout().get() == &known) return at.point(position);
  const int own = PositionOf(at.layout()->gpus, known.gpus[position].uuid, position);
  return own < 0 ? GpuPointView() : at.point(static_cast<size_t>(own));
}

class NodePods {
 public:
  NodePods(const Trigger& trigger, const PodSelection& selection, const NodeView& view, size_t node)
      : trigger_(trigger),
        reading_(InfoOf(trigger.metric).reading),
        selection_(selection),
        view_(view),
        node_(node),
        kept_layouts_(view.state->history->Layouts()) {}

  std::vector<PodGpus> Find() {
    const std::vector<const NodeLayout*> layouts = KnownLayouts(view_);
    const NodeLayout* resolved = nullptr;
    for (size_t i = 0; i < layouts.size(); ++i) {
      if (layouts[i] == nullptr) continue;
      if (layouts[i] != resolved) Resolve(*layouts[i]);
      resolved = layouts[i];
      for (const Holding& holding : holdings_) SetPoint(i, *resolved, holding);
    }
    for (PodGpus& pod : pods_) {
      pod.ready_at = ReadyAt(kept_layouts_, *pod.pod);
      if (pod.is_terminating) pod.ending_since = EndingSince(kept_layouts_, *pod.pod);
      if (pod.listed_since == absl::InfinitePast()) {
        pod.listed_since = FirstFound(kept_layouts_, *pod.pod);
      }
      for (GpuSeries& series : pod.gpus) series.pod_since = HeldSince(series);
    }
    return std::move(pods_);
  }

 private:
  void Resolve(const NodeLayout& layout) {
    holdings_.clear();
    size_t share_index = 0;
    for (size_t position = 0; position < layout.gpus.size(); ++position) {
      const NodeLayout::Gpu& gpu = layout.gpus[position];
      const bool in_scope = trigger_.gpu_index < 0 || gpu.index == trigger_.gpu_index;
      for (const GpuHolder& holder : gpu.holders) {
        const Pod& pod = layout.pods[static_cast<size_t>(holder.pod)];
        if (in_scope && selection_.Has(pod)) AddHolding(layout, position, holder, share_index);
        ++share_index;
      }
    }
  }

  void AddHolding(const NodeLayout& layout, size_t position, const GpuHolder& holder,
                  size_t share_index) {
    const NodeLayout::Gpu& gpu = layout.gpus[position];
    const Pod& pod = layout.pods[static_cast<size_t>(holder.pod)];
    const size_t pod_index = IndexOf(pod);
    pods_[pod_index].listed_since = pod.listed_since.value_or(absl::InfinitePast());
    pods_[pod_index].is_terminating = pod.is_terminating.value_or(false);
    const size_t series = SeriesOf(gpu, pod, pod_index);
    const auto known = std::ranges::count(gpu.holders, false, &GpuHolder::is_possible);
    const float equal_share = holder.is_possible ? 0 : 1 / static_cast<float>(known);
    const auto other_container = std::ranges::find_if(holdings_, [&](const Holding& holding) {
      return holding.pod == pod_index && holding.series == series;
    });
    if (other_container != holdings_.end()) {
      other_container->share_indices.push_back(share_index);
      other_container->equal_share += equal_share;
      return;
    }
    const std::string& parent = gpu.parent_uuid;
    holdings_.push_back({.pod = pod_index,
                         .series = series,
                         .position = position,
                         .parent = parent.empty() ? -1 : PositionOf(layout.gpus, parent, 0),
                         .instances = static_cast<float>(
                             parent.empty() ? 0
                                            : std::ranges::count(layout.gpus, parent,
                                                                 &NodeLayout::Gpu::parent_uuid)),
                         .share_indices = {share_index},
                         .equal_share = equal_share,
                         .is_possible = holder.is_possible});
  }

  size_t IndexOf(const Pod& pod) {
    const auto found =
        std::ranges::find_if(pods_, [&](const PodGpus& other) { return IsSame(*other.pod, pod); });
    if (found != pods_.end()) return static_cast<size_t>(found - pods_.begin());
    pods_.push_back({.pod = &pod});
    return pods_.size() - 1;
  }

  size_t SeriesOf(const NodeLayout::Gpu& gpu, const Pod& pod, size_t pod_index) {
    std::vector<GpuSeries>& gpus = pods_[pod_index].gpus;
    const auto found = std::ranges::find(gpus, gpu.uuid, &GpuSeries::uuid);
    if (found != gpus.end()) return static_cast<size_t>(found - gpus.begin());
    const size_t runs = view_.runs.size();
    gpus.push_back({.name = NameOf(view_.name(), gpu),
                    .uuid = gpu.uuid,
                    .node = node_,
                    .position = PositionOf(view_.Layout().gpus, gpu.uuid, 0),
                    .points = std::vector<GpuPointView>(runs),
                    .shares = std::vector<float>(runs)});
    gpus.back().pod_since = FirstHeld(kept_layouts_, pod, gpu.uuid);
    return gpus.size() - 1;
  }

  void SetPoint(size_t run, const NodeLayout& known, const Holding& holding) {
    const NodeRun& at = view_.runs[run];
    GpuPointView point = PointAt(at, known, holding.position);
    if (!point.exists()) return;
    float share = holding.equal_share;
    if (at.layout().get() == &known && at.has_shares()) {
      share = 0;
      for (const size_t index : holding.share_indices) share += at.share(index);
    }
    if (holding.parent >= 0 && !point.Has(reading_)) {
      const GpuPointView parent = PointAt(at, known, static_cast<size_t>(holding.parent));
      if (parent.exists() && parent.Has(reading_)) {
        point = parent;
        share /= holding.instances;
      }
    }
    GpuSeries& series = pods_[holding.pod].gpus[holding.series];
    series.points[run] = point;
    series.shares[run] = holding.is_possible ? GpuSeries::kNoKnownShare : share;
  }

  const Trigger& trigger_;
  const GpuReading reading_;
  const PodSelection& selection_;
  const NodeView& view_;
  const size_t node_;
  const TimedLayouts kept_layouts_;
  std::vector<PodGpus> pods_;
  std::vector<Holding> holdings_;  // those of the layout resolved last
};

}  // namespace

std::vector<PodGpus> GpusOfPods(const Trigger& trigger, const PodSelection& selection,
                                const NodeView& view, size_t node) {
  return NodePods(trigger, selection, view, node).Find();
}

}  // namespace gpuscaler
