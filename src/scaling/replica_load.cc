#include "scaling/replica_load.h"

#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "scaling/aggregate.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using Samples = std::span<const ReplicaSample>;

// How the samples of a replica become its load: by its state now, for all of them (DESIGN 2).
enum class Valuation {
  kMetric,           // as read
  kAtMostTarget,     // memory not watched for long enough to know whether it stands
  kUtilization,      // standing, engineFallback: utilization
  kTargetWhileBusy,  // standing: says only whether it works
  kUnknown,          // standing, engineFallback: none
};

struct State {
  Valuation valuation = Valuation::kMetric;
  bool standing = false;
  bool saturation_unknown = false;
};

Samples After(Samples samples, absl::Time at) {
  const auto first =
      std::ranges::find_if(samples, [at](const ReplicaSample& sample) { return sample.at > at; });
  return samples.subspan(static_cast<size_t>(first - samples.begin()));
}

Samples From(Samples samples, absl::Time at) { return After(samples, at - absl::Nanoseconds(1)); }

State StandingState(const Trigger& trigger) {
  if (trigger.preallocated_memory == PreallocatedMemory::kActivity) {
    return {.valuation = Valuation::kTargetWhileBusy, .standing = true};
  }
  State state{.standing = true, .saturation_unknown = true};
  switch (trigger.engine_fallback) {
    case EngineFallback::kUtilization:
      state.valuation = Valuation::kUtilization;
      break;
    case EngineFallback::kActivity:
      state.valuation = Valuation::kTargetWhileBusy;
      break;
    case EngineFallback::kNone:
      state.valuation = Valuation::kUnknown;
      break;
  }
  return state;
}

// Its utilisation tells what it did. Its memory it may have given back before its pod was gone, and
// then nobody knows any more whether it stood.
State GoneState(const Trigger& trigger) {
  const Valuation standing = StandingState(trigger).valuation;
  return {.valuation = standing == Valuation::kUnknown ? Valuation::kUtilization : standing};
}

// An engine that preallocates does so on any GPU that it has.
bool MemoryStands(const Trigger& trigger, const Replica& replica) {
  return std::ranges::any_of(replica.steady_memory, [&](const SteadyMemory& memory) {
    return memory.Stood(trigger.preallocation_window, replica.warm_at);
  });
}

State StateOf(const Trigger& trigger, const Replica& replica, Samples warm) {
  if (trigger.metric != MetricType::kMemoryUsedPercent || replica.by_engine) return {};
  const bool stands = MemoryStands(trigger, replica);
  if (trigger.preallocated_memory == PreallocatedMemory::kLiteral) return {.standing = stands};
  if (!replica.present) return GoneState(trigger);
  if (stands) return StandingState(trigger);
  const bool is_new =
      warm.empty() || warm.back().at - warm.front().at < trigger.preallocation_window;
  const bool not_evaluated =
      std::ranges::any_of(replica.steady_memory, [&](const SteadyMemory& memory) {
        return memory.IsNotEvaluated(trigger.preallocation_window, replica.warm_at);
      });
  return {.valuation = is_new || not_evaluated ? Valuation::kAtMostTarget : Valuation::kMetric};
}

std::optional<double> ValueOf(const Trigger& trigger, Valuation valuation,
                              const ReplicaSample& sample) {
  switch (valuation) {
    case Valuation::kMetric:
      return sample.metric;
    case Valuation::kAtMostTarget:
      if (!sample.metric) return std::nullopt;
      return std::min(*sample.metric, trigger.target);
    case Valuation::kUtilization:
      return sample.utilization;
    case Valuation::kTargetWhileBusy:
      if (!sample.utilization) return std::nullopt;
      return sample.busy ? trigger.target : 0;
    case Valuation::kUnknown:
      break;
  }
  return std::nullopt;
}

// Readings are kept as floats: 0.1 is not above a threshold of 0.1.
bool IsAbove(double value, double threshold) {
  return static_cast<float>(value) > static_cast<float>(threshold);
}

