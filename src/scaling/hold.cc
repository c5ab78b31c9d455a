#include "scaling/hold.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "scaling/aggregate.h"
#include "scaling/totals.h"
#include "scaling/window_load.h"
#include "scaling/workload_demand.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using State = Contribution::State;
using Steps = std::vector<LoadStep>;

// Sums are compared at whole multiples, so that all aggregators compare the same ones.
constexpr absl::Duration kSumInterval = absl::Seconds(2);
// History is requested in two steps: what most starts need, or all that is kept. The need grows
// with the age of a start, and agents send the whole history again for a longer one.
constexpr absl::Duration kUsualLookBack = absl::Minutes(10);
constexpr absl::Duration kMargin = absl::Minutes(1);

// Demand before a start is compared at whole multiples, so that most starts share the results.
constexpr absl::Duration kDemandInterval = absl::Seconds(30);

// A time. Its highest sum holds.
struct Period {
  absl::Time begin;
  absl::Time end;
  absl::Time needed_from;  // earlier than `begin` if more history may change the period

  friend bool operator==(const Period&, const Period&) = default;
};

// A replica that was once counted, and its loads.
struct CountedReplica {
  const Replica* replica;
  absl::Time since;  // as far as its samples show
  absl::Time until;
  Steps steps;
};

// A busy replica keeps its value for activationWindow.
void ExtendBusySteps(absl::Duration activation_window, Steps& steps) {
  Steps busy;
  for (const LoadStep& step : steps) {
    if (step.load == 0) continue;
    const absl::Time end = step.end + activation_window;
    if (!busy.empty() && step.begin <= busy.back().end) {
      busy.back().end = std::max(busy.back().end, end);
    } else {
      busy.push_back({.begin = step.begin, .end = end, .load = step.load});
    }
  }
  steps = std::move(busy);
}

// The integral of a replica's load, for increasing times.
class Integral {
 public:
  explicit Integral(const Steps& steps) : steps_(steps) {}

  // Returns load times seconds from the first step to `at`.
  double Until(absl::Time at) {
    while (next_ < steps_.size() && steps_[next_].end <= at) {
      const LoadStep& step = steps_[next_++];
      done_ += step.load * absl::ToDoubleSeconds(step.end - step.begin);
    }
    if (next_ == steps_.size() || at <= steps_[next_].begin) return done_;
    return done_ + steps_[next_].load * absl::ToDoubleSeconds(at - steps_[next_].begin);
  }

 private:
  const Steps& steps_;
  size_t next_ = 0;
  double done_ = 0;
};

class PastLoads {
 public:
  PastLoads(const Trigger& trigger, const std::vector<Replica>& replicas, absl::Time now)
      : trigger_(trigger), now_(now), window_(SmoothingOf(trigger)) {
    for (const Replica& replica : replicas) {
      const absl::Time until = CountedUntil(replica, now);
      const auto warm = From(replica.samples, replica.warm_at);
      if (warm.empty() || warm.front().at > until) continue;
      const absl::Time since = std::max(warm.front().at, replica.counted_since);
      counted_.push_back({.replica = &replica, .since = since, .until = until, .steps = {}});
      oldest_ = std::min(oldest_, since);
    }
    std::ranges::sort(counted_, {}, &CountedReplica::since);
    for (const CountedReplica& counted : counted_) {
      if (times_.empty() || times_.back().end < counted.since) {
        times_.push_back({.begin = counted.since, .end = counted.until, .needed_from = {}});
      } else {
        times_.back().end = std::max(times_.back().end, counted.until);
      }
    }
  }

