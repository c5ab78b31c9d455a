#include "engine/engine_rates.h"

#include <cstddef>
#include <utility>

#include "engine/histogram_growth.h"

namespace gpuscaler {
namespace {

CounterPoint PointOf(const CounterInstant& instant, const std::optional<double>& value) {
  return {.instant = instant, .value = *value};
}

HistogramPoint PointOf(const CounterInstant& instant,
                       const std::shared_ptr<const Histogram>& histogram) {
  return {.instant = instant, .histogram = histogram.get()};
}

// Readings without the field are left out.
template <typename Point, typename Field>
std::vector<Point> PointsOf(std::span<const TimedReading> readings, Field field) {
  std::vector<Point> points;
  bool continues = true;
  for (const TimedReading& reading : readings) {
    continues = continues && reading.continues;
    if (!(reading.*field)) continue;
    points.push_back(PointOf({.at = reading.at, .continues = continues}, reading.*field));
    continues = true;
  }
  return points;
}

// Calls `visit` with the growth at each reading: that of the newest point by then, limited to the
// reading's window.
template <typename Field, typename Windows, typename Visit>
void VisitAtReadings(std::span<const TimedReading> readings, Field field, absl::Duration window,
                     Windows growth, Visit visit) {
  size_t points = 0;  // up to this reading
  size_t first = 0;   // reading in the window
  for (const TimedReading& reading : readings) {
    if (reading.*field) ++points;
    while (readings[first + 1 < readings.size() ? first + 1 : first].at < reading.at - window) {
      ++first;
    }
    if (points == 0) {
      visit({});
    } else {
      visit(growth.EndingAt(points - 1, readings[first].at));
    }
  }
}

// Returns false if waiting requests are not reported. Some engines never report running ones.
bool HasNoRequests(const TimedReading& reading) {
  return reading.waiting == 0.0 && (!reading.running.has_value() || reading.running == 0.0);
}

std::optional<double> ZeroIfIdle(const TimedReading& reading) {
  return HasNoRequests(reading) ? std::optional(0.0) : std::nullopt;
}

}  // namespace

std::vector<std::optional<Growth>> GrowthAtReadings(std::span<const TimedReading> readings,
                                                    NumberField counter,
                                                    const CounterLookBack& look_back) {
  const auto points = PointsOf<CounterPoint>(readings, counter);
  std::vector<std::optional<Growth>> grown;
  grown.reserve(readings.size());
  VisitAtReadings(readings, counter, look_back.window, CounterGrowth(points, look_back),
                  [&](const std::optional<Growth>& growth) { grown.push_back(growth); });
  return grown;
}

std::optional<double> Quantile(const Histogram& histogram, double share) {
  const auto& buckets = histogram.buckets;
  const double all = histogram.Count();
  if (buckets.size() < 2 || all <= 0) return std::nullopt;
  const double rank = share * all;
  size_t i = 0;
  while (i + 1 < buckets.size() && buckets[i].count < rank) ++i;
  if (i + 1 == buckets.size()) return buckets[i - 1].not_above;
  const double bound = buckets[i].not_above;
  if (i == 0 && bound <= 0) return bound;
  const double lower = i == 0 ? 0 : buckets[i - 1].not_above;
  const double below = i == 0 ? 0 : buckets[i - 1].count;
  return lower + (bound - lower) * (rank - below) / (buckets[i].count - below);
}

ValuesAtReadings MeanQueueSeconds(std::span<const TimedReading> readings,
                                  const CounterLookBack& look_back) {
  const auto left = GrowthAtReadings(readings, &TimedReading::queued_requests, look_back);
  const auto waited = GrowthAtReadings(readings, &TimedReading::queue_seconds, look_back);
  ValuesAtReadings means;
  means.reserve(readings.size());
  for (size_t i = 0; i < readings.size(); ++i) {
    if (!left[i].has_value() || !waited[i].has_value()) {
      means.emplace_back();
    } else if (left[i]->by > 0) {
      means.emplace_back(waited[i]->by / left[i]->by);
    } else {
      means.push_back(ZeroIfIdle(readings[i]));
    }
  }
  return means;
}

ValuesAtReadings P95Seconds(std::span<const TimedReading> readings, HistogramField latency,
                            const CounterLookBack& look_back) {
  ValuesAtReadings seconds;
  seconds.reserve(readings.size());
  VisitAtReadings(readings, latency, look_back.window,
                  HistogramGrowth(PointsOf<HistogramPoint>(readings, latency), look_back),
                  [&](const Histogram* growth) {
                    if (growth == nullptr) {
                      seconds.emplace_back();
                    } else if (growth->Count() > 0) {
                      seconds.push_back(Quantile(*growth, 0.95));
                    } else {
                      seconds.push_back(ZeroIfIdle(readings[seconds.size()]));
                    }
                  });
  return seconds;
}

}  // namespace gpuscaler
