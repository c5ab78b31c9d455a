#include "fleet/track.h"

#include <utility>

namespace gpuscaler {
namespace {

// The agent read all the time and found nothing new: no outage, however long that was.
void ExtendTo(absl::Time until, const NodeHistory::Limits& limits, NodeHistory& history) {
  while (until - history.NewestAt() > limits.join_within) {
    history.Extend(history.NewestAt() + limits.join_within, limits);
  }
  if (until > history.NewestAt()) history.Extend(until, limits);
}

}  // namespace

std::shared_ptr<const NodeHistory> Continued(const std::shared_ptr<const NodeHistory>& before,
                                             AgentNews news, const NodeHistory::Limits& limits) {
  if (news.readings.empty() && !news.unchanged_until) return before;
  auto next =
      before == nullptr ? std::make_shared<NodeHistory>() : std::make_shared<NodeHistory>(*before);
  for (AgentNews::Reading& reading : news.readings) {
    const bool first = next->newest == nullptr;
    if (!first && reading.before_until) ExtendTo(*reading.before_until, limits, *next);
    if (!first && reading.snapshot.taken_at <= next->NewestAt()) continue;
    next->Append(std::move(reading.snapshot), limits);
  }
  if (next->newest != nullptr && news.unchanged_until) {
    ExtendTo(*news.unchanged_until, limits, *next);
  }
  if (next->newest == nullptr) return before;
  return next;
}

}  // namespace gpuscaler
