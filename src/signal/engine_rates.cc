#include "signal/engine_rates.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gpuscaler {
namespace {

// The readings that have a field: which they are, and whether the counters went on between them.
struct Instants {
  std::vector<CounterInstant> instants;
  std::vector<size_t> readings;
};

template <typename Field>
Instants InstantsOf(std::span<const TimedReading> readings, Field field) {
  Instants found;
  bool goes_on = true;
  for (size_t i = 0; i < readings.size(); ++i) {
    if (!readings[i].goes_on) goes_on = false;
    if (!(readings[i].reading.*field).has_value()) continue;
    found.instants.push_back({.at = readings[i].at, .goes_on = goes_on});
    found.readings.push_back(i);
    goes_on = true;
  }
  return found;
}

bool HasFallen(std::optional<double> older, std::optional<double> newer) {
  return older.has_value() && newer.has_value() && *newer < *older;
}

bool HasFallen(const std::optional<Histogram>& older, const std::optional<Histogram>& newer) {
  if (!older.has_value() || !newer.has_value()) return false;
  if (!HaveSameBounds(*older, *newer)) return true;  // another process
  for (size_t i = 0; i < newer->buckets.size(); ++i) {
    if (newer->buckets[i].count < older->buckets[i].count) return true;
  }
  return false;
}

// False where the bounds are others.
bool AddGrowth(const Histogram& first, const Histogram& last, Histogram& sum) {
  if (sum.buckets.empty()) {
    sum = last;
    for (Histogram::Bucket& bucket : sum.buckets) bucket.count = 0;
  }
  if (!HaveSameBounds(sum, first) || !HaveSameBounds(sum, last)) return false;
  for (size_t i = 0; i < sum.buckets.size(); ++i) {
    sum.buckets[i].count += last.buckets[i].count - first.buckets[i].count;
  }
  return true;
}

// Some engines never tell how many run; one that does not tell who waits may have anybody waiting.
bool SaysThatItHasNoRequests(const ModelReading& reading) {
  return reading.waiting == 0.0 && (!reading.running.has_value() || reading.running == 0.0);
}

std::optional<double> OfNone(std::span<const TimedReading> readings) {
  return SaysThatItHasNoRequests(readings.back().reading) ? std::optional(0.0) : std::nullopt;
}

}  // namespace

bool CountersGoOn(const ModelReading& older, const ModelReading& newer) {
  if (older.counters_began.has_value() && newer.counters_began.has_value() &&
      *older.counters_began != *newer.counters_began) {
    return false;
  }
  const auto has_fallen = [&](auto counter) { return HasFallen(older.*counter, newer.*counter); };
  return std::ranges::none_of(kModelCounters, has_fallen) &&
         std::ranges::none_of(kModelHistograms, has_fallen);
}

void Append(std::vector<TimedReading>& readings, absl::Time at, ModelReading reading) {
  const bool goes_on = readings.empty() || CountersGoOn(readings.back().reading, reading);
  readings.push_back({.at = at, .reading = std::move(reading), .goes_on = goes_on});
}

std::optional<Growth> GrowthOf(std::span<const TimedReading> readings, ModelNumber counter,
                               const CounterLookBack& look_back) {
  const Instants found = InstantsOf(readings, counter);
  std::vector<CounterPoint> points;
  for (size_t i = 0; i < found.readings.size(); ++i) {
    points.push_back(
        {.instant = found.instants[i], .value = *(readings[found.readings[i]].reading.*counter)});
  }
  return GrowthOf(points, look_back);
}

std::optional<Histogram> GrowthOf(std::span<const TimedReading> readings, ModelHistogram histogram,
                                  const CounterLookBack& look_back) {
  const Instants found = InstantsOf(readings, histogram);
  const std::optional<CounterWindow> window = WindowOf(found.instants, look_back);
  if (!window.has_value()) return std::nullopt;
  Histogram growth;
  for (const CounterRun& run : window->runs) {
    const auto& first = readings[found.readings[run.first]].reading.*histogram;
    const auto& last = readings[found.readings[run.last]].reading.*histogram;
    if (!AddGrowth(*first, *last, growth)) return std::nullopt;
  }
  return growth;
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

std::optional<double> MeanQueueSeconds(std::span<const TimedReading> readings,
                                       const CounterLookBack& look_back) {
  const auto left = GrowthOf(readings, &ModelReading::queued_requests, look_back);
  const auto waited = GrowthOf(readings, &ModelReading::queue_seconds, look_back);
  if (!left.has_value() || !waited.has_value()) return std::nullopt;
  return left->by > 0 ? std::optional(waited->by / left->by) : OfNone(readings);
}

std::optional<double> P95Seconds(std::span<const TimedReading> readings, ModelHistogram latency,
                                 const CounterLookBack& look_back) {
  const auto growth = GrowthOf(readings, latency, look_back);
  if (!growth.has_value()) return std::nullopt;
  return growth->Count() > 0 ? Quantile(*growth, 0.95) : OfNone(readings);
}

}  // namespace gpuscaler
