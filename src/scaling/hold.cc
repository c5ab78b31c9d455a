#include "scaling/hold.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "scaling/aggregate.h"
#include "scaling/window_load.h"
#include "scaling/workload_demand.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using State = Contribution::State;
using Steps = std::vector<LoadStep>;

// Sums are computed at multiples of this interval since the epoch, so that all aggregators use the
// same instants, and at the end of each interval.
constexpr absl::Duration kSumInterval = absl::Seconds(2);
// Two lengths of history are requested: this one suffices for most starts, kLongestWindow is all
// that is kept. A length that grew with the age of a start would make agents send the whole history
// again and again.
constexpr absl::Duration kUsualLookBack = absl::Minutes(10);
constexpr absl::Duration kMargin = absl::Minutes(1);

// Demand within an interval is computed at multiples of this since the epoch, so that starts share
// the results. At the end of an interval it is computed exactly.
constexpr absl::Duration kDemandInterval = absl::Seconds(30);

// A time interval. Only Before() sets `needed_from`.
struct Interval {
  absl::Time begin;
  absl::Time end;
  // Readings since then decide the interval. Earlier than `begin` if more history may extend it.
  absl::Time needed_from;

  friend bool operator==(const Interval&, const Interval&) = default;
};

// A replica that was once counted, and its loads.
struct CountedReplica {
  const Replica* replica;
  absl::Time since;  // as far as its samples show
  absl::Time until;
  Steps steps;
};

// Extends each step with load by activationWindow, and joins those that then overlap. Requires
// equal loads, as of LoadRule::kTargetWhileBusy.
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

// The integral of a replica's load over time. Requires calls with increasing times.
class LoadIntegral {
 public:
  explicit LoadIntegral(const Steps& steps) : steps_(steps) {}

  // Returns load times seconds from the first step to `at`.
  double To(absl::Time at) {
    while (next_ < steps_.size() && steps_[next_].end <= at) {
      const LoadStep& step = steps_[next_++];
      before_next_ += step.load * absl::ToDoubleSeconds(step.end - step.begin);
    }
    if (next_ == steps_.size() || at <= steps_[next_].begin) return before_next_;
    return before_next_ + steps_[next_].load * absl::ToDoubleSeconds(at - steps_[next_].begin);
  }

 private:
  const Steps& steps_;
  size_t next_ = 0;
  double before_next_ = 0;
};

class PastLoads {
 public:
  PastLoads(const Trigger& trigger, const std::vector<Replica>& replicas, absl::Time now)
      : trigger_(trigger), now_(now), window_(SmoothingOf(trigger)) {
    for (const Replica& replica : replicas) {
      const absl::Time until = CountedUntil(replica, now);
      const auto since_start = From(replica.samples, replica.started_at);
      if (since_start.empty() || since_start.front().at > until) continue;
      const absl::Time since = std::max(since_start.front().at, replica.counted_since);
      counted_.push_back({.replica = &replica, .since = since, .until = until, .steps = {}});
      oldest_ = std::min(oldest_, since);
    }
    std::ranges::sort(counted_, {}, &CountedReplica::since);
    for (const CountedReplica& counted : counted_) {
      if (counted_intervals_.empty() || counted_intervals_.back().end < counted.since) {
        counted_intervals_.push_back(
            {.begin = counted.since, .end = counted.until, .needed_from = {}});
      } else {
        counted_intervals_.back().end = std::max(counted_intervals_.back().end, counted.until);
      }
    }
  }

  // Returns the interval before `at` that has 5 minutes with a counted replica, or less if there
  // were less. If these minutes are older than the kept samples, returns the oldest 5 minutes of
  // those. Returns nullopt if no replica was counted before `at`.
  std::optional<Interval> Before(absl::Time at) const {
    Interval interval{
        .begin = at, .end = absl::InfinitePast(), .needed_from = absl::InfinitePast()};
    absl::Duration left = kHoldLookBack;
    for (auto time = counted_intervals_.rbegin(); time != counted_intervals_.rend(); ++time) {
      const absl::Time end = std::min(time->end, at);
      if (time->begin >= end) continue;
      interval.end = std::max(interval.end, end);
      interval.begin = std::max(time->begin, end - left);
      left -= end - interval.begin;
      if (left > absl::ZeroDuration()) continue;
      interval.needed_from = interval.begin;
      break;
    }
    if (interval.end != absl::InfinitePast()) {
      const absl::Time needed = interval.begin - std::max(left, absl::ZeroDuration());
      const bool was_counted_longer = std::ranges::any_of(counted_, [&](const auto& counted) {
        return counted.since <= interval.begin && counted.replica->counted_since <= needed;
      });
      if (was_counted_longer) interval.needed_from = needed;
      return interval;
    }
    const bool was_counted = std::ranges::any_of(counted_, [at](const CountedReplica& counted) {
      return counted.replica->counted_since < at;
    });
    if (!was_counted) return std::nullopt;
    return Interval{.begin = oldest_,
                    .end = std::min(oldest_ + kHoldLookBack, now_),
                    .needed_from = absl::InfinitePast()};
  }

