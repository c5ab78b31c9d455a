#include "scaling/window_load.h"

#include <algorithm>

namespace gpuscaler {
namespace {

// Extends the last step if the load is the same.
void AddStep(const LoadStep& step, std::vector<LoadStep>& steps) {
  if (step.end <= step.begin) return;
  if (!steps.empty() && steps.back().end == step.begin && steps.back().load == step.load) {
    steps.back().end = step.end;
    return;
  }
  steps.push_back(step);
}

}  // namespace

bool AveragesTheSum(const Trigger& trigger) {
  return trigger.replica_aggregation == ReplicaAggregation::kAvg &&
         trigger.window_aggregation == WindowAggregation::kAvg;
}

absl::Time CountedUntil(const Replica& replica, absl::Time now) {
  return std::min(replica.ending_since, replica.present ? now : replica.samples.back().at);
}

std::vector<LoadStep> StepsOf(const Trigger& trigger, const Replica& replica, LoadRule load_rule,
                              absl::Time begin, absl::Time now, std::optional<double> unread) {
  std::vector<LoadStep> steps;
  const absl::Time from = std::max(begin, replica.counted_since);
  const absl::Time until = std::min(CountedUntil(replica, now), now);
  if (from >= until) return steps;
  const Samples since_start = From(replica.samples, replica.started_at);
  absl::Time reached = from;
  std::optional<double> last;
  for (const ReplicaSample& sample : since_start) {
    const std::optional<double> value = ValueOf(trigger, load_rule, sample);
    if (sample.at <= reached) {
      if (value) last = value;
      continue;
    }
    // The reading that first showed the deletion does not count for the time before.
    if (reached >= until || sample.at >= replica.ending_since) break;
    const absl::Time end = std::min(sample.at, until);
    const bool is_known_since = last.has_value() && unread.has_value();
    if (is_known_since && sample.since > reached) {
      const absl::Time unreadable_until = std::min(sample.since, end);
      AddStep({.begin = reached, .end = unreadable_until, .load = *unread}, steps);
      reached = unreadable_until;
    }
    if (!value && !is_known_since) continue;
    AddStep({.begin = reached, .end = end, .load = value.value_or(unread.value_or(0))}, steps);
    reached = end;
    if (value) last = value;
  }
  if (last) AddStep({.begin = reached, .end = until, .load = *last}, steps);
  return steps;
}

double MeanOf(std::span<const LoadStep> steps, absl::Duration window) {
  double sum = 0;
  for (const LoadStep& step : steps)
    sum += absl::ToDoubleSeconds(step.end - step.begin) * step.load;
  return sum / absl::ToDoubleSeconds(window);
}

void MeanLoad::Add(std::span<const LoadStep> steps) {
  for (const LoadStep& step : steps) {
    edges_.push_back({.at = step.begin, .load = step.load, .replicas = 1});
    edges_.push_back({.at = step.end, .load = -step.load, .replicas = -1});
  }
}

void MeanLoad::Sort() {
  std::ranges::stable_sort(edges_, {}, &Edge::at);
  for (size_t i = 1; i < edges_.size(); ++i) {
    edges_[i].load += edges_[i - 1].load;
    edges_[i].replicas += edges_[i - 1].replicas;
  }
}

double MeanLoad::LimitAt(Edges::const_iterator next, double load) const {
  if (next == edges_.begin() || std::prev(next)->replicas == 0) return load;
  return std::min(load, std::prev(next)->load / std::prev(next)->replicas);
}

std::vector<LoadStep> MeanLoad::Limited(std::span<const LoadStep> steps) const {
  std::vector<LoadStep> limited;
  for (const LoadStep& step : steps) {
    absl::Time begin = step.begin;
    auto next = std::ranges::upper_bound(edges_, begin, {}, &Edge::at);
    while (begin < step.end) {
      const absl::Time end = next == edges_.end() ? step.end : std::min(next->at, step.end);
      AddStep({.begin = begin, .end = end, .load = LimitAt(next, step.load)}, limited);
      begin = end;
      while (next != edges_.end() && next->at <= begin) ++next;
    }
  }
  return limited;
}

}  // namespace gpuscaler
