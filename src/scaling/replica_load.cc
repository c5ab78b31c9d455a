#include "scaling/replica_load.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "scaling/aggregate.h"
#include "scaling/window_load.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

// Readings are stored as floats: 0.1 is not above a threshold of 0.1.
bool IsAbove(double value, double threshold) {
  return static_cast<float>(value) > static_cast<float>(threshold);
}

// A profile's threshold is one of memory. A pressure of 3 % is two requests of 64, and their
// clients would lose them with the replica.
bool IsServing(const Trigger& trigger, const Replica& replica, const ReplicaSample& sample) {
  const bool by_pressure = replica.by_engine && ReadsPressure(trigger);
  // An engine at an address has no known GPU.
  const bool may_work = sample.busy || !sample.utilization;
  return by_pressure && !trigger.activation_threshold_given && may_work &&
         sample.metric.value_or(0) > 0;
}

// Each value counts for the part of the window that it covers.
std::vector<TimedValue> TimedValuesIn(absl::Time begin, const Trigger& trigger, LoadRule load_rule,
                                      Samples samples) {
  std::vector<TimedValue> values;
  values.reserve(samples.size());
  for (const ReplicaSample& sample : samples) {
    const auto value = ValueOf(trigger, load_rule, sample);
    if (!value) continue;
    const absl::Duration lasted = sample.at - std::max(sample.since, begin);
    values.push_back({.value = *value, .nanos = absl::ToInt64Nanoseconds(lasted)});
  }
  return values;
}

// Smooths over `window`. In a gap shorter than stale_after the sample before it counts.
std::optional<double> Smoothed(const Trigger& trigger, LoadRule load_rule, Samples samples,
                               absl::Time now) {
  const absl::Duration window = SmoothingOf(trigger);
  const absl::Time begin = now - window;
  const Samples in_window = window == absl::ZeroDuration() ? Samples() : After(samples, begin);
  std::vector<TimedValue> values = TimedValuesIn(begin, trigger, load_rule, in_window);
  if (!values.empty()) return Aggregate(trigger.window_aggregation, std::move(values));
  for (size_t i = samples.size(); i-- > 0;) {
    if (const auto value = ValueOf(trigger, load_rule, samples[i])) return value;
  }
  return std::nullopt;
}

// Returns whether readings reach from `begin` to `end` without a gap longer than stale_after.
bool Covered(LoadRule load_rule, Samples samples, absl::Time begin, absl::Time end,
             absl::Duration stale_after) {
  absl::Time reached = begin;
  for (const ReplicaSample& sample : samples) {
    const absl::Time read_at = ReadAt(load_rule, sample);
    if (read_at <= reached) continue;
    // An unchanged value was read again and again since then.
    const absl::Time unchanged_since = read_at == sample.at ? sample.since : read_at;
    if (std::min(unchanged_since, read_at - stale_after) > reached) return false;
    reached = read_at;
  }
  return end - reached <= stale_after;
}

std::string StartingText(const Replica& replica, absl::Time now) {
  std::string text =
      replica.started_at == absl::InfiniteFuture()
          ? "not Ready yet"
          : absl::StrCat("starting for ", AgeText(replica.started_at - now), " more");
  if (!replica.by_engine) return text;
  return absl::StrCat(text, ", and its engine has not answered",
                      replica.last_error.empty() ? "" : ": ", replica.last_error);
}

// A start that takes longer than any may take must not hold a workload for ever.
bool MayStillStart(const Replica& replica, absl::Time now) {
  return now - replica.starting_since <= kLongestStart;
}

bool IsEnding(const Replica& replica) {
  return replica.present && replica.ending_since != absl::InfiniteFuture();
}

std::string EndingText(const Replica& replica) {
  if (replica.started_at > replica.ending_since) return "deleted before it was Ready";
  return replica.by_engine ? "deleted, or not among its Service's endpoints" : "deleted";
}

std::string UnreadableText(const ReplicaLoad& load, absl::Time last, absl::Time now) {
  const Replica& replica = *load.replica;
  if (load.load_rule == LoadRule::kUnknown) {
    return "VRAM is preallocated and engineFallback is none: its load is unknown";
  }
  if (!replica.why_stale.empty()) return replica.why_stale;
  const std::string why = replica.last_error.empty() ? "no utilization that shows whether it works"
                                                     : replica.last_error;
  if (last == absl::InfinitePast()) {
    const absl::Duration watched = now - replica.samples.front().at;
    const bool is_new = watched < absl::Milliseconds(1);
    return absl::StrCat("unreadable", is_new ? "" : " for at least ",
                        is_new ? "" : AgeText(watched), ": ", why);
  }
  return absl::StrCat("unreadable for ", AgeText(now - last), ": ", why);
}