  // Returns the highest sum of each interval.
  std::vector<double> Highest(const std::vector<Interval>& intervals) {
    if (intervals.empty()) return {};
    const absl::Time first =
        std::max(std::ranges::min(intervals, {}, &Interval::begin).begin, oldest_);
    const absl::Time last = std::ranges::max(intervals, {}, &Interval::end).end;
    ReadSteps(first - window_, last);
    const std::vector<absl::Time> times = TimesIn(first, last, intervals);
    const std::vector<double> sums = AveragesTheSum(trigger_) ? SumsAt(times) : ValuesAt(times);
    std::vector<double> highest(intervals.size());
    for (size_t i = 0; i < times.size(); ++i) {
      for (size_t interval = 0; interval < intervals.size(); ++interval) {
        const bool within =
            intervals[interval].begin <= times[i] && times[i] <= intervals[interval].end;
        if (within) highest[interval] = std::max(highest[interval], sums[i]);
      }
    }
    return highest;
  }

 private:
  static std::vector<absl::Time> TimesIn(absl::Time first, absl::Time last,
                                         const std::vector<Interval>& intervals) {
    std::vector<absl::Time> times;
    const absl::Time epoch = absl::UnixEpoch();
    for (absl::Time at = epoch + absl::Ceil(first - epoch, kSumInterval); at < last;
         at += kSumInterval) {
      times.push_back(at);
    }
    for (const Interval& interval : intervals) times.push_back(interval.end);
    std::ranges::sort(times);
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }

