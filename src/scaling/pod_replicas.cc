#include "scaling/pod_replicas.h"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "scaling/pod_gpus.h"
#include "scaling/replica_reader.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

// What makes two pods one replica. A pod by itself is on one node; a group may be on several.
struct ReplicaKey {
  std::string namespace_name;
  std::string name;  // the group's or the pod's
  std::string uid;   // of a pod; empty: not known
  std::string node;  // of a pod

  auto operator<=>(const ReplicaKey&) const = default;
};

struct FoundReplica {
  std::vector<GpuSeries> gpus;
  ReplicaPlace place;
  bool any_there = false;  // a pod of it holds a GPU now
};

bool HoldsOneNow(const PodGpus& pod) {
  return std::ranges::any_of(pod.gpus,
                             [](const GpuSeries& gpu) { return gpu.points.back().is_there(); });
}

// The workload's own pods of all nodes, and nothing of anybody else's.
class WorkloadPods {
 public:
  WorkloadPods(const Trigger& trigger, const Asker& asker, const PodSelection& selection,
               const FleetHistory& fleet, const Patience& patience)
      : trigger_(trigger),
        asker_(asker),
        selection_(selection),
        fleet_(fleet),
        patience_(patience) {}

  absl::StatusOr<std::vector<Replica>> Replicas() {
    views_.reserve(fleet_.nodes.size());
    for (const NodeTrack& track : fleet_.nodes) {
      if (HasPods(track)) AddNode(track);
    }
    std::vector<GpuSeries> all;
    for (const auto& [key, found] : found_) {
      all.insert(all.end(), found.gpus.begin(), found.gpus.end());
    }
    if (!ReadsEngines(trigger_)) RETURN_IF_ERROR(CheckMetric(trigger_, views_, all));
    std::vector<Replica> replicas;
    for (const auto& [key, found] : found_) {
      ReplicaReader reader(trigger_, views_, patience_, found.gpus, found.place);
      std::ranges::move(reader.Read(), std::back_inserter(replicas));
    }
    std::stable_partition(replicas.begin(), replicas.end(),
                          [](const Replica& replica) { return replica.present; });
    return replicas;
  }

 private:
  bool HasPods(const NodeLayout& layout) const {
    return std::ranges::any_of(layout.pods, [this](const Pod& pod) { return selection_.Has(pod); });
  }

  // Now, or within what is looked back on.
  bool HasPods(const NodeTrack& track) const {
    const NodeHistory& history = *track.history;
    const NodeLayout* asked = history.attributed.get();
    if (asked != nullptr && HasPods(*asked)) return true;
    const absl::Time oldest = OldestLookedAt(trigger_, fleet_.now, patience_);
    for (size_t i = history.stretches.size(); i-- > 0 && history.stretches[i].last >= oldest;) {
      const NodeLayout* const layout = history.stretches[i].layout().get();
      if (layout == asked) continue;
      asked = layout;
      if (HasPods(*layout)) return true;
    }
    return false;
  }

  void AddNode(const NodeTrack& track) {
    const NodeView& view = views_.emplace_back(ViewOf(track, trigger_, fleet_.now, patience_));
    const std::string unknown = WhyOwnersUnknown(track);
    for (PodGpus& pod : GpusOfPods(trigger_, selection_, view, views_.size() - 1)) {
      FoundReplica& found = found_[KeyOf(*pod.pod, track.node)];
      ReplicaPlace& place = found.place;
      const bool first = found.gpus.empty();
      place.by_owner = true;
      place.name = NameOf(*pod.pod);
      place.pods.push_back(pod.pod);
      if (std::ranges::find(place.node_names, track.node) == place.node_names.end()) {
        place.node_names.push_back(track.node);
      }
      if (place.mute.empty() && HoldsOneNow(pod)) {
        place.mute = view.mute.empty() ? unknown : view.mute;
      }
      place.forgotten_until = std::max(place.forgotten_until, track.history->forgotten_until);
      place.covered_since =
          first ? view.covered_since : std::max(place.covered_since, view.covered_since);
      AddStart(pod, first, found);
      std::ranges::move(pod.gpus, std::back_inserter(found.gpus));
    }
  }

