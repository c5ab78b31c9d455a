#include "engine/first_token_bins.h"

#include <limits>
#include <memory>

#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr absl::Duration kSlo = absl::Seconds(2);

// A reading with these total first tokens within 1 s, within 3 s, and later.
std::shared_ptr<const Histogram> Counted(double fast, double slow, double slowest) {
  return std::make_shared<const Histogram>(
      Histogram{.buckets = {{1, fast}, {3, fast + slow}, {kInfinite, fast + slow + slowest}}});
}

TimedReading At(int second, std::shared_ptr<const Histogram> counted, double waiting = 0) {
  return {.at = Second(second), .waiting = waiting, .first_token_seconds = std::move(counted)};
}

TEST(FirstTokenBins, CountsLateFirstTokensPerBin) {
  FirstTokenBins first_tokens;
  first_tokens.Take(At(0, Counted(100, 0, 0)));
  first_tokens.Take(At(5, Counted(104, 0, 0)));
  first_tokens.Take(At(10, Counted(108, 0, 0)));
  first_tokens.Take(At(15, Counted(108, 8, 3)));
  const std::vector<FirstTokenBin> bins = first_tokens.Bins(kSlo);
  ASSERT_THAT(bins, SizeIs(2));
  EXPECT_EQ(bins[0].begin, Second(0));
  EXPECT_EQ(bins[0].first_tokens, 8);
  EXPECT_EQ(bins[0].late, 0);
  EXPECT_EQ(bins[1].begin, Second(10));
  EXPECT_EQ(bins[1].first_tokens, 11);
  EXPECT_EQ(bins[1].late, 4 + 3) << "2 s is the middle of the bucket from 1 s to 3 s";
}

TEST(FirstTokenBins, NoneIsLateAboveTheLargestFiniteBound) {
  FirstTokenBins first_tokens;
  first_tokens.Take(At(0, Counted(0, 0, 0)));
  first_tokens.Take(At(5, Counted(0, 0, 10)));
  EXPECT_EQ(first_tokens.Bins(absl::Seconds(2))[0].late, 10);
  EXPECT_EQ(first_tokens.Bins(absl::Seconds(5))[0].late, 0);
}

TEST(FirstTokenBins, CongestedWhileRequestsWaitOrTheCacheIsFull) {
  FirstTokenBins first_tokens;
  first_tokens.Take(At(0, Counted(0, 0, 0), 5));
  first_tokens.Take(At(2, Counted(1, 0, 0), 5));
  first_tokens.Take(At(4, Counted(2, 0, 0), 0));
  TimedReading full = At(7, Counted(3, 0, 0));
  full.kv_cache_usage_ratio = 0.9;
  first_tokens.Take(full);
  EXPECT_EQ(first_tokens.Bins(kSlo)[0].congested, absl::Seconds(2 + 3));
  EXPECT_EQ(first_tokens.Bins(kSlo)[0].waiting, 0) << "at the end";
}

TEST(FirstTokenBins, RestartedProcessCountsFromItsFirstReading) {
  FirstTokenBins first_tokens;
  first_tokens.Take(At(0, Counted(50, 0, 50)));
  TimedReading restarted = At(10, Counted(1, 0, 0));
  restarted.continues = false;
  first_tokens.Take(restarted);
  first_tokens.Take(At(15, Counted(2, 0, 0)));
  const std::vector<FirstTokenBin> bins = first_tokens.Bins(kSlo);
  ASSERT_THAT(bins, SizeIs(2));
  EXPECT_EQ(bins[0].first_tokens, 0);
  EXPECT_EQ(bins[1].first_tokens, 1);
}

// Some engines export the histogram only after the first request.
TEST(FirstTokenBins, HistogramWithoutBoundsIsEmpty) {
  FirstTokenBins first_tokens;
  first_tokens.Take(At(0, std::make_shared<const Histogram>(UnobservedHistogram())));
  first_tokens.Take(At(5, Counted(0, 0, 4)));
  EXPECT_EQ(first_tokens.Bins(kSlo)[0].first_tokens, 4);
  EXPECT_EQ(first_tokens.Bins(kSlo)[0].late, 4);
}

TEST(FirstTokenBins, TwelveMinutesAreKept) {
  FirstTokenBins first_tokens;
  for (int second = 0; second <= 3600; ++second) {
    first_tokens.Take(At(second, Counted(second, 0, 0)));
  }
  const std::vector<FirstTokenBin> bins = first_tokens.Bins(kSlo);
  EXPECT_EQ(bins.front().begin, Second(3600 - 720));
  EXPECT_EQ(bins.size(), 72u);
}

TEST(FirstTokenBins, IdleEngineCostsNoHistogramForEachBin) {
  FirstTokenBins idle;
  FirstTokenBins busy;
  for (int second = 0; second <= 600; ++second) {
    idle.Take(At(second, Counted(7, 0, 0)));
    busy.Take(At(second, Counted(second, 0, 0)));
  }
  EXPECT_LT(2 * idle.Bytes(), busy.Bytes());
}

TEST(FirstTokenBins, ReadingWithoutAHistogramIsSkipped) {
  FirstTokenBins first_tokens;
  first_tokens.Take(At(0, nullptr));
  EXPECT_THAT(first_tokens.Bins(kSlo), IsEmpty());
  first_tokens.Take(At(1, Counted(1, 0, 0)));
  first_tokens.Take(At(2, nullptr));
  first_tokens.Take(At(3, Counted(3, 0, 0)));
  EXPECT_EQ(first_tokens.Bins(kSlo)[0].first_tokens, 2);
  first_tokens.Forget();
  EXPECT_THAT(first_tokens.Bins(kSlo), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
