#include "scaling/signal_samples.h"

#include <algorithm>

#include "model/engine_batch.h"
#include "scaling/last_known_values.h"
#include "scaling/workload_engines.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

struct ReportedValue {
  absl::Time at;
  size_t series;
  std::optional<double> value;
};

// The pressure of one replica counts at most twice the target, so that its queue alone at most
// doubles the replicas.
constexpr double kMaxTargets = 2;

double InUnitOf(const Trigger& trigger, double value) {
  if (trigger.metric == MetricType::kPendingRatio)
    return value / trigger.max_concurrency.value_or(1);
  return CountsPressure(trigger) ? std::min(value, kMaxTargets * trigger.target) : value;
}

std::optional<double> ValueAt(const ObservedSeries& observed, size_t point, bool by_shared_limit) {
  const SignalSeries& series = *observed.series;
  if (!by_shared_limit) return series.points[point].value;
  return PressurePercent(series.batch->readings[point], observed.shared_limit);
}

// The newest value counts, however old, and so does the newest point.
size_t FirstLookedAt(const std::vector<SignalPoint>& points, absl::Time oldest) {
  size_t first = points.size();
  bool has_number = false;
  while (first > 0 && (points[first - 1].at >= oldest || !has_number)) {
    --first;
    has_number |= points[first].value.has_value();
  }
  return first;
}

// The points of all series are merged, oldest first.
std::vector<ReportedValue> ReportedValues(const Trigger& trigger,
                                          std::span<const ObservedSeries> observed,
                                          absl::Time oldest) {
  std::vector<ReportedValue> reported;
  for (size_t i = 0; i < observed.size(); ++i) {
    const std::vector<SignalPoint>& points = observed[i].series->points;
    const bool by_shared_limit = CountsPressure(trigger) && observed[i].shared_limit.has_value() &&
                                 SharesLimit(trigger, *observed[i].series);
    for (size_t point = FirstLookedAt(points, oldest); point < points.size(); ++point) {
      const absl::Time at = points[point].at;
      ReportedValue& added = reported.emplace_back(ReportedValue{
          .at = at, .series = i, .value = ValueAt(observed[i], point, by_shared_limit)});
      if (added.value) added.value = InUnitOf(trigger, *added.value);
      if (at >= observed[i].frozen_since) added.value = 0;
    }
  }
  std::ranges::stable_sort(reported, {}, &ReportedValue::at);
  return reported;
}

}  // namespace

std::vector<ReplicaSample> SamplesOf(const Trigger& trigger,
                                     std::span<const ObservedSeries> observed, absl::Time oldest,
                                     absl::Time now, absl::Duration stale_after) {
  const std::vector<ReportedValue> reported = ReportedValues(trigger, observed, oldest);
  std::vector<ReplicaSample> samples;
  if (reported.empty()) return samples;
  samples.reserve(reported.size() + 1);
  LastKnownValues values(observed.size(), stale_after);
  const auto add = [&](absl::Time at) {
    const absl::Time before = samples.empty() ? at : samples.back().at;
    samples.push_back({.since = std::max(before, at - stale_after),
                       .at = at,
                       .metric = values.AggregateAt(trigger.aggregation, at),
                       .metric_read_at = values.Oldest()});
  };
  for (size_t i = 0; i < reported.size(); ++i) {
    values.Read(reported[i].series, reported[i].at, reported[i].value);
    const bool is_last_of_instant =
        i + 1 == reported.size() || reported[i + 1].at != reported[i].at;
    if (is_last_of_instant) add(reported[i].at);
  }
  if (samples.back().at < now) add(now);
  return samples;
}

void DropSamplesAfter(absl::Time at, std::vector<ReplicaSample>& samples) {
  std::erase_if(samples, [=](const ReplicaSample& sample) { return sample.at > at; });
}

absl::Time LastReadAt(const SignalSeries& series) {
  for (size_t i = series.points.size(); i-- > 0;) {
    if (series.points[i].value) return series.points[i].at;
  }
  return absl::InfinitePast();
}

}  // namespace gpuscaler