  // A group begins with its newest pod, and is Ready when all are; those that have left it do not
  // matter.
  static void AddStart(const PodGpus& pod, bool first, FoundReplica& found) {
    std::optional<absl::Time>& ready_at = found.place.ready_at;
    absl::Time& listed_since = found.place.listed_since;
    const bool there = HoldsOneNow(pod);
    if (first || (there && !found.any_there)) {
      ready_at = pod.ready_at;
      listed_since = pod.listed_since;
    } else if (there || !found.any_there) {
      const bool known = ready_at.has_value() && pod.ready_at.has_value();
      ready_at = known ? std::optional(std::max(*ready_at, *pod.ready_at)) : std::nullopt;
      listed_since = std::max(listed_since, pod.listed_since);
    }
    found.any_there |= there;
  }

  ReplicaKey KeyOf(const Pod& pod, const std::string& node) const {
    const std::string group = selection_.GroupOf(pod);
    if (!group.empty()) return {pod.namespace_name, group, "", ""};
    return {pod.namespace_name, pod.name, pod.uid, node};
  }

  std::string NameOf(const Pod& pod) const {
    const std::string group = selection_.GroupOf(pod);
    const std::string& name = group.empty() ? pod.name : group;
    const bool own = pod.namespace_name == asker_.namespace_name;
    return own ? name : absl::StrCat(pod.namespace_name, "/", name);
  }

  const Trigger& trigger_;
  const Asker& asker_;
  const PodSelection& selection_;
  const FleetHistory& fleet_;
  const Patience& patience_;
  std::vector<NodeView> views_;
  std::map<ReplicaKey, FoundReplica> found_;
};

void AddVisible(const NodeLayout& layout, const Asker& asker, std::vector<const Pod*>& pods) {
  for (const Pod& pod : layout.pods) {
    if (asker.MaySee(pod.namespace_name)) pods.push_back(&pod);
  }
}

// As far as is known.
std::vector<const Pod*> HoldingPods(const FleetHistory& fleet, const Asker& asker) {
  std::vector<const Pod*> pods;
  for (const NodeTrack& track : fleet.nodes) {
    const NodeLayout* const known = track.history->attributed.get();
    if (known != nullptr) AddVisible(*known, asker, pods);
  }
  for (const auto& other : fleet.others) AddVisible(*other, asker, pods);
  return pods;
}

std::vector<const Pod*> PastPods(const FleetHistory& fleet, const Asker& asker) {
  std::vector<const Pod*> pods;
  for (const NodeTrack& track : fleet.nodes) {
    const NodeLayout* seen = nullptr;
    for (const PastLayout& past : track.history->past_layouts) {
      AddVisible(*past.layout, asker, pods);
      seen = past.layout.get();
    }
    for (const NodeStretch& stretch : track.history->stretches) {
      if (stretch.layout().get() != seen) AddVisible(*stretch.layout(), asker, pods);
      seen = stretch.layout().get();
    }
  }
  return pods;
}

// The past where it may matter.
SeenPods PodsSeen(const Trigger& trigger, const FleetHistory& fleet, const Asker& asker) {
  SeenPods seen{.holding = HoldingPods(fleet, asker), .past = {}};
  if (AsksForThePast(trigger, asker, seen.holding)) seen.past = PastPods(fleet, asker);
  return seen;
}

}  // namespace

std::string WhyOwnersUnknown(const NodeTrack& track) {
  const Attribution& attribution = track.history->stretches.back().layout()->attribution;
  if (attribution.state == Attribution::State::kKnown) return "";
  const std::string what = absl::StrCat("who holds the GPUs of node ", track.node, " is unknown: ");
  return what + (attribution.state == Attribution::State::kUnknown ? attribution.why
                                                                   : "it asks no kubelet");
}

absl::StatusOr<PodSelection> SelectionOf(const Trigger& trigger, const Asker& asker,
                                         const FleetHistory& fleet) {
  return SelectPods(trigger, asker, PodsSeen(trigger, fleet, asker));
}

absl::StatusOr<Population> ReplicasOfPods(const Trigger& trigger, const Asker& asker,
                                          const FleetHistory& fleet, const Patience& patience) {
  RETURN_IF_ERROR(CheckIndex(trigger, fleet));
  ASSIGN_OR_RETURN(const PodSelection selection, SelectionOf(trigger, asker, fleet));
  Population population{.from = selection.what(), .doubt = selection.doubt()};
  WorkloadPods pods(trigger, asker, selection, fleet, patience);
  ASSIGN_OR_RETURN(population.replicas, pods.Replicas());
  return population;
}

}  // namespace gpuscaler
