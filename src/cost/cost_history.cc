#include "cost/cost_history.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "cost/gpu_time_counters.h"

namespace gpuscaler {
namespace {

absl::Time HourOf(absl::Time at) {
  return absl::UnixEpoch() + absl::Floor(at - absl::UnixEpoch(), absl::Hours(1));
}

// A record covers the time before it, so one at the full hour belongs to the hour that ends.
absl::Time HourBefore(absl::Time at) { return HourOf(at - absl::Microseconds(1)); }

// Returns `times` of the key, or of `other` if there are too many.
StateTimes& TimesOf(UsageKey key, size_t most, const UsageKey& other,
                    std::map<UsageKey, StateTimes>& times) {
  if (times.size() >= most && !times.contains(key)) return times[other];
  return times[std::move(key)];
}

}  // namespace

CostHistory::CostHistory(const GpuTimeLimits& limits) : limits_(limits) {
  // A reading covers the time between two records.
  limits_.stale_after = std::max(limits_.stale_after, 2 * kRecordEvery);
}

void CostHistory::Book(Hour& hour, UsageKey key, GpuState state, int64_t micros) {
  UsageKey node;
  node.gpu_model = key.gpu_model;
  node.node = std::exchange(key.node, "");
  UsageKey other;
  other.gpu_model = key.gpu_model;
  other.workload = std::string(kOtherWorkloads);
  TimesOf(std::move(key), kMaxWorkloads, other, hour.workloads)[state] += micros;
  other.workload.clear();
  other.node = std::string(kOtherWorkloads);
  TimesOf(std::move(node), kMaxNodes, other, hour.nodes)[state] += micros;
}

void CostHistory::Record(absl::Time now, const FleetHistory& fleet) {
  if (now <= recorded_at_) return;
  began_at_ = std::min(began_at_, now);
  recorded_at_ = now;
  const absl::Time hour = HourBefore(now);
  if (hours_.empty() || hours_.back().begins != hour) {
    hours_.push_back({.begins = hour, .workloads = {}, .nodes = {}});
  }
  // The present hour is not complete, so one more is kept.
  while (hours_.front().begins < hour - absl::Hours(kHours)) hours_.pop_front();
  const auto book = [this](const UsageKey& key, GpuState state, int64_t micros) {
    Book(hours_.back(), key, state, micros);
  };
  std::set<std::string> listed;
  for (const NodeState& state : fleet.nodes) {
    listed.insert(state.node);
    GpuTime& time = nodes_.try_emplace(state.node, limits_).first->second;
    time.Add(state.history->Newest(), state.history->NewestAt(), book);
    time.BookMissing(now, book);
  }
  std::erase_if(nodes_, [&listed](const auto& node) { return !listed.contains(node.first); });
}

absl::Time CostHistory::since() const {
  return hours_.empty() ? absl::InfiniteFuture() : std::max(began_at_, hours_.front().begins);
}

CostReport CostHistory::Report(int hours, GroupBy by, const PriceList* prices) const {
  if (hours_.empty()) {
    return MakeCostReport(absl::UnixEpoch(), absl::UnixEpoch(), by, {}, prices);
  }
  const absl::Time from = HourOf(recorded_at_ - absl::Hours(hours));
  std::vector<Usage> usage;
  for (const Hour& hour : hours_) {
    if (hour.begins < from) continue;
    for (const auto& [key, times] : by == GroupBy::kNode ? hour.nodes : hour.workloads) {
      usage.push_back({.key = key, .times = times});
    }
  }
  return MakeCostReport(std::max(from, since()), recorded_at_, by, usage, prices);
}

}  // namespace gpuscaler