  // Returns the last 5 minutes before `at` in which a replica was counted, skipping other times.
  // Empty: none was.
  std::optional<Period> Before(absl::Time at) const {
    Period period{.begin = at, .end = absl::InfinitePast(), .needed_from = absl::InfinitePast()};
    absl::Duration left = kHeldFrom;
    for (auto time = times_.rbegin(); time != times_.rend(); ++time) {
      const absl::Time end = std::min(time->end, at);
      if (time->begin >= end) continue;
      period.end = std::max(period.end, end);
      period.begin = std::max(time->begin, end - left);
      left -= end - period.begin;
      if (left > absl::ZeroDuration()) continue;
      period.needed_from = period.begin;
      break;
    }
    if (period.end != absl::InfinitePast()) {
      const absl::Time needed = period.begin - std::max(left, absl::ZeroDuration());
      const bool was_counted_longer = std::ranges::any_of(counted_, [&](const auto& counted) {
        return counted.since <= period.begin && counted.replica->counted_since <= needed;
      });
      if (was_counted_longer) period.needed_from = needed;
      return period;
    }
    const bool was_counted = std::ranges::any_of(counted_, [at](const CountedReplica& counted) {
      return counted.replica->counted_since < at;
    });
    if (!was_counted) return std::nullopt;
    return Period{.begin = oldest_,
                  .end = std::min(oldest_ + kHeldFrom, now_),
                  .needed_from = absl::InfinitePast()};
  }

  // Returns the highest sum of each period.
  std::vector<double> Highest(const std::vector<Period>& periods) {
    if (periods.empty()) return {};
    const absl::Time first = std::max(std::ranges::min(periods, {}, &Period::begin).begin, oldest_);
    const absl::Time last = std::ranges::max(periods, {}, &Period::end).end;
    ReadSteps(first - window_, last);
    const std::vector<absl::Time> times = TimesIn(first, last, periods);
    const std::vector<double> sums = AveragesTheSum(trigger_) ? SumsAt(times) : ValuesAt(times);
    std::vector<double> highest(periods.size());
    for (size_t i = 0; i < times.size(); ++i) {
      for (size_t period = 0; period < periods.size(); ++period) {
        const bool within = periods[period].begin <= times[i] && times[i] <= periods[period].end;
        if (within) highest[period] = std::max(highest[period], sums[i]);
      }
    }
    return highest;
  }

 private:
  static std::vector<absl::Time> TimesIn(absl::Time first, absl::Time last,
                                         const std::vector<Period>& periods) {
    std::vector<absl::Time> times;
    const absl::Time epoch = absl::UnixEpoch();
    for (absl::Time at = epoch + absl::Ceil(first - epoch, kSumInterval); at < last;
         at += kSumInterval) {
      times.push_back(at);
    }
    for (const Period& period : periods) times.push_back(period.end);
    std::ranges::sort(times);
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }

  void ReadSteps(absl::Time begin, absl::Time end) {
    MeanLoad evaluated;
    const bool averages = AveragesTheSum(trigger_);
    std::vector<CountedReplica*> not_evaluated;
    for (CountedReplica& counted : counted_) {
      const Valuation valuation = ValuationOf(*counted.replica);
      counted.steps = StepsOf(trigger_, *counted.replica, valuation, begin, end, trigger_.target);
      if (valuation == Valuation::kTargetWhileBusy) {
        ExtendBusySteps(trigger_.activation_window, counted.steps);
      }
      if (valuation == Valuation::kNotEvaluated) {
        not_evaluated.push_back(&counted);
      } else if (averages) {
        evaluated.Add(counted.steps);
      }
    }
    if (not_evaluated.empty()) return;
    evaluated.Sort();
    for (CountedReplica* const counted : not_evaluated) {
      counted->steps = evaluated.Limited(counted->steps);
    }
  }

  Valuation ValuationOf(const Replica& replica) const {
    return StateOf(trigger_, replica, From(replica.samples, replica.warm_at)).valuation;
  }

  // Requires increasing `times`.
  std::vector<double> SumsAt(const std::vector<absl::Time>& times) const {
    const absl::Duration window = std::max(window_, kShortestWindow);
    std::vector<double> sums(times.size());
    for (const CountedReplica& counted : counted_) {
      Integral until(counted.steps);
      Integral before(counted.steps);
      for (size_t i = 0; i < times.size(); ++i) {
        sums[i] += (until.Until(times[i]) - before.Until(times[i] - window)) /
                   absl::ToDoubleSeconds(window);
      }
    }
    return sums;
  }

