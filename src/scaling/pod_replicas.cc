#include "scaling/pod_replicas.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "scaling/pod_gpus.h"
#include "scaling/replica_reader.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

// Pods with equal keys are one replica. A pod by itself is on one node; a group may be on several.
struct ReplicaKey {
  std::string namespace_name;
  std::string name;  // the group's or the pod's
  std::string uid;   // the pod's; empty: not known
  std::string node;  // set if a pod has no UID

  auto operator<=>(const ReplicaKey&) const = default;
};

bool HoldsGpuNow(const PodGpus& pod) {
  return std::ranges::any_of(pod.gpus,
                             [](const GpuSeries& gpu) { return gpu.points.back().exists(); });
}

// The workload's own pods on all nodes.
class WorkloadPods {
 public:
  WorkloadPods(const DecisionInputs& inputs, const PodSelection& selection, absl::Time oldest)
      : inputs_(inputs), selection_(selection), oldest_(oldest) {}

  absl::StatusOr<std::vector<Replica>> Replicas() {
    const Trigger& trigger = inputs_.trigger;
    views_.reserve(inputs_.fleet.nodes.size());
    for (const NodeState& state : inputs_.fleet.nodes) {
      if (HasPods(state)) AddNode(state);
    }
    std::vector<Replica> replicas;
    std::vector<GpuSeries> all;
    for (auto& [key, pods] : pods_of_) {
      std::optional<absl::Time> ready_at;
      const Replica common = CommonOf(pods, ready_at);
      std::vector<GpuSeries> gpus;
      for (PodGpus& pod : pods) std::ranges::move(pod.gpus, std::back_inserter(gpus));
      ReplicaReader reader(trigger, views_, inputs_.staleness, gpus, common, ready_at);
      std::ranges::move(reader.Read(), std::back_inserter(replicas));
      std::ranges::move(gpus, std::back_inserter(all));
    }
    if (!ReadsEngines(trigger)) RETURN_IF_ERROR(CheckMetric(trigger, views_, all));
    std::stable_partition(replicas.begin(), replicas.end(),
                          [](const Replica& replica) { return replica.present; });
    return replicas;
  }

 private:
  bool HasPods(const NodeLayout& layout) const {
    return std::ranges::any_of(layout.pods, [this](const Pod& pod) { return selection_.Has(pod); });
  }

  // Now, or within the look-back.
  bool HasPods(const NodeState& state) const {
    const NodeHistory& history = *state.history;
    const NodeLayout* checked = history.attributed.get();
    if (checked != nullptr && HasPods(*checked)) return true;
    for (size_t i = history.runs.size(); i-- > 0 && history.runs[i].last >= oldest_;) {
      const NodeLayout* const layout = history.runs[i].layout().get();
      if (layout == checked) continue;
      checked = layout;
      if (HasPods(*layout)) return true;
    }
    return false;
  }

  void AddNode(const NodeState& state) {
    const NodeView& view =
        views_.emplace_back(ViewOf(state, oldest_, inputs_.fleet.now, inputs_.staleness));
    for (PodGpus& pod : GpusOfPods(inputs_.trigger, selection_, view, views_.size() - 1)) {
      const std::string& uid = pod.pod->uid;
      if (!uid.empty() && HoldsGpuNow(pod)) first_node_of_.emplace(uid, state.node);
      pods_of_[KeyOf(*pod.pod, state.node)].push_back(std::move(pod));
    }
  }

