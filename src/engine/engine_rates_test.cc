#include "engine/engine_rates.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::DoubleNear;
using testing::Optional;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const absl::Time kFirst = absl::FromUnixSeconds(1'767'225'600);
constexpr CounterLookBack kQuarterMinute = {.window = absl::Seconds(15),
                                            .max_gap = absl::Seconds(10)};

// The buckets up to 0.1, 0.5, 1 and infinite seconds.
Histogram CountsOf(double a, double b, double c, double all) {
  return {.buckets = {{0.1, a}, {0.5, b}, {1, c}, {kInfinity, all}}};
}

// Readings 5 s apart.
StoredReadings Every5Seconds(const std::vector<ModelReading>& readings) {
  StoredReadings kept;
  for (const ModelReading& reading : readings) {
    kept.AddReading(kFirst + static_cast<int>(kept.all().size()) * absl::Seconds(5), reading);
  }
  return kept;
}

// The values at the newest reading.
double RateOf(const StoredReadings& readings) {
  const auto growth =
      GrowthAtReadings(readings.all(), &TimedReading::requests_done, kQuarterMinute).back();
  return growth.has_value() ? growth->PerSecond() : std::nan("");
}
std::optional<double> MeanQueueSecondsOf(const StoredReadings& readings) {
  return MeanQueueSeconds(readings.all(), kQuarterMinute).back();
}
std::optional<double> P95SecondsOf(const StoredReadings& readings) {
  return P95Seconds(readings.all(), &TimedReading::first_token_seconds, kQuarterMinute).back();
}

TEST(EngineRates, RateIsGrowthPerTimeBetweenReadings) {
  EXPECT_EQ(RateOf(Every5Seconds({{.requests_done = 0},
                                  {.requests_done = 50},
                                  {.requests_done = 100},
                                  {.requests_done = 150}})),
            10);
  EXPECT_TRUE(std::isnan(RateOf(Every5Seconds({{.requests_done = 0}, {.requests_done = 50}}))))
      << "a third of the window is too little";
}

TEST(EngineRates, ReadingsWithoutTheCounterAreSkipped) {
  EXPECT_EQ(RateOf(Every5Seconds(
                {{.requests_done = 0}, {.requests_done = 50}, {}, {.requests_done = 150}})),
            10);
}

TEST(EngineRates, OneLowerCounterMeansAllRestarted) {
  // 150 done since the restart exceed the 100 before it. The tokens show the restart.
  const auto readings = Every5Seconds({{.requests_done = 0, .generation_tokens = 8000},
                                       {.requests_done = 50, .generation_tokens = 9000},
                                       {.requests_done = 100, .generation_tokens = 9500},
                                       {.requests_done = 150, .generation_tokens = 100}});
  EXPECT_EQ(RateOf(readings), 10) << "of the 10 s before";
  const auto fallen = Every5Seconds({{.requests_done = 60},
                                     {.requests_done = 110},
                                     {.generation_tokens = 9},
                                     {.generation_tokens = 5},
                                     {.requests_done = 120},
                                     {.requests_done = 170}});
  EXPECT_TRUE(std::isnan(RateOf(fallen))) << "a restart between readings with the counter";
}

TEST(EngineRates, NewProcessStartRestartsTheCounters) {
  const ModelReading before{.requests_done = 50, .counters_began = 1000};
  EXPECT_TRUE(CountersGoOn(before, {.requests_done = 60, .counters_began = 1000}));
  EXPECT_TRUE(CountersGoOn(before, {.requests_done = 60}));
  EXPECT_FALSE(CountersGoOn(before, {.requests_done = 60, .counters_began = 1001}));
}

TEST(EngineRates, LowerBucketRestartsTheHistogram) {
  const ModelReading before{.first_token_seconds = CountsOf(1, 2, 3, 4)};
  EXPECT_TRUE(CountersGoOn(before, {.first_token_seconds = CountsOf(1, 2, 3, 4)}));
  EXPECT_FALSE(CountersGoOn(before, {.first_token_seconds = CountsOf(1, 2, 3, 3)}));
  EXPECT_FALSE(CountersGoOn(before, {.first_token_seconds = CountsOf(0, 20, 30, 40)}));
  const Histogram other_bounds{.buckets = {{0.2, 10}, {kInfinity, 20}}};
  EXPECT_FALSE(CountersGoOn(before, {.first_token_seconds = other_bounds}));
}

TEST(EngineRates, MeanWaitCoversRequestsThatLeftTheQueue) {
  const auto readings = Every5Seconds({{.queued_requests = 100, .queue_seconds = 1000},
                                       {.queued_requests = 104, .queue_seconds = 1001},
                                       {.queued_requests = 110, .queue_seconds = 1003}});
  EXPECT_THAT(MeanQueueSecondsOf(readings), Optional(0.3));
}

TEST(EngineRates, IdleEngineHasNoWait) {
  ModelReading idle{.waiting = 0,
                    .running = 0,
                    .queued_requests = 100,
                    .queue_seconds = 1000,
                    .first_token_seconds = CountsOf(1, 2, 3, 4)};
  const auto readings = Every5Seconds({idle, idle, idle});
  EXPECT_THAT(MeanQueueSecondsOf(readings), Optional(0));
  EXPECT_THAT(P95SecondsOf(readings), Optional(0));
}

TEST(EngineRates, WaitIsUnknownBeforeTheFirstRequestFinishes) {
  ModelReading stuck{.waiting = 7,
                     .running = 0,
                     .queued_requests = 100,
                     .queue_seconds = 1000,
                     .first_token_seconds = CountsOf(1, 2, 3, 4)};
  const auto readings = Every5Seconds({stuck, stuck, stuck});
  EXPECT_EQ(MeanQueueSecondsOf(readings), std::nullopt);
  EXPECT_EQ(P95SecondsOf(readings), std::nullopt);
}

TEST(EngineRates, EngineWithoutQueueGaugeIsNotIdle) {
  const struct {
    const char* name;
    std::optional<double> waiting;
    std::optional<double> running;
    std::optional<double> want;
  } rows[] = {
      {"no gauges", std::nullopt, std::nullopt, std::nullopt},
      {"running only", std::nullopt, 0, std::nullopt},
      {"waiting is NaN", std::nan(""), 0, std::nullopt},
      {"running is NaN", 0, std::nan(""), std::nullopt},
      {"none waits, one runs", 0, 1, std::nullopt},
      {"none waits, running is not exported", 0, std::nullopt, 0},
      {"none waits, none runs", 0, 0, 0},
  };
  for (const auto& row : rows) {
    const ModelReading still{.waiting = row.waiting,
                             .running = row.running,
                             .queued_requests = 100,
                             .queue_seconds = 1000,
                             .first_token_seconds = CountsOf(1, 2, 3, 4)};
    const auto readings = Every5Seconds({still, still, still});
    EXPECT_EQ(MeanQueueSecondsOf(readings), row.want) << row.name;
    EXPECT_EQ(P95SecondsOf(readings), row.want) << row.name;
  }
}

TEST(EngineRates, QuantileCoversTheWindowOnly) {
  const auto readings = Every5Seconds({{.first_token_seconds = CountsOf(0, 0, 0, 5000)},
                                       {.first_token_seconds = CountsOf(50, 50, 50, 5050)},
                                       {.first_token_seconds = CountsOf(90, 100, 100, 5100)}});
  EXPECT_THAT(P95SecondsOf(readings), Optional(DoubleNear(0.3, 1e-9)));
}

// All values were checked by hand against bucketQuantile() of promql/quantile.go.
TEST(EngineRates, LatenciesStartWithTheFirstRequests) {
  const ModelReading fresh = {
      .waiting = 0, .running = 0, .first_token_seconds = UnobservedHistogram()};
  EXPECT_THAT(P95SecondsOf(Every5Seconds({fresh, fresh, fresh})), Optional(0))
      << "no request waits";
  ModelReading running = fresh;
  running.running = 1;
  EXPECT_EQ(P95SecondsOf(Every5Seconds({fresh, fresh, running})), std::nullopt)
      << "the first latency is unknown";
  const ModelReading served = {
      .waiting = 0, .running = 0, .first_token_seconds = CountsOf(0, 4, 4, 4)};
  EXPECT_THAT(P95SecondsOf(Every5Seconds({fresh, fresh, served})), Optional(DoubleNear(0.48, 1e-9)))
      << "all that it counted is of this window";
  EXPECT_THAT(P95SecondsOf(Every5Seconds({fresh, fresh, served, served, served, served})),
              Optional(0))
      << "and not of the next";
  EXPECT_THAT(P95SecondsOf(Every5Seconds({served, served, fresh, fresh, served})),
              Optional(DoubleNear(0.48, 1e-9)))
      << "a restart between them";
}

TEST(EngineRates, ModelWithoutObservationsAddsNothing) {
  const EngineReading reading = {
      .models = {{.model = "a", .first_token_seconds = UnobservedHistogram()},
                 {.model = "b", .first_token_seconds = CountsOf(0, 4, 4, 4)},
                 {.model = "c", .first_token_seconds = UnobservedHistogram()}}};
  EXPECT_EQ(ReadingOf(reading, "")->first_token_seconds, CountsOf(0, 4, 4, 4));
}

TEST(Quantile, InterpolatesLinearlyWithinABucket) {
  const struct {
    const char* name;
    Histogram histogram;
    double share;
    std::optional<double> want;
  } rows[] = {
      {"in the middle of a bucket", CountsOf(0, 100, 100, 100), 0.5, 0.3},
      {"at a bucket's bound", CountsOf(50, 100, 100, 100), 0.5, 0.1},
      {"below the first bound: from 0", CountsOf(100, 100, 100, 100), 0.5, 0.05},
      {"above the last finite bound", CountsOf(0, 0, 10, 100), 0.95, 1},
      {"empty buckets are passed over", CountsOf(10, 10, 20, 20), 0.75, 0.75},
      {"a first bound that is not above 0", {.buckets = {{-1, 5}, {kInfinity, 5}}}, 0.5, -1},
      {"nothing counted", CountsOf(0, 0, 0, 0), 0.5, std::nullopt},
      {"no finite bound", {.buckets = {{kInfinity, 5}}}, 0.5, std::nullopt},
      {"no buckets", {}, 0.5, std::nullopt},
  };
  for (const auto& row : rows) {
    const auto got = Quantile(row.histogram, row.share);
    ASSERT_EQ(got.has_value(), row.want.has_value()) << row.name;
    if (got.has_value()) {
      EXPECT_NEAR(*got, *row.want, 1e-12) << row.name;
    }
  }
}

}  // namespace
}  // namespace gpuscaler
