#include "scaling/node_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"

namespace gpuscaler {
namespace {

using Stretches = std::vector<NodeStretch>;

// What ended before is not looked back on; the newest always is.
size_t FirstLookedAt(const Stretches& stretches, absl::Time oldest) {
  const auto first = std::ranges::lower_bound(stretches, oldest, {}, &NodeStretch::last);
  return std::min(static_cast<size_t>(first - stretches.begin()), stretches.size() - 1);
}

// The first reading of all speaks for as long as it stood alone.
absl::Time SpeaksSince(const NodeHistory& history, size_t i, absl::Duration stale_after) {
  const Stretches& stretches = history.stretches;
  const NodeStretch& stretch = stretches[i];
  const absl::Time before = i > 0 ? stretches[i - 1].last : history.forgotten_until;
  if (before != absl::InfinitePast()) return std::max(before, stretch.first - stale_after);
  if (stretches.size() == 1) return stretch.first - stale_after;
  return stretch.first - std::min(stretches[1].first - stretch.last, stale_after);
}

absl::Time CoveredSince(const Stretches& stretches, absl::Time last, absl::Time now,
                        absl::Duration stale_after) {
  if (now - last > stale_after) return now;
  absl::Time reached = stretches.back().first;
  for (size_t i = stretches.size() - 1; i-- > 0;) {
    if (reached - stretches[i].last > stale_after) break;
    reached = stretches[i].first;
  }
  return reached;
}

std::string ReadTooSeldom(const NodeSnapshot& newest, absl::Duration stale_after) {
  if (!IsReadTooSeldom(newest.read_every, stale_after)) return "";
  return absl::StrCat(": it is read every ", DurationText(newest.read_every), ", for which ",
                      "--stale-after=", DurationText(stale_after), " is too short");
}

void AddMoments(size_t stretch, absl::Time since, absl::Time first, absl::Time last,
                NodeView& view) {
  view.moments.push_back({.since = since, .at = first});
  view.steps.push_back({.stretch = static_cast<int>(stretch), .read_at = first});
  if (last == first) return;
  view.moments.push_back({.since = first, .at = last});
  view.steps.push_back({.stretch = static_cast<int>(stretch), .read_at = last});
}

}  // namespace

std::string WhyMute(const NodeTrack& track, absl::Time now, const Patience& patience) {
  const absl::Duration silent = now - track.heard_at;
  if (!track.silence.empty() && silent > patience.grace) {
    return absl::StrCat("agent of node ", track.node, " silent for ", AgeText(silent), ": ",
                        track.silence);
  }
  const absl::Time judged_at = track.silence.empty() ? now : track.heard_at;
  if (judged_at - track.history->NewestAt() <= patience.stale_after) return "";
  return absl::StrCat("node ", track.node, " was last read ",
                      AgeText(now - track.history->NewestAt()), " ago",
                      ReadTooSeldom(track.history->Newest(), patience.stale_after));
}

bool ValuesStandingMemory(const Trigger& trigger) {
  return trigger.metric == MetricType::kMemoryUsedPercent &&
         trigger.standing_memory != StandingMemory::kLiteral;
}

absl::Duration LookBack(const Trigger& trigger) {
  const absl::Duration longest = std::max(trigger.window, trigger.activation_window);
  return ValuesStandingMemory(trigger) ? std::max(longest, trigger.preallocation_window) : longest;
}

absl::Time OldestLookedAt(const Trigger& trigger, absl::Time now, const Patience& patience) {
  return now - patience.stale_after - LookBack(trigger);
}

StillMemory NodeView::StillMemoryOf(size_t gpu) const {
  StillMemory memory = Gpus()[gpu].still_memory;
  if (last > track->history->Newest().taken_at) memory.Hold(last);
  return memory;
}

NodeView ViewOf(const NodeTrack& track, const Trigger& trigger, absl::Time now,
                const Patience& patience) {
  const Stretches& stretches = track.history->stretches;
  const size_t first = FirstLookedAt(stretches, OldestLookedAt(trigger, now, patience));
  NodeView view{.track = &track, .stretches = std::span(stretches).subspan(first)};
  view.mute = WhyMute(track, now, patience);
  const absl::Time newest_at = track.history->NewestAt();
  view.last = view.mute.empty() ? std::max(now, newest_at) : newest_at;
  view.covered_since = CoveredSince(stretches, view.last, now, patience.stale_after);
  view.moments.reserve(view.stretches.size());
  view.steps.reserve(view.stretches.size());
  for (size_t i = 0; i < view.stretches.size(); ++i) {
    const NodeStretch& stretch = view.stretches[i];
    const bool newest = i + 1 == view.stretches.size();
    AddMoments(i, SpeaksSince(*track.history, first + i, patience.stale_after), stretch.first,
               newest ? view.last : stretch.last, view);
  }
  return view;
}

}  // namespace gpuscaler
