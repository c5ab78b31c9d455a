#include "scaling/queue_decision.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "scaling/activity.h"
#include "scaling/next_change.h"
#include "scaling/node_view.h"
#include "scaling/replica_load.h"
#include "scaling/signal_samples.h"

namespace gpuscaler {
namespace {

constexpr char kFrom[] = "the metric belongs to no replica";

// Returns UNAVAILABLE, with the reason of the newest failure, if no value was ever read.
absl::Status CheckRead(const Trigger& trigger, const SignalHistory* signals) {
  std::string why = absl::StrCat(InfoOf(trigger.metric).name, ": ", kNotReadYet);
  if (signals == nullptr) return absl::UnavailableError(why);
  if (!signals->status.ok()) return signals->status;
  for (const SignalSeries& series : signals->series) {
    if (!series.points.empty()) return absl::OkStatus();
    why = absl::StrCat(series.name, ": ", series.error.empty() ? kNotReadYet : series.error);
  }
  return absl::UnavailableError(why);
}

std::string NameOf(const std::vector<SignalSeries>& series) {
  if (series.size() == 1) return series.front().name;
  return CountText(static_cast<int64_t>(series.size()), "endpoint");
}

// The replica was always present.
Replica ReplicaOfQueue(const DecisionInputs& inputs) {
  const SignalHistory& signals = *inputs.signals;
  const absl::Time now = inputs.fleet.now;
  std::vector<ObservedSeries> observed;
  for (const SignalSeries& series : signals.series) observed.push_back({.series = &series});
  Replica queue{.name = NameOf(signals.series), .present = true};
  queue.samples =
      SamplesOf(inputs.trigger, observed, OldestLookedAt(inputs.trigger, now, inputs.staleness),
                now, inputs.staleness.stale_after);
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
  return ListText(parts, kNamed);
}

Decision DecideOnQueue(const DecisionInputs& inputs) {
  const Trigger& trigger = inputs.trigger;
  const absl::Time now = inputs.fleet.now;
  Decision decision;
  decision.taken_at = now;
  decision.by_queue = true;
  decision.replicas_from = kFrom;
  decision.valid_until = absl::InfiniteFuture();
  decision.active_until = absl::InfiniteFuture();
  decision.status = CheckRead(trigger, inputs.signals);
  if (!decision.status.ok()) return decision;

  const Replica queue = ReplicaOfQueue(inputs);
  const ReplicaLoad load = LoadOf(trigger, queue, now, inputs.staleness);
  if (!load.contribution.load) {
    decision.status =
        absl::UnavailableError(absl::StrCat(queue.name, " ", load.contribution.because));
    decision.valid_until = now + absl::Seconds(1);  // the text has an age
    return decision;
  }
  decision.contributions.push_back(load.contribution);
  for (const SignalSeries& series : inputs.signals->series) {
    if (!series.note.empty()) decision.notes.push_back(series.note);
  }
  if (load.contribution.because.empty())
    decision.contributions.back().because = PartsText(inputs.signals->series.front());
  decision.value = RoundToThreeDecimals(*load.contribution.load);
  SetActivity(inputs, {load}, decision);
  SetValidUntil(trigger, {.now = now}, {queue}, inputs.staleness, decision);
  return decision;
}

}  // namespace gpuscaler