// A new window can reach back before the kept history. Its load there is not known.
bool WindowIsCut(const Trigger& trigger, const Replica& replica, absl::Time now) {
  return now - trigger.window < replica.dropped_until &&
         replica.counted_since < replica.dropped_until;
}

// It was idle for certain only if its samples cover activationWindow.
bool MayBeBusy(const ReplicaLoad& load) { return load.contribution.busy || !load.covered; }

std::string CountedText(const Trigger& trigger, const ReplicaLoad& load) {
  switch (load.load_rule) {
    case LoadRule::kMetric:
      return load.contribution.is_preallocated ? "VRAM does not change: preallocated" : "";
    case LoadRule::kNotEvaluated:
      return absl::StrCat("at most the target and the mean of the others until its VRAM has been ",
                          "watched for ", DurationText(trigger.preallocation_window));
    case LoadRule::kUtilization:
      return "VRAM is preallocated: counts its utilization";
    case LoadRule::kTargetWhileBusy:
      return "VRAM is preallocated: counts the target while busy, else 0";
    case LoadRule::kUnknown:
      break;
  }
  return "";
}

std::string EngineText(const Trigger& trigger, const Replica& replica) {
  if (replica.frozen) {
    return absl::StrCat("its requests have not moved for ", DurationText(trigger.frozen_window),
                        " on idle GPUs: count as none");
  }
  if (replica.pressure_basis.empty()) return ReadsPressure(trigger) ? "its engine's pressure" : "";
  return absl::StrCat("its engine's pressure, ", replica.pressure_basis);
}

// Returns what a counted replica adds to the mean over `window`.
double CountedLoad(const Trigger& trigger, const ReplicaLoad& load, Samples since_start,
                   absl::Time now) {
  if (load.load_rule == LoadRule::kTargetWhileBusy) return MayBeBusy(load) ? trigger.target : 0;
  const absl::Duration window = SmoothingOf(trigger);
  if (!AveragesTheSum(trigger) || window == absl::ZeroDuration()) {
    return Smoothed(trigger, load.load_rule, since_start, now).value_or(0);
  }
  return MeanOf(StepsOf(trigger, *load.replica, load.load_rule, now - window, now), window);
}

// Adds the activity within activationWindow before `until`, when the replica's time ends.
void AddActivity(const Trigger& trigger, absl::Time until, absl::Duration stale_after,
                 ReplicaLoad& load) {
  const Replica& replica = *load.replica;
  const absl::Time since = std::max(until - trigger.activation_window, replica.started_at);
  const Samples since_start = From(replica.samples, replica.started_at);
  const Samples all = From(since_start, since);
  const Samples recent = all.first(all.size() - After(all, until).size());
  Contribution& contribution = load.contribution;
  for (const ReplicaSample& sample : recent) {
    const std::optional<double> value = ValueOf(trigger, load.load_rule, sample);
    if (!value) continue;
    contribution.peak = std::max(contribution.peak, *value);
    const bool above = IsAbove(*value, trigger.activation_threshold);
    load.above_threshold |= above;
    if (above || IsServing(trigger, replica, sample)) load.active_at = sample.at;
  }
  load.active = load.active_at != absl::InfinitePast();
  contribution.busy = std::ranges::any_of(recent, &ReplicaSample::busy);
  load.covered =
      replica.covered_since <= since &&
      Covered(load.load_rule, since_start, since,
              std::min(until, since_start.empty() ? until : since_start.back().at), stale_after);
}

// A terminating replica is active until it is gone if it was when its deletion began, or if that is
// not known.
void AddEnding(const Trigger& trigger, absl::Time now, absl::Duration stale_after,
               ReplicaLoad& load) {
  const Replica& replica = *load.replica;
  load.contribution.state = Contribution::State::kTerminating;
  load.contribution.because = EndingText(replica);
  const bool was_counted = replica.started_at <= replica.ending_since;
  if (was_counted) {
    AddActivity(trigger, std::min(replica.ending_since, now), stale_after, load);
    load.active |= !load.covered;
  }
  load.active_at = absl::InfinitePast();  // the pod, not a reading, keeps it active
  load.covered = true;
  load.past_load = PastLoadOf(trigger, replica, now);
}

}  // namespace