  // Returns values with each replica smoothed by itself: those counted at each time, over the part
  // of the window in which they were counted.
  std::vector<double> ValuesAt(const std::vector<absl::Time>& times) const {
    std::vector<double> values;
    values.reserve(times.size());
    for (const absl::Time at : times) {
      Totals totals;
      for (const CountedReplica& counted : counted_) {
        if (at < counted.since || counted.until < at) continue;
        if (const auto load = SmoothedAt(counted.steps, at)) totals.loads.push_back(*load);
      }
      values.push_back(SumOf(trigger_, totals));
    }
    return values;
  }

  std::optional<double> SmoothedAt(const Steps& steps, absl::Time at) const {
    const absl::Time begin = at - std::max(window_, kShortestWindow);
    std::vector<TimedValue> values;
    for (auto step = std::ranges::upper_bound(steps, begin, {}, &LoadStep::end);
         step != steps.end() && step->begin < at; ++step) {
      const absl::Duration lasted = std::min(step->end, at) - std::max(step->begin, begin);
      values.push_back({.value = step->load, .nanos = absl::ToInt64Nanoseconds(lasted)});
    }
    if (values.empty()) return std::nullopt;
    return Aggregate(trigger_.window_aggregation, std::move(values));
  }

  static constexpr absl::Duration kShortestWindow = absl::Milliseconds(1);

  const Trigger& trigger_;
  const absl::Time now_;
  const absl::Duration window_;
  absl::Time oldest_ = absl::InfiniteFuture();
  std::vector<CountedReplica> counted_;
  std::vector<Period> times_;  // in which a replica was counted, oldest first, disjoint
};

// A replica that starts or ends, and the end of the period that its hold uses.
struct HoldCause {
  const ReplicaLoad* load;
  absl::Time first_seen;
};

bool IsCounted(const ReplicaLoad& load) {
  return load.contribution.state == State::kCounted ||
         load.contribution.state == State::kUnreadable;
}

std::vector<HoldCause> HoldCauses(const std::vector<ReplicaLoad>& loads, absl::Time now) {
  std::vector<HoldCause> causes;
  const bool any_counted = std::ranges::any_of(loads, IsCounted);
  for (const ReplicaLoad& load : loads) {
    if (load.starts) {
      causes.push_back({.load = &load, .first_seen = std::min(load.replica->starting_since, now)});
    } else if (!any_counted && load.contribution.state == State::kTerminating) {
      causes.push_back({.load = &load, .first_seen = now});
    }
  }
  return causes;
}

std::string CauseText(const HoldCause& cause) {
  return absl::StrCat(cause.load->contribution.name,
                      cause.load->starts ? " starts" : " terminates, and no replica is counted");
}

std::string PastValueText(const Trigger& trigger, const HoldCause& cause, double least) {
  return absl::StrCat(CauseText(cause), "; before it was ", NumberText(RoundToThreeDecimals(least)),
                      " ", InfoOf(trigger.metric).unit);
}

std::string PastDemandText(const HoldCause& cause, double replicas) {
  return absl::StrCat(CauseText(cause), "; before it the requests needed ",
                      NumberText(RoundToThreeDecimals(replicas)), " replicas");
}

std::string UnknownPastText(const HoldCause& cause, int present) {
  return absl::StrCat(cause.load->contribution.name, cause.load->starts ? " starts" : " terminates",
                      ", and what it was before is not known: the target for ",
                      CountText(present, "replica"));
}

// Returns the number of replicas that are counted or start.
int PresentIn(const std::vector<ReplicaLoad>& loads) {
  return static_cast<int>(std::ranges::count_if(
      loads, [](const ReplicaLoad& load) { return IsCounted(load) || load.starts; }));
}