// A profile's threshold is one of memory. Pressure of 3 % is two requests of 64, and whoever waits
// for them would lose them with the replica.
bool IsServing(const Trigger& trigger, const Replica& replica, const ReplicaSample& sample) {
  const bool by_pressure = replica.by_engine && ReadsPressure(trigger);
  const bool may_work = sample.busy || !sample.utilization;  // of an address no GPU is known
  return by_pressure && !trigger.activation_threshold_given && may_work &&
         sample.metric.value_or(0) > 0;
}

// When what the valuation needs was last read, as of this sample.
absl::Time ReadAt(Valuation valuation, const ReplicaSample& sample) {
  switch (valuation) {
    case Valuation::kMetric:
    case Valuation::kAtMostTarget:
      return sample.metric_read_at;
    case Valuation::kUtilization:
    case Valuation::kTargetWhileBusy:
      return sample.utilization_read_at;
    case Valuation::kUnknown:
      break;
  }
  return absl::InfinitePast();
}

// Those of the window, each for the part of it that it speaks for.
std::vector<Lasting> LastingIn(absl::Time begin, const Trigger& trigger, Valuation valuation,
                               Samples samples) {
  std::vector<Lasting> values;
  values.reserve(samples.size());
  for (const ReplicaSample& sample : samples) {
    const auto value = ValueOf(trigger, valuation, sample);
    if (!value) continue;
    const absl::Duration lasted = sample.at - std::max(sample.since, begin);
    values.push_back({.value = *value, .nanos = absl::ToInt64Nanoseconds(lasted)});
  }
  return values;
}

// Smoothed over `window`; within a gap shorter than stale_after the sample before it stands.
std::optional<double> Smoothed(const Trigger& trigger, Valuation valuation, Samples samples,
                               absl::Time now) {
  const absl::Duration window = SmoothingOf(trigger);
  const absl::Time begin = now - window;
  const Samples in_window = window == absl::ZeroDuration() ? Samples() : After(samples, begin);
  std::vector<Lasting> values = LastingIn(begin, trigger, valuation, in_window);
  if (!values.empty()) return Aggregate(trigger.window_aggregation, std::move(values));
  for (size_t i = samples.size(); i-- > 0;) {
    if (const auto value = ValueOf(trigger, valuation, samples[i])) return value;
  }
  return std::nullopt;
}

// Whether readings reach from `begin` to `end` without a gap longer than stale_after.
bool Covered(Valuation valuation, Samples samples, absl::Time begin, absl::Time end,
             absl::Duration stale_after) {
  absl::Time reached = begin;
  for (const ReplicaSample& sample : samples) {
    const absl::Time read_at = ReadAt(valuation, sample);
    if (read_at <= reached) continue;
    // What stood unchanged was read again and again since then.
    const absl::Time stood_since = read_at == sample.at ? sample.since : read_at;
    if (std::min(stood_since, read_at - stale_after) > reached) return false;
    reached = read_at;
  }
  return end - reached <= stale_after;
}

std::string WarmingText(const Replica& replica, absl::Time now) {
  std::string text = replica.warm_at == absl::InfiniteFuture()
                         ? "not Ready yet"
                         : absl::StrCat("warming for ", AgeText(replica.warm_at - now), " more");
  if (!replica.by_engine) return text;
  return absl::StrCat(text, ", and its engine has not answered",
                      replica.last_gap.empty() ? "" : ": ", replica.last_gap);
}

// A start that takes longer than any does shall not hold a workload for ever.
bool StartsYet(const Replica& replica, absl::Time now) {
  return now - replica.starting_since <= kLongestStart;
}

std::string UnreadableText(const Replica& replica, const State& state, absl::Time last,
                           absl::Time now) {
  if (state.valuation == Valuation::kUnknown) {
    return "VRAM is preallocated and engineFallback is none: its load is unknown";
  }
  if (!replica.why_stale.empty()) return replica.why_stale;
  const std::string why =
      replica.last_gap.empty() ? "no utilization to tell whether it works" : replica.last_gap;
  if (last == absl::InfinitePast()) {
    const absl::Duration watched = now - replica.samples.front().at;
    const bool is_new = watched < absl::Milliseconds(1);
    return absl::StrCat("unreadable", is_new ? "" : " for at least ",
                        is_new ? "" : AgeText(watched), ": ", why);
  }
  return absl::StrCat("unreadable for ", AgeText(now - last), ": ", why);
}