  void ReadSteps(absl::Time begin, absl::Time end) {
    MeanLoad evaluated;
    const bool averages = AveragesTheSum(trigger_);
    std::vector<CountedReplica*> not_evaluated;
    for (CountedReplica& counted : counted_) {
      const LoadRule load_rule = LoadRuleOf(trigger_, *counted.replica);
      counted.steps = StepsOf(trigger_, *counted.replica, load_rule, begin, end, trigger_.target);
      if (load_rule == LoadRule::kTargetWhileBusy) {
        ExtendBusySteps(trigger_.activation_window, counted.steps);
      }
      if (load_rule == LoadRule::kNotEvaluated) {
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

  // Requires increasing `times`.
  std::vector<double> SumsAt(const std::vector<absl::Time>& times) const {
    const absl::Duration window = std::max(window_, kShortestWindow);
    std::vector<double> sums(times.size());
    for (const CountedReplica& counted : counted_) {
      LoadIntegral to_end(counted.steps);
      LoadIntegral to_begin(counted.steps);
      for (size_t i = 0; i < times.size(); ++i) {
        sums[i] +=
            (to_end.To(times[i]) - to_begin.To(times[i] - window)) / absl::ToDoubleSeconds(window);
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
  // Intervals in which a replica was counted, oldest first, disjoint.
  std::vector<Interval> counted_intervals_;
};

bool CountsAsReplica(const ReplicaLoad& load) {
  return load.contribution.state == State::kCounted ||
         load.contribution.state == State::kUnreadable;
}

// Returns the replicas that start or end, for which the value is held.
std::vector<const ReplicaLoad*> HoldCauses(const std::vector<ReplicaLoad>& loads) {
  std::vector<const ReplicaLoad*> causes;
  const bool any_counted = std::ranges::any_of(loads, CountsAsReplica);
  for (const ReplicaLoad& load : loads) {
    const bool ends = !any_counted && load.contribution.state == State::kTerminating;
    if (load.starts || ends) causes.push_back(&load);
  }
  return causes;
}

std::string CauseText(const ReplicaLoad& cause) {
  return absl::StrCat(cause.contribution.name,
                      cause.starts ? " starts" : " terminates, and no replica is counted");
}

std::string PastValueText(const Trigger& trigger, const ReplicaLoad& cause, double lower_bound) {
  return absl::StrCat(CauseText(cause), "; before it was ",
                      NumberText(RoundToThreeDecimals(lower_bound)), " ",
                      InfoOf(trigger.metric).unit);
}

std::string PastDemandText(const ReplicaLoad& cause, double replicas) {
  return absl::StrCat(CauseText(cause), "; before it the requests needed ",
                      NumberText(RoundToThreeDecimals(replicas)), " replicas");
}

std::string UnknownPastText(const ReplicaLoad& cause, int expected) {
  return absl::StrCat(cause.contribution.name, cause.starts ? " starts" : " terminates",
                      ", and what it was before is not known: the target for ",
                      CountText(expected, "replica"));
}

int CountedOrStarting(const std::vector<ReplicaLoad>& loads) {
  return static_cast<int>(std::ranges::count_if(
      loads, [](const ReplicaLoad& load) { return CountsAsReplica(load) || load.starts; }));
}

// Returns the oldest time that decides activity: activationWindow before the first deletion among
// terminating replicas, else `now`.
absl::Time OldestForActivity(const Trigger& trigger, const std::vector<ReplicaLoad>& loads,
                             absl::Time now) {
  absl::Time oldest = now;
  for (const ReplicaLoad& load : loads) {
    if (load.contribution.state != State::kTerminating) continue;
    oldest = std::min(oldest, load.replica->ending_since - trigger.activation_window);
  }
  return oldest;
}

// Returns the demand at the end of an interval, unless it is below 75 % of the highest at its
// begin, middle and end: then that one, because requests may have stopped for lack of replicas.
// Smaller falls are noise between windows.
std::optional<double> PastDemand(
    const Interval& interval, const std::function<std::optional<double>(absl::Time)>& demand_at) {
  constexpr double kFell = 0.75;
  const absl::Time epoch = absl::UnixEpoch();
  const std::optional<double> last = demand_at(interval.end);
  std::optional<double> highest = last;
  for (const absl::Time at :
       {interval.begin + (interval.end - interval.begin) / 2, interval.begin}) {
    const std::optional<double> demand =
        demand_at(epoch + absl::Floor(at - epoch, kDemandInterval));
    if (demand.has_value()) highest = std::max(highest.value_or(0), *demand);
  }
  return last.has_value() && *last >= kFell * *highest ? last : highest;
}

void RaiseLowerBound(double lower_bound, std::string reason, ValueHold& hold) {
  if (!hold.reason.empty() && lower_bound <= hold.lower_bound) return;
  hold.lower_bound = lower_bound;
  hold.reason = std::move(reason);
}

}  // namespace

ValueHold HoldOf(const Trigger& trigger, const Replicas& replicas,
                 const std::vector<ReplicaLoad>& loads, absl::Time now) {
  PastLoads past(trigger, replicas.replicas, now);
  ValueHold hold;
  absl::Time oldest = OldestForActivity(trigger, loads, now);
  const int expected = CountedOrStarting(loads);
  std::vector<Interval> intervals;
  std::vector<const ReplicaLoad*> interval_causes;
  for (const ReplicaLoad* const cause : HoldCauses(loads)) {
    const std::optional<Interval> interval =
        past.Before(cause->starts ? std::min(cause->replica->starting_since, now) : now);
    if (!interval) {
      oldest = absl::InfinitePast();  // more history may show one
      RaiseLowerBound(trigger.target * expected, UnknownPastText(*cause, expected), hold);
      continue;
    }
    oldest = std::min(oldest, interval->needed_from - SmoothingOf(trigger));
    if (std::ranges::find(intervals, *interval) != intervals.end()) continue;
    intervals.push_back(*interval);
    interval_causes.push_back(cause);
  }
  const std::vector<double> highest = past.Highest(intervals);
  std::map<absl::Time, std::optional<double>> demands;
  const auto demand_at = [&](absl::Time at) {
    const auto [known, is_new] = demands.try_emplace(at);
    if (is_new) known->second = DemandAt(trigger, replicas, at);
    return known->second;
  };
  for (size_t i = 0; i < highest.size(); ++i) {
    const std::optional<double> demand = PastDemand(intervals[i], demand_at);
    if (demand) {
      RaiseLowerBound(trigger.target * *demand, PastDemandText(*interval_causes[i], *demand), hold);
    } else if (trigger.metric == MetricType::kDemandReplicas) {
      // The value is in replicas, so a sum of loads cannot replace the demand.
      if (std::ranges::any_of(loads, CountsAsReplica)) continue;
      RaiseLowerBound(trigger.target * expected, UnknownPastText(*interval_causes[i], expected),
                      hold);
    } else {
      RaiseLowerBound(highest[i], PastValueText(trigger, *interval_causes[i], highest[i]), hold);
    }
  }
  hold.look_back = now - oldest + kMargin <= kUsualLookBack ? kUsualLookBack : kLongestWindow;
  return hold;
}

}  // namespace gpuscaler
