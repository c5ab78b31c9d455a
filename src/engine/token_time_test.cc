#include "engine/token_time.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// The batches cover a minute and take `seconds` per token.
ServiceSums Batches(double n, double seconds, double cache_ratio = 0.1) {
  const double tokens = 60 * n / seconds;
  return {.seconds = 60,
          .tokens = tokens,
          .running_tokens = n * tokens,
          .running_squared_tokens = n * n * tokens,
          .running_seconds = n * 60,
          .running_squared_seconds = n * n * 60,
          .kv_seconds = cache_ratio * 60,
          .kv_running_seconds = n * 60,
          .largest_batch = n};
}

constexpr double kLeastTime = 0.012;  // the least of the batches below

ServiceSums Both(ServiceSums one, const ServiceSums& other) { return one += other; }

TEST(TokenTime, IsALineThroughBatchesOfDifferentSizes) {
  const auto time = TokenTimeOf(Both(Batches(10, 0.012), Batches(60, 0.022)));
  ASSERT_TRUE(time.has_value());
  EXPECT_NEAR(time->base, 0.010, 1e-6);
  EXPECT_NEAR(time->slope, 0.0002, 1e-7);
}

TEST(TokenTime, HasNoSlopeIfBatchesHaveOneSize) {
  const auto time = TokenTimeOf(Batches(10, 0.012));
  ASSERT_TRUE(time.has_value());
  EXPECT_NEAR(time->At(100), 0.012, 1e-6);
  EXPECT_FALSE(TokenTimeOf(ServiceSums()).has_value());
}

TEST(AdjustedToNewest, RotatesTheLineAboutItsBase) {
  const ServiceSums earlier = Both(Batches(10, 0.012), Batches(60, 0.022));
  const ServiceSums newest = Batches(20, 0.026, 0.3);  // longer prompts
  const ServiceSums sums = AdjustedToNewest(newest, kLeastTime, earlier);
  const auto time = TokenTimeOf(sums);
  EXPECT_NEAR(time->base, 0.010, 1e-6);
  EXPECT_NEAR(time->At(20), 0.026, 1e-6);
  EXPECT_NEAR(sums.kv_seconds / sums.kv_running_seconds, 0.3 / 20, 1e-9);
  EXPECT_EQ(sums.seconds, earlier.seconds);
}

TEST(AdjustedToNewest, AlsoFollowsShorterRequests) {
  const ServiceSums earlier = Both(Batches(10, 0.012), Batches(60, 0.022));
  const auto time = TokenTimeOf(AdjustedToNewest(Batches(50, 0.011), kLeastTime, earlier));
  EXPECT_NEAR(time->base, 0.010, 1e-6);
  EXPECT_NEAR(time->At(50), 0.011, 1e-6);
}

// An engine that became faster: no slope from the base reaches it.
TEST(AdjustedToNewest, ScalesTheLineIfTheyTakeLessThanItsBase) {
  const ServiceSums earlier = Both(Batches(10, 0.012), Batches(60, 0.022));
  const auto time = TokenTimeOf(AdjustedToNewest(Batches(60, 0.009), kLeastTime, earlier));
  EXPECT_NEAR(time->At(60), 0.009, 1e-6);
  EXPECT_NEAR(time->base, 0.010 * 9 / 22, 1e-6);
}

TEST(AdjustedToNewest, IgnoresSmallDifferences) {
  const ServiceSums earlier = Both(Batches(10, 0.012), Batches(60, 0.022));
  EXPECT_EQ(AdjustedToNewest(Batches(10, 0.0123), kLeastTime, earlier), earlier);
  EXPECT_EQ(AdjustedToNewest(Batches(10, 0.0110), kLeastTime, earlier), earlier);
}