  // Returns what the samples of a replica have in common (ReplicaReader). `ready_at` becomes the
  // time at which all of its pods were first Ready; empty: not known.
  Replica CommonOf(const std::vector<PodGpus>& pods, std::optional<absl::Time>& ready_at) const {
    Replica common{.name = NameOf(*pods.front().pod),
                   .starting_since = absl::InfinitePast(),
                   .ending_since = absl::InfinitePast(),
                   .covered_since = absl::InfinitePast()};
    const bool any_holds_gpu = std::ranges::any_of(pods, HoldsGpuNow);
    const Pod* first = nullptr;
    ready_at = absl::InfinitePast();
    for (const PodGpus& pod : pods) {
      const NodeView& view = views_[pod.gpus.front().node];
      common.pods.push_back(pod.pod);
      if (std::ranges::find(common.nodes, view.name()) == common.nodes.end()) {
        common.nodes.push_back(view.name());
      }
      common.dropped_until = std::max(common.dropped_until, view.state->history->dropped_until);
      common.covered_since = std::max(common.covered_since, view.covered_since);
      if (HoldsGpuNow(pod)) SetWhyStale(*pod.pod, view, common);
      // A group begins with its newest pod, is Ready when all pods are, and ends when all end. Pods
      // that have left it do not matter.
      if (any_holds_gpu && !HoldsGpuNow(pod)) continue;
      if (first == nullptr || pod.pod->name < first->name) first = pod.pod;
      const bool known = ready_at.has_value() && pod.ready_at.has_value();
      ready_at = known ? std::optional(std::max(*ready_at, *pod.ready_at)) : std::nullopt;
      common.starting_since = std::max(common.starting_since, pod.listed_since);
      common.ending_since = std::max(common.ending_since, pod.ending_since);
    }
    if (first != nullptr && !first->uid.empty()) common.uid_hash = absl::HashOf(first->uid);
    return common;
  }

  // A pod never moves: if two nodes report one UID, one is wrong, and which one is not known. The
  // next pod of a StatefulSet has the same name and another UID.
  void SetWhyStale(const Pod& pod, const NodeView& view, Replica& common) const {
    const auto first = first_node_of_.find(pod.uid);
    if (first != first_node_of_.end() && first->second != view.name()) {
      common.is_on_two_nodes = true;
      common.why_stale =
          absl::StrCat("pod ", pod.name, " is on nodes ", first->second, " and ", view.name());
    }
    if (!common.why_stale.empty()) return;
    common.why_stale = view.why_stale.empty() ? WhyOwnersUnknown(*view.state) : view.why_stale;
  }

  ReplicaKey KeyOf(const Pod& pod, const std::string& node) const {
    const std::string group = selection_.GroupOf(pod);
    if (!group.empty()) return {pod.namespace_name, group, "", ""};
    return {pod.namespace_name, pod.name, pod.uid, pod.uid.empty() ? node : ""};
  }

  std::string NameOf(const Pod& pod) const {
    const std::string group = selection_.GroupOf(pod);
    const std::string& name = group.empty() ? pod.name : group;
    const bool own = pod.namespace_name == inputs_.scaled_object.namespace_name;
    return own ? name : absl::StrCat(pod.namespace_name, "/", name);
  }

  const DecisionInputs& inputs_;
  const PodSelection& selection_;
  const absl::Time oldest_;
  std::vector<NodeView> views_;
  std::map<ReplicaKey, std::vector<PodGpus>> pods_of_;  // in the order of their nodes
  std::map<std::string, std::string> first_node_of_;    // key: UID of a pod that holds a GPU now
};

void AddVisible(const NodeLayout& layout, const ScaledObjectRef& scaled_object,
                std::vector<const Pod*>& pods) {
  for (const Pod& pod : layout.pods) {
    if (scaled_object.MaySee(pod.namespace_name)) pods.push_back(&pod);
  }
}

std::vector<const Pod*> HoldingPods(const FleetHistory& fleet,
                                    const ScaledObjectRef& scaled_object) {
  std::vector<const Pod*> pods;
  for (const NodeState& state : fleet.nodes) {
    const NodeLayout* const known = state.history->attributed.get();
    if (known != nullptr) AddVisible(*known, scaled_object, pods);
  }
  for (const auto& other : fleet.others) AddVisible(*other, scaled_object, pods);
  return pods;
}

std::vector<const Pod*> PastPods(const FleetHistory& fleet, const ScaledObjectRef& scaled_object) {
  std::vector<const Pod*> pods;
  for (const NodeState& state : fleet.nodes) {
    for (const auto& [first, layout] : state.history->Layouts()) {
      AddVisible(*layout, scaled_object, pods);
    }
  }
  return pods;
}

