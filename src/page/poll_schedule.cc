#include "page/poll_schedule.h"

#include <algorithm>

namespace gpuscaler {
namespace {

// Slots per interval. Targets in one slot are polled together, which limits the wake-ups per
// interval.
constexpr uint64_t kSlots = 32;
// From one target's slot to the next. It is odd, so all slots are used in turn. It is near the
// golden section, so a few targets are far apart too.
constexpr uint64_t kSlotStep = 19;

constexpr int kMaxIntervals = 5;  // intervals

}  // namespace

void PollSchedule::Add(Id id, absl::Time now) {
  const uint64_t slot = added_++ * kSlotStep % kSlots;
  const auto [added, is_new] =
      targets_.try_emplace(id, Target{.due = now, .phase = interval_ * slot / kSlots});
  if (is_new) due_.insert({now, id});
}

void PollSchedule::Remove(Id id) {
  const auto found = targets_.find(id);
  if (found == targets_.end()) return;
  due_.erase({found->second.due, id});
  targets_.erase(found);
}

std::vector<PollSchedule::Id> PollSchedule::Due(absl::Time now) {
  std::vector<Id> ids;
  while (!due_.empty() && due_.begin()->first <= now) {
    const Id id = due_.begin()->second;
    Target& target = targets_.at(id);
    if (!target.is_busy) ids.push_back(id);
    target.is_busy = true;
    due_.erase(due_.begin());
    target.due = DueAfter(target, now);
    due_.insert({target.due, id});
  }
  return ids;
}

void PollSchedule::Done(Id id, bool has_timed_out) {
  const auto found = targets_.find(id);
  if (found == targets_.end()) return;
  Target& target = found->second;
  target.is_busy = false;
  target.timeouts = has_timed_out ? target.timeouts + 1 : 0;
}

absl::Time PollSchedule::NextDue() const {
  return due_.empty() ? absl::InfiniteFuture() : due_.begin()->first;
}

// Returns a time at least half an interval later, because a new target is polled at once.
absl::Time PollSchedule::DueAfter(const Target& target, absl::Time now) const {
  const int skipped = target.timeouts < 2 ? 0 : std::min(target.timeouts - 1, kMaxIntervals - 1);
  const absl::Time earliest = now + interval_ * skipped + interval_ / 2;
  const absl::Duration since_phase = earliest - absl::UnixEpoch() - target.phase;
  return absl::UnixEpoch() + target.phase + absl::Ceil(since_phase, interval_);
}

}  // namespace gpuscaler