// A threshold would change the capacity each time that noise crosses it.
TEST(AdjustedToNewest, WeightsDifferencesInBetween) {
  const ServiceSums earlier = Both(Batches(10, 0.012), Batches(60, 0.022));
  const auto slope = [&](double more) {
    return TokenTimeOf(AdjustedToNewest(Batches(10, 0.012 * more), kLeastTime, earlier))->slope;
  };
  EXPECT_NEAR(slope(1.05), 0.0002 + 0.5 * 0.00006, 1e-8);
  EXPECT_NEAR(slope(1.07), 0.0002 + 0.000084, 1e-8);
  EXPECT_NEAR(slope(1.0301), slope(1.0299), 1e-6);
  EXPECT_NEAR(slope(0.85), 0.0002 - 0.5 * 0.00018, 1e-8);
}

// Requests of two lengths, the longer ones in large batches, fit a steep line without a base. All
// batches would then have the same throughput, and no number of replicas would be too large.
TEST(AdjustedToNewest, KeepsAMinimumBase) {
  const ServiceSums earlier = Both(Batches(10, 0.008), Batches(60, 0.060));
  ASSERT_EQ(TokenTimeOf(earlier)->base, 0);
  const auto time = TokenTimeOf(AdjustedToNewest(Batches(30, 0.040), 0.008, earlier));
  EXPECT_NEAR(time->base, 0.004, 1e-6);
  EXPECT_NEAR(time->At(30), 0.040, 1e-6);
}

// Small batches took longer than large ones, so the fit has no slope.
TEST(AdjustedToNewest, PassesThroughTheNewestRequests) {
  const ServiceSums slow_first = Both(Batches(10, 0.022), Batches(60, 0.012));
  EXPECT_NEAR(TokenTimeOf(AdjustedToNewest(Batches(20, 0.026), 0.012, slow_first))->At(20), 0.026,
              1e-6);
  const ServiceSums steep = Both(Batches(10, 0.004), Batches(60, 0.060));
  const ServiceSums turned = AdjustedToNewest(Batches(60, 0.008), 0.004, steep);
  EXPECT_GT(turned.running_seconds, 0);
  EXPECT_NEAR(TokenTimeOf(turned)->At(60), 0.008, 1e-6);
}

// After a load step from batches of 10 to batches of 60 the difference in time is their slope.
TEST(AdjustedToNewest, IgnoresBatchesOfOneSize) {
  const ServiceSums earlier = Batches(10, 0.012);
  EXPECT_EQ(AdjustedToNewest(Batches(60, 0.022, 0.6), kLeastTime, earlier), earlier);
}

TEST(WithBatchSizesOf, FitsFormerBatchesThroughRequestsWithoutASlope) {
  const ServiceSums former = Both(Batches(10, 0.012), Batches(60, 0.022));
  const TokenTime time = *TokenTimeOf(WithBatchSizesOf(former, Batches(4, 0.016)));
  EXPECT_NEAR(time.base, 0.008, 1e-6) << "half of the time per token";
  EXPECT_NEAR(time.At(4), 0.016, 1e-6);
  const TokenTime slow = *TokenTimeOf(WithBatchSizesOf(former, Batches(4, 0.024)));
  EXPECT_NEAR(slow.base, 0.010, 1e-6) << "the former base";
  EXPECT_NEAR(slow.At(4), 0.024, 1e-6);
}

TEST(WithBatchSizesOf, AddsNothingIfRequestsHaveASlope) {
  const ServiceSums own = Both(Batches(4, 0.016), Batches(12, 0.024));
  EXPECT_EQ(WithBatchSizesOf(Batches(10, 0.012), own), own);
  EXPECT_EQ(WithBatchSizesOf(ServiceSums(), Batches(4, 0.016)), Batches(4, 0.016));
}

TEST(WithBatchSizesOf, IgnoresFormerCacheAndBatch) {
  const ServiceSums sums = WithBatchSizesOf(Batches(60, 0.022, 0.9), Batches(4, 0.016, 0.2));
  EXPECT_NEAR(sums.kv_seconds / sums.kv_running_seconds, 0.05, 1e-6);
  EXPECT_EQ(sums.largest_batch, 4);
}

}  // namespace
}  // namespace gpuscaler