void AddWithoutGpu(const NodeLayout& layout, std::set<const Pod*>& pods) {
  std::set<int> with_gpu;
  bool any_without = false;
  for (const NodeLayout::Gpu& gpu : layout.gpus) {
    for (const GpuHolder& holder : gpu.holders) {
      const bool is_without = holder.is_possible && holder.container.empty();
      any_without |= is_without;
      if (!is_without) with_gpu.insert(holder.pod);
    }
  }
  if (!any_without) return;
  for (size_t i = 0; i < layout.pods.size(); ++i) {
    if (!with_gpu.contains(static_cast<int>(i))) pods.insert(&layout.pods[i]);
  }
}

std::set<const Pod*> PodsWithoutGpu(const FleetHistory& fleet) {
  std::set<const Pod*> pods;
  std::set<const NodeLayout*> layouts;
  for (const NodeState& state : fleet.nodes) {
    layouts.insert(state.history->attributed.get());
    for (const auto& [first, layout] : state.history->Layouts()) layouts.insert(layout);
  }
  for (const auto& other : fleet.others) layouts.insert(other.get());
  layouts.erase(nullptr);
  for (const NodeLayout* const layout : layouts) AddWithoutGpu(*layout, pods);
  return pods;
}

// Includes past pods only if they may matter.
PodsWithGpus PodsSeen(const Trigger& trigger, const FleetHistory& fleet,
                      const ScaledObjectRef& scaled_object) {
  PodsWithGpus seen{.holding = HoldingPods(fleet, scaled_object), .past = {}, .without_gpu = {}};
  if (NeedsPastPods(trigger, scaled_object, seen.holding))
    seen.past = PastPods(fleet, scaled_object);
  if (trigger.workload.empty()) seen.without_gpu = PodsWithoutGpu(fleet);
  return seen;
}

}  // namespace

std::string WhyOwnersUnknown(const NodeState& state) {
  const Attribution& attribution = state.history->runs.back().layout()->attribution;
  if (attribution.state == Attribution::State::kKnown) return "";
  const std::string what =
      absl::StrCat("the holders of the GPUs of node ", state.node, " are unknown: ");
  return what + (attribution.state == Attribution::State::kUnknown ? attribution.why
                                                                   : "it queries no kubelet");
}

absl::StatusOr<PodSelection> SelectionOf(const Trigger& trigger,
                                         const ScaledObjectRef& scaled_object,
                                         const FleetHistory& fleet) {
  return SelectPods(trigger, scaled_object, PodsSeen(trigger, fleet, scaled_object));
}

std::vector<const Pod*> PastPodsOf(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                                   const FleetHistory& fleet) {
  const absl::StatusOr<PodSelection> selection = SelectionOf(trigger, scaled_object, fleet);
  if (!selection.ok()) return {};
  std::vector<const Pod*> pods = PastPods(fleet, scaled_object);
  std::erase_if(pods, [&](const Pod* pod) { return !selection->Has(*pod); });
  return pods;
}

absl::StatusOr<Replicas> ReplicasOfPods(const DecisionInputs& inputs, absl::Time oldest) {
  const Trigger& trigger = inputs.trigger;
  const ScaledObjectRef& scaled_object = inputs.scaled_object;
  const FleetHistory& fleet = inputs.fleet;
  RETURN_IF_ERROR(CheckIndex(trigger, fleet));
  ASSIGN_OR_RETURN(const PodSelection selection, SelectionOf(trigger, scaled_object, fleet));
  Replicas workload_replicas{.from = selection.description(), .ambiguity = selection.ambiguity()};
  WorkloadPods pods(inputs, selection, oldest);
  ASSIGN_OR_RETURN(workload_replicas.replicas, pods.Replicas());
  if (std::ranges::none_of(workload_replicas.replicas, &Replica::present)) {
    workload_replicas.zero_status =
        CheckOwnersResolved(trigger, scaled_object, selection, HoldingPods(fleet, scaled_object));
  }
  return workload_replicas;
}

}  // namespace gpuscaler