// A window that nobody asked for reaches back behind what was kept: what it was worth then is not
// known.
bool WindowIsCut(const Trigger& trigger, const Replica& replica, absl::Time now) {
  return now - trigger.window < replica.forgotten_until &&
         replica.held_since < replica.forgotten_until;
}

// That it was not is known only where its samples cover activationWindow.
bool MayBeBusy(const ReplicaLoad& load) { return load.contribution.busy || !load.covered; }

std::string CountedText(const Trigger& trigger, const State& state) {
  switch (state.valuation) {
    case Valuation::kMetric:
      return state.standing ? "VRAM stands still: preallocated" : "";
    case Valuation::kAtMostTarget:
      return absl::StrCat("at most the target until its VRAM has been watched for ",
                          DurationText(trigger.preallocation_window));
    case Valuation::kUtilization:
      return "VRAM is preallocated: counts its utilization";
    case Valuation::kTargetWhileBusy:
      return "VRAM is preallocated: counts the target while busy, else 0";
    case Valuation::kUnknown:
      break;
  }
  return "";
}

std::string EngineText(const Trigger& trigger, const Replica& replica) {
  if (replica.frozen) {
    return absl::StrCat("its requests have not moved for ", DurationText(trigger.frozen_window),
                        " on idle GPUs: count as none");
  }
  if (replica.against.empty()) return ReadsPressure(trigger) ? "its engine's pressure" : "";
  return absl::StrCat("its engine's pressure, ", replica.against);
}

}  // namespace

ReplicaLoad LoadOf(const Trigger& trigger, const Replica& replica, absl::Time now,
                   const StalenessLimits& staleness) {
  ReplicaLoad load{.frozen_at = replica.frozen_at, .covered_since = replica.covered_since};
  Contribution& contribution = load.contribution;
  contribution.name = replica.name;
  contribution.gpus = replica.gpu_uuids;
  contribution.nodes = replica.nodes;

  const absl::Time warm_at = replica.warm_at;
  const Samples warm = From(replica.samples, warm_at);
  if (replica.present && now < warm_at) {
    contribution.state = Contribution::State::kWarming;
    contribution.because = WarmingText(replica, now);
    load.starts = StartsYet(replica, now);
    return load;
  }

  const State state = StateOf(trigger, replica, warm);
  const absl::Time seen_at = replica.samples.back().at;  // of its node's newest unless it has gone
  const absl::Time active_since = std::max(now - trigger.activation_window, warm_at);
  const Samples recent = From(warm, active_since);
  for (const ReplicaSample& sample : recent) {
    const std::optional<double> value = ValueOf(trigger, state.valuation, sample);
    if (!value) continue;
    contribution.peak = std::max(contribution.peak, *value);
    const bool above = IsAbove(*value, trigger.activation_threshold);
    load.above_threshold |= above;
    if (above || IsServing(trigger, replica, sample)) load.active_at = sample.at;
  }
  load.active = load.active_at != absl::InfinitePast();
  contribution.busy = std::ranges::any_of(recent, &ReplicaSample::busy);
  contribution.standing = state.standing;
  load.saturation_unknown = state.saturation_unknown;
  load.covered = replica.covered_since <= active_since &&
                 Covered(state.valuation, warm, active_since, seen_at, staleness.stale_after);
  if (!replica.present) {
    contribution.state = Contribution::State::kGone;
    contribution.because = absl::StrCat("gone for ", AgeText(now - seen_at));
    return load;
  }

  const absl::Time read_at = ReadAt(state.valuation, replica.samples.back());
  const bool unread = now - read_at > staleness.stale_after || warm.empty();
  if (unread || !replica.why_stale.empty()) {
    contribution.state = Contribution::State::kUnreadable;
    contribution.because = UnreadableText(replica, state, read_at, now);
    return load;
  }
  contribution.because =
      replica.by_engine ? EngineText(trigger, replica) : CountedText(trigger, state);
  contribution.load = state.valuation == Valuation::kTargetWhileBusy
                          ? (MayBeBusy(load) ? trigger.target : 0)
                          : Smoothed(trigger, state.valuation, warm, now);
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

}  // namespace gpuscaler
