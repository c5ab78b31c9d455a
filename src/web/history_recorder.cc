#include "web/history_recorder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "explain.pb.h"

namespace gpuscaler {
namespace {

bool HoldsGpus(const Contribution& contribution) {
  return IsCounted(contribution) || contribution.state == Contribution::State::kStarting ||
         contribution.state == Contribution::State::kTerminating;
}

// A GPU that several replicas share counts once. Returns nothing if replicas hold GPUs that are all
// unknown, as those of engines without pods are.
std::optional<double> CountGpus(const Decision& decision) {
  std::set<std::string> uuids;
  bool has_holders = false;
  for (const Contribution& contribution : decision.contributions) {
    if (!HoldsGpus(contribution)) continue;
    has_holders = true;
    uuids.insert(contribution.gpus.begin(), contribution.gpus.end());
  }
  if (has_holders && uuids.empty()) return std::nullopt;
  return static_cast<double>(uuids.size());
}

std::optional<double> MeanCapacity(const Demand& demand) {
  if (demand.capacities.empty()) return std::nullopt;
  double sum = 0;
  for (const ReplicaCapacity& capacity : demand.capacities) sum += capacity.requests_per_second;
  return sum / static_cast<double>(demand.capacities.size());
}

absl::Time StepBegin(absl::Time time) {
  return absl::UnixEpoch() + absl::Floor(time - absl::UnixEpoch(), kHistoryStep);
}

}  // namespace

HistoryPoint PointOf(const Decision& decision, double target) {
  HistoryPoint point{.code = decision.status.code(), .target = target};
  if (!decision.status.ok()) return point;
  point.value = decision.value;
  point.active = decision.active ? 1 : 0;
  if (decision.by_queue) return point;
  point.replicas = decision.replicas;
  point.starting = decision.starting;
  point.unreadable = decision.unreadable;
  point.terminating = decision.terminating;
  point.limit = decision.batch_limit;
  point.gpus = CountGpus(decision);
  if (decision.demand.has_value()) {
    point.capacity = MeanCapacity(*decision.demand);
    point.demand = decision.demand->replicas;
  }
  return point;
}

void HistoryRecorder::Tick() {
  const absl::Time now = clock_.Now();
  const absl::Time step = StepBegin(now);
  if (step != step_) {
    const bool is_next = step == step_ + kHistoryStep;
    while (is_next && recorded_ < live_.size()) Record(live_[recorded_++]);
    BeginStep(step);
  }
  // The next tick is expected after the time since the last one.
  const absl::Duration until_next = std::min(now - ticked_at_, kHistoryStep);
  ticked_at_ = now;
  const double part = std::min(1.0, absl::FDivDuration(now - step_ + until_next, kHistoryStep));
  const auto due = static_cast<size_t>(std::ceil(part * static_cast<double>(live_.size())));
  while (recorded_ < due) Record(live_[recorded_++]);
}

void HistoryRecorder::BeginStep(absl::Time step) {
  step_ = step;
  live_ = service_.LiveTriggers();
  recorded_ = 0;
  history_.Expire(step);
  std::map<TriggerKey, KnownReplicas> known_replicas;
  for (const LiveTrigger& live : live_) {
    if (auto known = known_replicas_.extract(KeyOf(live))) known_replicas.insert(std::move(known));
  }
  known_replicas_ = std::move(known_replicas);
}

void HistoryRecorder::Record(const LiveTrigger& live) {
  const absl::StatusOr<std::shared_ptr<const CachedDecision>> evaluated = service_.Evaluate(live);
  const TriggerKey key = KeyOf(live);
  HistoryPoint point{.code = evaluated.status().code(), .target = live.parsed->spec.target};
  if (evaluated.ok()) {
    const Decision& decision = (*evaluated)->decision;
    point = PointOf(decision, live.parsed->spec.target);
    const bool counts_replicas = decision.status.ok() && !decision.by_queue;
    if (counts_replicas) point.replaced = known_replicas_[key].CountReplaced(decision, step_);
  }
  point.at = step_;
  history_.Record(key, point);
  history_.RecordExplanation(key, step_, service_.ExplanationOf(live, evaluated));
}

}  // namespace gpuscaler
