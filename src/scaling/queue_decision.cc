#include "scaling/queue_decision.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "scaling/activity.h"
#include "scaling/next_change.h"
#include "scaling/node_view.h"
#include "scaling/replica_load.h"
#include "scaling/signal_samples.h"

namespace gpuscaler {
namespace {

constexpr char kFrom[] = "it is of no replica";

constexpr char kNotYet[] = "not read yet";

// Returns UNAVAILABLE, with the reason of the newest failure, if no value was ever read.
absl::Status CheckRead(const Trigger& trigger, const SignalHistory* signals) {
  std::string why = absl::StrCat(InfoOf(trigger.metric).name, ": ", kNotYet);
  if (signals == nullptr) return absl::UnavailableError(why);
  if (!signals->status.ok()) return signals->status;
  for (const SignalSeries& series : signals->series) {
    if (!series.points.empty()) return absl::OkStatus();
    why = absl::StrCat(series.name, ": ", series.error.empty() ? kNotYet : series.error);
  }
  return absl::UnavailableError(why);
}

std::string NameOf(const std::vector<SignalSeries>& series) {
  if (series.size() == 1) return series.front().name;
  return CountText(static_cast<int64_t>(series.size()), "endpoint");
}

// The replica was always present.
Replica ReplicaOfQueue(const Trigger& trigger, absl::Time now, const SignalHistory& signals,
                       const StalenessLimits& staleness) {
  std::vector<ObservedSeries> observed;
  for (const SignalSeries& series : signals.series) observed.push_back({.series = &series});
  Replica queue{.name = NameOf(signals.series), .present = true};
  queue.samples = SamplesOf(trigger, observed, OldestLookedAt(trigger, now, staleness), now,
                            staleness.stale_after);
  queue.covered_since = std::min(signals.read_since, now);
  for (const SignalSeries& series : signals.series) {
    if (queue.last_error.empty()) queue.last_error = series.error;
  }
  return queue;
}

}  // namespace

std::string PartsText(const SignalSeries& series) {
  constexpr size_t kNamed = 10;
  std::vector<std::string> parts;
  for (const SignalPart& part : series.parts) {
    parts.push_back(
        absl::StrCat(part.address, " ", part.value ? NumberText(*part.value) : part.error));
  }
  if (parts.size() < 2) return "";
  const size_t named = std::min(parts.size(), kNamed);
  return absl::StrCat(
      absl::StrJoin(parts.begin(), parts.begin() + named, ", "),
      parts.size() > named ? absl::StrCat(" and ", parts.size() - named, " more") : "");
}

Decision DecideOnQueue(const Trigger& trigger, absl::Time now, const SignalHistory* signals,
                       const StalenessLimits& staleness) {
  Decision decision;
  decision.taken_at = now;
  decision.replicas_from = kFrom;
  decision.valid_until = absl::InfiniteFuture();
  decision.active_until = absl::InfiniteFuture();
  decision.status = CheckRead(trigger, signals);
  if (!decision.status.ok()) return decision;

  const Replica queue = ReplicaOfQueue(trigger, now, *signals, staleness);
  const ReplicaLoad load = LoadOf(trigger, queue, now, staleness);
  if (!load.contribution.load) {
    decision.status =
        absl::UnavailableError(absl::StrCat(queue.name, " ", load.contribution.because));
    decision.valid_until = now + absl::Seconds(1);  // the text has an age
    return decision;
  }
  decision.contributions.push_back(load.contribution);
  for (const SignalSeries& series : signals->series) {
    if (!series.note.empty()) decision.notes.push_back(series.note);
  }
  if (load.contribution.because.empty())
    decision.contributions.back().because = PartsText(signals->series.front());
  decision.value = RoundToThreeDecimals(*load.contribution.load);
  SetActivity(trigger, {load}, now, staleness, decision);
  SetValidUntil(trigger, {.now = now}, {queue}, staleness, decision);
  return decision;
}

}  // namespace gpuscaler
