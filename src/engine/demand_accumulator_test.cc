#include "engine/demand_accumulator.h"

#include "engine/demand.h"
#include "engine/token_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

absl::Time Second(int second) { return absl::FromUnixSeconds(1'000'000'000 + second); }

// With n running requests, tokens come at n / (0.02 + 0.001 n) per second.
ServiceReading Running(int second, double running, double done, double tokens) {
  return {.at = Second(second),
          .continues = true,
          .waiting = 0,
          .running = running,
          .kv_cache_usage_ratio = 0.01 * running,
          .requests_done = done,
          .generation_tokens = tokens,
          .answers = {},
          .answer_tokens = {},
          .counters_began = {}};
}

double Arrived(const DemandAccumulator& demand) {
  double sum = 0;
  const std::optional<EngineDemand> sums = demand.Sums();
  for (const RequestBin& bin : sums->bins) sum += bin.arrived;
  return sum;
}

TEST(DemandAccumulator, ArrivalsAreFinishedPlusNewInFlightRequests) {
  DemandAccumulator demand;
  demand.Take(Running(0, 10, 1000, 0));
  EXPECT_EQ(Arrived(demand), 0) << "what came before the first reading is of another time";
  demand.Take(Running(1, 12, 1003, 0));
  EXPECT_NEAR(Arrived(demand), 5, 1e-9);
  demand.Take(Running(2, 8, 1007, 0));
  EXPECT_NEAR(Arrived(demand), 5, 1e-9);
}

TEST(DemandAccumulator, AProcessWithoutFinishedRequestsIsNew) {
  DemandAccumulator demand;
  demand.Take(Running(0, 7, 0, 0));
  EXPECT_TRUE(demand.Sums()->began_here);
  EXPECT_NEAR(Arrived(demand), 7, 1e-9);
}

TEST(DemandAccumulator, ARestartCountsTheNewProcess) {
  DemandAccumulator demand;
  demand.Take(Running(0, 10, 1000, 0));
  ServiceReading restarted = Running(5, 3, 4, 0);
  restarted.continues = false;
  restarted.counters_began = absl::ToDoubleSeconds(Second(2) - absl::UnixEpoch());
  demand.Take(restarted);
  EXPECT_NEAR(Arrived(demand), 7, 1e-9);
}

TEST(DemandAccumulator, CountersOfAnotherPodAddNoArrivals) {
  DemandAccumulator demand;
  demand.Take(Running(0, 10, 50'000, 0));
  ServiceReading other = Running(1, 12, 48'000, 0);
  other.continues = false;
  demand.Take(other);
  EXPECT_NEAR(Arrived(demand), 0, 1e-9) << "its process has run for long";
}

TEST(DemandAccumulator, AReadingWithoutCountersIsSkipped) {
  DemandAccumulator demand;
  demand.Take(Running(0, 10, 1000, 0));
  demand.Take({.at = Second(1), .waiting = 0, .running = 5});
  EXPECT_EQ(demand.Sums()->newest_at, Second(0));
  demand.Take(Running(20, 10, 1040, 0));
  const EngineDemand sums = *demand.Sums();
  ASSERT_EQ(sums.bins.size(), 2u);
  EXPECT_NEAR(sums.bins[0].arrived, 20, 1e-9) << "spread over the gap";
  EXPECT_NEAR(sums.bins[1].arrived, 20, 1e-9);
}

TEST(DemandAccumulator, TimePerTokenIsFittedOverTheBatch) {
  DemandAccumulator demand;
  double tokens = 0;
  demand.Take(Running(0, 4, 100, 0));
  for (int second = 1; second < 300; ++second) {
    const double n = second < 150 ? 4 : 24;
    const double before = second - 1 < 150 ? 4 : 24;
    const double batch = (n + before) / 2;
    tokens += batch / (0.02 + 0.001 * batch);
    demand.Take(Running(second, n, 100, tokens));
  }
  const EngineDemand sums = *demand.Sums();
  const std::optional<TokenTime> time = TokenTimeOf(sums.service);
  ASSERT_TRUE(time.has_value());
  EXPECT_NEAR(time->base, 0.02, 3e-4);
  EXPECT_NEAR(time->slope, 0.001, 1e-5);
  EXPECT_EQ(sums.service.largest_batch, 24);
  EXPECT_NEAR(sums.service.kv_seconds / sums.service.kv_running_seconds, 0.01, 1e-6);
}

// Longer prompts turn the fit. If an engine counts the tokens of an answer at its end, the tokens
// of some minutes belong to other batches and turn nothing.
TEST(DemandAccumulator, NewestTimePerTokenAdjustsTheFitUnlessTokensAreCountedAtTheEnd) {
  for (const bool counts_ended : {false, true}) {
    DemandAccumulator demand;
    double tokens = 0;
    for (int second = 0; second <= 1200; ++second) {
      const double n = second % 600 < 300 ? 6 : 24;
      ServiceReading reading = Running(second, n, 100, tokens);
      reading.answer_tokens = counts_ended ? tokens : tokens - n;
      demand.Take(reading);
      tokens += n / (0.02 + (second < 900 ? 0.001 : 0.002) * n);
    }
    const double slope = TokenTimeOf(demand.Sums()->service)->slope;
    if (counts_ended)
      EXPECT_LT(slope, 0.0018);
    else
      EXPECT_GT(slope, 0.0018);
  }
}

// The fit of each kind returns with its requests.
TEST(DemandAccumulator, RequestsOfTwoKindsAreFittedSeparately) {
  DemandAccumulator demand;
  double tokens = 0, answers = 0, answer_tokens = 0;
  int second = 0;
  const auto run = [&](int until, double length, double slope, double largest) {
    for (; second <= until; ++second) {
      const double n = second % 600 < 300 ? largest / 4 : largest;
      ServiceReading reading = Running(second, n, answers, tokens);
      reading.answers = answers;
      reading.answer_tokens = answer_tokens;
      demand.Take(reading);
      tokens += n / (0.02 + slope * n);
      answers += n / (0.02 + slope * n) / length;
      answer_tokens = answers * length;
    }
    return TokenTimeOf(demand.Sums()->service)->slope;
  };
  EXPECT_NEAR(run(1200, 200, 0.001, 120), 0.001, 1e-4);
  EXPECT_NEAR(run(2400, 40, 0.003, 24), 0.003, 3e-4);
  EXPECT_NEAR(run(2700, 200, 0.001, 120), 0.001, 1e-4);
}

TEST(DemandAccumulator, TheFirstMinuteOfAProcessIsNotFitted) {
  DemandAccumulator demand;
  for (int second = 0; second <= 60; ++second) demand.Take(Running(second, 8, 0, 10 * second));
  EXPECT_EQ(demand.Sums()->service.tokens, 0);
  for (int second = 61; second <= 70; ++second) {
    demand.Take(Running(second, 8, 0, 600 + 100 * (second - 60)));
  }
  EXPECT_EQ(demand.Sums()->service.tokens, 1000);
}

TEST(DemandAccumulator, ASingleRequestIsNoBatch) {
  DemandAccumulator demand;
  for (int second = 0; second < 100; ++second) demand.Take(Running(second, 1, 100, second));
  EXPECT_EQ(demand.Sums()->service.seconds, 0);
}

TEST(DemandAccumulator, TheBatchInALongGapIsUnknown) {
  DemandAccumulator demand;
  demand.Take(Running(0, 8, 100, 0));
  demand.Take(Running(31, 8, 100, 5000));
  EXPECT_EQ(demand.Sums()->service.seconds, 0);
}

TEST(DemandAccumulator, BusyTimeIsKeptWhileTheEngineIsIdle) {
  DemandAccumulator demand;
  for (int second = 0; second <= 300; ++second) {
    demand.Take(Running(second, 8, 100, 100.0 * second));
  }
  for (int minute = 6; minute < 120; ++minute) {
    demand.Take(Running(60 * minute, 0, 108, 30000));
  }
  EXPECT_NEAR(demand.Sums()->service.seconds, 300, 1e-9);
  demand.Take(Running(25 * 3600, 0, 108, 30000));
  EXPECT_EQ(demand.Sums()->service.seconds, 0) << "for a day";
}

TEST(DemandAccumulator, FullerBatchesAreKeptUnderAConstantLoad) {
  DemandAccumulator demand;
  for (int second = 0; second < 300; ++second) demand.Take(Running(second, 60, 0, 900.0 * second));
  for (int second = 300; second < 7200; ++second) {
    demand.Take(Running(second, 8, 0, 900.0 * 299 + 200.0 * (second - 299)));
  }
  const ServiceSums service = demand.Sums()->service;
  EXPECT_EQ(service.largest_batch, 60);
  EXPECT_LT(service.seconds, 2 * 300 + 100) << "5 min of each class of batches";
  EXPECT_GT(service.running_seconds / service.seconds, 20);
}

TEST(DemandAccumulator, MemoryIsBounded) {
  DemandAccumulator demand;
  for (int second = 0; second < 36000; ++second) {
    demand.Take(Running(second, 8, second, 100.0 * second));
  }
  EXPECT_LE(demand.Sums()->bins.size(), 92u);
  EXPECT_LE(demand.Bytes(), size_t{16} << 10);
}

}  // namespace
}  // namespace gpuscaler
