#include "simulate/cluster_loop.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/duration_text.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kStep = absl::Seconds(1);
constexpr int kStepsAReading = 2;
constexpr absl::Duration kSettled = absl::Minutes(20);
constexpr StalenessLimits kStaleness{.stale_after = absl::Seconds(6), .grace = absl::Seconds(15)};
const absl::Time kStart = absl::FromUnixSeconds(1'767'225'600);

}  // namespace

void ClusterScaler::Observe(std::vector<NodeSnapshot> snapshots) {
  nodes_.resize(snapshots.size());
  for (size_t i = 0; i < snapshots.size(); ++i) {
    Node& node = nodes_[i];
    now_ = snapshots[i].taken_at;
    node.memory.Annotate(snapshots[i]);
    auto next = std::make_shared<NodeHistory>(*node.history);
    next->Append(std::move(snapshots[i]),
                 {.horizon = kLongestWindow, .join_within = staleness_.stale_after});
    node.history = std::move(next);
  }
  is_decided_ = false;
}

const Decision& ClusterScaler::Decided() {
  if (is_decided_) return decision_;
  FleetHistory fleet{.generation = 1, .now = now_};
  for (const Node& node : nodes_) {
    fleet.nodes.push_back(
        {.node = node.history->Newest().node, .history = node.history, .received_at = now_});
    fleet.asks_kubelets |= AsksKubelet(fleet.nodes.back());
  }
  decision_ = Decide(trigger_, {.namespace_name = "team-a", .name = "llm", .opened = {}}, fleet,
                     staleness_);
  is_decided_ = true;
  return decision_;
}

absl::StatusOr<double> ClusterScaler::GetMetrics() {
  if (!Decided().status.ok()) return Decided().status;
  return Decided().value;
}

absl::StatusOr<bool> ClusterScaler::IsActive() {
  if (!Decided().status.ok()) return Decided().status;
  return Decided().active;
}

ClusterLoop::ClusterLoop(const ClusterScenario& scenario, Trigger trigger,
                         std::unique_ptr<WorkloadController> controller)
    : scenario_(scenario),
      cluster_(scenario.cluster, kStart),
      controller_(std::move(controller)),
      scaler_(std::move(trigger), kStaleness),
      keda_(scenario.scaled_object,
            {{&scaler_, scaler_.trigger().target, scaler_.trigger().target_type}}),
      load_(scenario.load),
      replicas_(scenario.replicas),
      least_(scenario.replicas),
      most_(scenario.replicas) {
  while (cluster_.Available() < replicas_) Step();
  RunFor(kSettled);
  settled_at_ = cluster_.now();
  least_ = most_ = replicas_;
  changes_ = {{settled_at_, replicas_}};
}

void ClusterLoop::RunFor(absl::Duration duration) {
  for (const absl::Time end = cluster_.now() + duration; cluster_.now() < end;) Step();
}

void ClusterLoop::Step() {
  cluster_.Advance(cluster_.now() + kStep);
  controller_->Sync(replicas_, cluster_);
  if (++steps_ % kStepsAReading == 0) {
    scaler_.Observe(cluster_.Snapshots(load_ * scaler_.trigger().target));
  }
  // The scenario is that of a settled workload: nothing scales before it is one.
  if (settled_at_ == absl::InfiniteFuture() && cluster_.Available() < replicas_) return;
  Scale(keda_.Step(cluster_.now(), replicas_, cluster_.Available(), cluster_.Active()));
}

void ClusterLoop::Scale(int replicas) {
  if (replicas == replicas_) return;
  replicas_ = replicas;
  least_ = std::min(least_, replicas);
  most_ = std::max(most_, replicas);
  changes_.emplace_back(cluster_.now(), replicas);
}

std::string ClusterLoop::Timeline() const {
  return absl::StrJoin(changes_, ", ", [this](std::string* text, const auto& change) {
    absl::StrAppend(text, DurationText(change.first - settled_at_), " ", change.second);
  });
}

}  // namespace gpuscaler