// A replica that terminates has the activity of the time before its deletion.
absl::Time OldestForActivity(const Trigger& trigger, const std::vector<ReplicaLoad>& loads,
                             absl::Time now) {
  absl::Time oldest = now;
  for (const ReplicaLoad& load : loads) {
    if (load.contribution.state != State::kTerminating) continue;
    oldest = std::min(oldest, load.replica->ending_since - trigger.activation_window);
  }
  return oldest;
}

// The demand at the end of a period. If it fell before that, requests may have stopped because no
// replica took any: then the highest at the begin, the middle and the end. The highest is not taken
// always, because demand varies by some percent from one window to the next.
class PastDemand {
 public:
  PastDemand(const Trigger& trigger, const Replicas& replicas)
      : trigger_(trigger), replicas_(replicas) {}

  std::optional<double> Before(const Period& period) {
    constexpr double kFell = 0.75;
    const std::optional<double> last = At(period.end);
    std::optional<double> highest = last;
    for (const absl::Time at : {period.begin + (period.end - period.begin) / 2, period.begin}) {
      const std::optional<double> demand = At(Rounded(at));
      if (demand.has_value()) highest = std::max(highest.value_or(0), *demand);
    }
    return last.has_value() && *last >= kFell * *highest ? last : highest;
  }

 private:
  std::optional<double> At(absl::Time at) {
    const auto [known, is_new] = at_.try_emplace(at);
    if (is_new) known->second = DemandAt(trigger_, replicas_, at);
    return known->second;
  }

  static absl::Time Rounded(absl::Time at) {
    return absl::UnixEpoch() + absl::Floor(at - absl::UnixEpoch(), kDemandInterval);
  }

  const Trigger& trigger_;
  const Replicas& replicas_;
  std::map<absl::Time, std::optional<double>> at_;
};

void Raise(double least, std::string because, Hold& hold) {
  if (!hold.because.empty() && least <= hold.least) return;
  hold.least = least;
  hold.because = std::move(because);
}

}  // namespace

Hold HoldOf(const Trigger& trigger, const Replicas& replicas, const std::vector<ReplicaLoad>& loads,
            absl::Time now) {
  PastLoads past(trigger, replicas.replicas, now);
  Hold hold;
  absl::Time oldest = OldestForActivity(trigger, loads, now);
  const int present = PresentIn(loads);
  std::vector<Period> periods;
  std::vector<HoldCause> period_causes;
  for (const HoldCause& cause : HoldCauses(loads, now)) {
    const std::optional<Period> period = past.Before(cause.first_seen);
    if (!period) {
      oldest = absl::InfinitePast();  // more history may show one
      Raise(trigger.target * present, UnknownPastText(cause, present), hold);
      continue;
    }
    oldest = std::min(oldest, period->needed_from - SmoothingOf(trigger));
    if (std::ranges::find(periods, *period) != periods.end()) continue;
    periods.push_back(*period);
    period_causes.push_back(cause);
  }
  const std::vector<double> highest = past.Highest(periods);
  PastDemand past_demand(trigger, replicas);
  for (size_t i = 0; i < highest.size(); ++i) {
    const std::optional<double> demand = past_demand.Before(periods[i]);
    if (demand) {
      Raise(trigger.target * *demand, PastDemandText(period_causes[i], *demand), hold);
    } else if (trigger.metric == MetricType::kDemandReplicas) {  // a sum is not in its unit
      if (std::ranges::any_of(loads, IsCounted)) continue;
      Raise(trigger.target * present, UnknownPastText(period_causes[i], present), hold);
    } else {
      Raise(highest[i], PastValueText(trigger, period_causes[i], highest[i]), hold);
    }
  }
  hold.look_back = now - oldest + kMargin <= kUsualLookBack ? kUsualLookBack : kLongestWindow;
  return hold;
}

}  // namespace gpuscaler
