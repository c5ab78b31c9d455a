#include "fleet/append_update.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "fleet/peer_clock.h"
#include "model/shared_list.h"

namespace gpuscaler {
namespace {

// How much the times of one instant may differ between two streams, because of message delays.
// Above PeerClock::kLongestDelay, by which a clock's offset may change at once.
constexpr absl::Duration kSameInstant = absl::Seconds(2);

// Extends the newest reading. The agent has read all the time without a change, so this is not an
// outage, however long it was.
void ExtendTo(absl::Time until, NodeHistory::Limits limits, NodeHistory& history) {
  if (until <= history.NewestAt()) return;
  // A first reading stays its own run: the extension begins join_within later.
  history.Extend(std::min(until, history.NewestAt() + limits.join_within), limits);
  limits.join_within = absl::InfiniteDuration();
  if (until > history.NewestAt()) history.Extend(until, limits);
}

// `ago` is the age of the instant: clocks drift apart by kMaxDrift of it.
bool IsSameInstant(absl::Time before, absl::Time later, absl::Duration ago) {
  return absl::AbsDuration(later - before) < kSameInstant + PeerClock::kMaxDrift * ago;
}

// Start times of one holder may differ by a message's delay and the clocks' drift. A new holder's
// is later by at least as long as the old one held the GPU.
bool IsSameHolder(const GpuSample& before, const GpuSample& later, absl::Time newest_at) {
  if (before.uuid != later.uuid || !before.in_use || !later.in_use) return false;
  if (before.held_since == absl::InfinitePast() || later.held_since == absl::InfinitePast()) {
    return before.held_since == later.held_since;
  }
  return IsSameInstant(before.held_since, later.held_since, newest_at - before.held_since);
}

// Keeps the holder's start time. Another stream dates it with another clock offset, and a different
// time would mean a different holder.
void KeepHeldSince(const NodeHistory& history, NodeSnapshot& next) {
  if (history.newest == nullptr) return;
  const std::vector<GpuSample>& before = history.newest->gpus;
  for (size_t i = 0; i < next.gpus.size(); ++i) {
    const GpuSample& gpu = next.gpus.get()[i];
    const bool same_place = i < before.size() && before[i].uuid == gpu.uuid;
    const auto found = same_place ? before.begin() + static_cast<std::ptrdiff_t>(i)
                                  : std::ranges::find(before, gpu.uuid, &GpuSample::uuid);
    if (found == before.end() || found->held_since == gpu.held_since) continue;
    if (!IsSameHolder(*found, gpu, history.NewestAt())) continue;
    next.gpus[i].held_since = found->held_since;
  }
}

using PodKey = std::tuple<absl::string_view, absl::string_view, absl::string_view>;
PodKey KeyOf(const Pod& pod) { return {pod.namespace_name, pod.name, pod.uid}; }

// Returns the earlier reading's time if both mean the same instant.
std::optional<absl::Time> KeptTime(const std::optional<absl::Time>& before, absl::Time newest_at,
                                   const std::optional<absl::Time>& time) {
  const bool is_same = before && time && IsSameInstant(*before, *time, newest_at - *before);
  return is_same ? before : time;
}

// As KeepHeldSince(): a different time would mean a different layout.
void KeepListedSince(const NodeHistory& history, NodeSnapshot& next) {
  if (history.newest == nullptr || next.pods == history.newest->pods) return;
  const std::vector<Pod>& before = history.newest->pods;
  std::map<PodKey, const Pod*> by_key;  // filled if a pod is not at the same index
  const auto find = [&](const Pod& pod, size_t place) -> const Pod* {
    if (place < before.size() && KeyOf(before[place]) == KeyOf(pod)) return &before[place];
    if (by_key.empty()) {
      for (const Pod& earlier : before) by_key.emplace(KeyOf(earlier), &earlier);
    }
    const auto found = by_key.find(KeyOf(pod));
    return found == by_key.end() ? nullptr : found->second;
  };
  for (size_t place = 0; place < next.pods.size(); ++place) {
    const Pod& pod = next.pods.get()[place];
    if (!pod.listed_since && !pod.owner_listed_since) continue;
    const Pod* const same = find(pod, place);
    if (same == nullptr) continue;
    const auto listed = KeptTime(same->listed_since, history.NewestAt(), pod.listed_since);
    const auto owner_listed =
        KeptTime(same->owner_listed_since, history.NewestAt(), pod.owner_listed_since);
    if (listed == pod.listed_since && owner_listed == pod.owner_listed_since) continue;
    Pod& changed = next.pods[place];
    changed.listed_since = listed;
    changed.owner_listed_since = owner_listed;
  }
}

// Returns `history`, or a copy if it is shared, with room for `more` runs and few others. A vector
// that doubles wastes 6 MiB for 1,000 nodes.
std::shared_ptr<NodeHistory> Writable(std::shared_ptr<NodeHistory> history, size_t more) {
  constexpr size_t kSpare = 8;
  const size_t needed = history->runs.size() + more;
  if (IsUnshared(history)) {
    if (history->runs.capacity() < needed) history->runs.reserve(needed + kSpare);
    return history;
  }
  auto copy = std::make_shared<NodeHistory>();
  copy->runs.reserve(needed);
  *copy = *history;
  return copy;
}

}  // namespace

std::shared_ptr<NodeHistory> AppendUpdate(std::shared_ptr<NodeHistory> before, AgentUpdate update,
                                          const NodeHistory::Limits& limits) {
  if (update.readings.empty() && !update.newest_confirmed_at) return before;
  if (before == nullptr) before = std::make_shared<NodeHistory>();
  const auto next = Writable(std::move(before), update.readings.size() + 1);
  for (AgentUpdate::Reading& reading : update.readings) {
    const bool first = next->newest == nullptr;
    if (!first && reading.previous_confirmed_at)
      ExtendTo(*reading.previous_confirmed_at, limits, *next);
    if (!first && reading.snapshot.taken_at <= next->NewestAt()) continue;
    KeepHeldSince(*next, reading.snapshot);
    KeepListedSince(*next, reading.snapshot);
    next->Append(std::move(reading.snapshot), limits);
  }
  if (next->newest != nullptr && update.newest_confirmed_at) {
    ExtendTo(*update.newest_confirmed_at, limits, *next);
  }
  return next->newest == nullptr ? nullptr : next;
}

std::vector<AgentUpdate::Reading> ReadingsAfter(absl::Time at, const AgentUpdate& update) {
  const std::vector<AgentUpdate::Reading>& all = update.readings;
  const auto first = std::ranges::find_if(
      all, [at](const AgentUpdate::Reading& reading) { return reading.snapshot.taken_at > at; });
  std::vector<AgentUpdate::Reading> after;
  const auto confirmed_at =
      first == all.end() ? update.newest_confirmed_at : first->previous_confirmed_at;
  if (first != all.begin() && confirmed_at.value_or(at) > at) {
    after.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::prev(first)->snapshot});
    after.back().snapshot.taken_at = at + absl::Microseconds(1);
  }
  after.insert(after.end(), first, all.end());
  return after;
}

}  // namespace gpuscaler