ReplicaLoad LoadOf(const Trigger& trigger, const Replica& replica, absl::Time now,
                   const StalenessLimits& staleness) {
  ReplicaLoad load{.replica = &replica};
  Contribution& contribution = load.contribution;
  contribution.name = replica.name;
  contribution.gpus = replica.gpu_uuids;
  contribution.nodes = replica.nodes;
  contribution.uid_hash = replica.uid_hash;

  const Samples since_start = From(replica.samples, replica.started_at);
  if (replica.present && now < replica.started_at && !IsEnding(replica)) {
    contribution.state = Contribution::State::kStarting;
    contribution.because = StartingText(replica, now);
    load.starts = MayStillStart(replica, now);
    return load;
  }

  load.load_rule = LoadRuleOf(trigger, replica);
  contribution.is_preallocated = IsPreallocated(trigger, replica);
  if (IsEnding(replica)) {
    AddEnding(trigger, now, staleness.stale_after, load);
    return load;
  }
  // The time of its node's newest reading unless it is gone.
  const absl::Time seen_at = replica.samples.back().at;
  AddActivity(trigger, now, staleness.stale_after, load);
  if (!replica.present) {
    contribution.state = Contribution::State::kGone;
    contribution.because = absl::StrCat("gone for ", AgeText(now - seen_at));
    load.past_load = PastLoadOf(trigger, replica, now);
    return load;
  }

  const absl::Time read_at = ReadAt(load.load_rule, replica.samples.back());
  const bool unread = now - read_at > staleness.stale_after || since_start.empty();
  if (unread || !replica.why_stale.empty()) {
    contribution.state = Contribution::State::kUnreadable;
    contribution.because = UnreadableText(load, read_at, now);
    return load;
  }
  contribution.because =
      replica.by_engine ? EngineText(trigger, replica) : CountedText(trigger, load);
  contribution.load = CountedLoad(trigger, load, since_start, now);
  if (trigger.scale_in == ScaleIn::kHold && MayBeBusy(load) &&
      *contribution.load < trigger.target) {
    contribution.load = trigger.target;
    contribution.because = contribution.busy
                               ? "busy: counts the target, so that it is not shrunk"
                               : "whether it was busy is not known for the whole activationWindow: "
                                 "counts the target";
  }
  if (WindowIsCut(trigger, replica, now) && *contribution.load < trigger.target) {
    contribution.load = trigger.target;
    contribution.because = absl::StrCat("counts the target until readings fill the window of ",
                                        DurationText(trigger.window));
  }
  return load;
}

double PastLoadOf(const Trigger& trigger, const Replica& replica, absl::Time now) {
  const LoadRule load_rule = LoadRuleOf(trigger, replica);
  const absl::Duration window = SmoothingOf(trigger);
  const bool has_past = AveragesTheSum(trigger) && window > absl::ZeroDuration() &&
                        load_rule != LoadRule::kTargetWhileBusy;
  if (!has_past) return 0;
  return MeanOf(StepsOf(trigger, replica, load_rule, now - window, now), window);
}

void LimitNotEvaluated(const Trigger& trigger, absl::Time now, std::vector<ReplicaLoad>& loads) {
  const absl::Duration window = SmoothingOf(trigger);
  const auto is_new = [](const ReplicaLoad& load) {
    return load.load_rule == LoadRule::kNotEvaluated &&
           load.contribution.state == Contribution::State::kCounted;
  };
  const bool may_limit = AveragesTheSum(trigger) && trigger.scale_in == ScaleIn::kFollow;
  if (!may_limit || std::ranges::none_of(loads, is_new)) return;
  const absl::Duration looked_at = std::max(window, absl::Nanoseconds(1));
  MeanLoad evaluated;
  for (const ReplicaLoad& load : loads) {
    if (load.load_rule == LoadRule::kNotEvaluated) continue;
    if (load.contribution.state != Contribution::State::kCounted) continue;
    evaluated.Add(StepsOf(trigger, *load.replica, load.load_rule, now - looked_at, now));
  }
  evaluated.Sort();
  for (ReplicaLoad& load : loads) {
    if (!is_new(load)) continue;
    const auto steps = StepsOf(trigger, *load.replica, load.load_rule, now - looked_at, now);
    const double limited = MeanOf(evaluated.Limited(steps), looked_at);
    load.contribution.load = std::min(*load.contribution.load, limited);
  }
}

}  // namespace gpuscaler
