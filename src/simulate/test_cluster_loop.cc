#include "simulate/test_cluster_loop.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/duration_text.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kStep = absl::Seconds(1);
constexpr int kStepsAReading = 2;
constexpr absl::Duration kSettled = absl::Minutes(20);
constexpr StalenessLimits kStaleness{.stale_after = absl::Seconds(6), .grace = absl::Seconds(15)};
const absl::Time kStart = absl::FromUnixSeconds(1'767'225'600);
constexpr char kClusterNamespace[] = "team-a";
EngineQuery WithFullLookBack(EngineQuery query) {
  query.look_back = kLongestWindow;
  return query;
}

constexpr double kBusyEnginePercent = 97, kStartingEnginePercent = 15;

}  // namespace

ClusterScaler::ClusterScaler(Trigger trigger, std::string scaled_object, ValueRule value)
    : trigger_(std::move(trigger)),
      scaled_object_(std::move(scaled_object)),
      value_(std::move(value)),
      source_(SourceOf(trigger_, kClusterNamespace)),
      query_(SourceQueryOf(trigger_, kStaleness)),
      stored_query_(WithFullLookBack(query_)),
      signals_({.max_gap = kStaleness.stale_after}, [] {}) {}

void ClusterScaler::AddReadings(std::vector<NodeSnapshot> snapshots,
                                const std::vector<ReadEngine>& engines) {
  nodes_.resize(snapshots.size());
  for (size_t i = 0; i < snapshots.size(); ++i) {
    Node& node = nodes_[i];
    now_ = snapshots[i].taken_at;
    node.memory.Annotate(snapshots[i]);
    auto next = std::make_shared<NodeHistory>(*node.history);
    next->Append(std::move(snapshots[i]),
                 {.horizon = kLongestWindow, .join_within = kStaleness.stale_after});
    node.history = std::move(next);
  }
  if (source_.has_value()) StoreReadings(*source_, stored_query_, engines, now_, signals_);
  is_decided_ = false;
}

const Decision& ClusterScaler::Decided() {
  if (is_decided_) return decision_;
  FleetHistory fleet{.generation = 1, .now = now_};
  for (const Node& node : nodes_) {
    fleet.nodes.push_back(
        {.node = node.history->Newest().node, .history = node.history, .received_at = now_});
    fleet.queries_kubelets |= QueriesKubelet(fleet.nodes.back());
  }
  const ScaledObjectRef scaled_object{
      .namespace_name = kClusterNamespace, .name = scaled_object_, .allowed_namespaces = {}};
  std::optional<SignalHistory> signals;
  if (source_.has_value()) {
    // A decision states how far the next one looks back.
    EngineQuery query = query_;
    if (decision_.look_back > absl::ZeroDuration()) {
      query.look_back = std::max(query.look_back, decision_.look_back + kStaleness.stale_after);
    }
    signals = signals_.HistoryOf(*source_, query, now_);
  }
  decision_ =
      Decide(trigger_, scaled_object, fleet, signals.has_value() ? &*signals : nullptr, kStaleness);
  is_decided_ = true;
  return decision_;
}

absl::StatusOr<double> ClusterScaler::GetMetrics() {
  if (!Decided().status.ok()) return Decided().status;
  return value_ ? value_(trigger_, Decided()) : Decided().value;
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
      scaler_(std::make_shared<ClusterScaler>(std::move(trigger), scenario.scaled_object_name,
                                              scenario.value)),
      keda_(scenario.scaled_object, Triggers()),
      load_(0),
      replicas_(scenario.replicas),
      least_(scenario.replicas),
      most_(scenario.replicas) {
  if (scenario_.engines.preset != nullptr) engines_.emplace(*scenario_.engines.preset, kStart);
  SetLoad(scenario_.load);
  while (cluster_.Available() < replicas_) Step();
  RunFor(kSettled);
  settled_at_ = cluster_.now();
  least_ = most_ = replicas_;
  changes_ = {{settled_at_, replicas_}};
}

std::vector<KedaTrigger> ClusterLoop::Triggers() const {
  std::vector<KedaTrigger> triggers = {{scaler_, trigger().target, trigger().target_type}};
  if (scenario_.wakes_from_zero) triggers.push_back({.scaler = wake_});
  return triggers;
}

void ClusterLoop::RunFor(absl::Duration duration) {
  for (const absl::Time end = cluster_.now() + duration; cluster_.now() < end;) Step();
}

void ClusterLoop::SetLoad(double targets) {
  load_ = targets;
  if (engines_.has_value()) engines_->SetRate(targets * scenario_.engines.requests_per_second);
}

std::vector<NodeSnapshot> ClusterLoop::Snapshots() const {
  if (engines_.has_value()) {
    return cluster_.Snapshots([this](const SimulatedPod& pod) {
      if (!pod.ready) return kStartingEnginePercent;
      return engines_->IsBusy(pod) ? kBusyEnginePercent : 0.0;
    });
  }
  const double each = load_ * trigger().target / std::max(1, cluster_.Available());
  return cluster_.Snapshots(
      [each](const SimulatedPod& pod) { return pod.IsAvailable() ? std::min(100.0, each) : 0.0; });
}

void ClusterLoop::Step() {
  cluster_.Advance(cluster_.now() + kStep);
  controller_->Sync(replicas_, cluster_);
  if (engines_.has_value()) engines_->Advance(cluster_);
  if (++steps_ % kStepsAReading == 0) {
    scaler_->AddReadings(Snapshots(), engines_.has_value() ? engines_->AnsweringEngines()
                                                           : std::vector<ReadEngine>());
  }
  wake_->active = load_ > 0 && cluster_.Available() == 0;
  // Scenarios start from a settled workload, so nothing scales before all its pods are available.
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
