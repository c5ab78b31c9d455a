#include "serve/waiting_calls.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'767'225'600);

TEST(WaitingCalls, CallIsRetriedUntilItAnswers) {
  WaitingCalls calls;
  int tries = 0;
  calls.Add(kNow + absl::Seconds(1), "a", 0, [&](bool last) {
    EXPECT_FALSE(last);
    return ++tries == 2;
  });
  EXPECT_EQ(calls.NextDeadline(), kNow + absl::Seconds(1));
  calls.Retry(kNow);
  EXPECT_EQ(tries, 1);
  calls.Retry(kNow);
  calls.Retry(kNow);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(calls.NextDeadline(), absl::InfiniteFuture());
}

TEST(WaitingCalls, DeadlineIsTheLastAttempt) {
  WaitingCalls calls;
  std::vector<bool> chances;
  calls.Add(kNow + absl::Seconds(1), "a", 0, [&](bool last) {
    chances.push_back(last);
    return last;
  });
  calls.Retry(kNow);
  calls.Retry(kNow + absl::Seconds(1));
  calls.Retry(kNow + absl::Seconds(2));
  EXPECT_THAT(chances, ::testing::ElementsAre(false, true));
}

TEST(WaitingCalls, ManyCallsTakeTurns) {
  constexpr size_t kCalls = 2 * WaitingCalls::kTriedAtOnce + 10;
  WaitingCalls calls;
  std::vector<int> tries(kCalls);
  for (size_t i = 0; i < kCalls; ++i) {
    const absl::Time deadline = i + 1 == kCalls ? kNow : kNow + absl::Seconds(1);
    calls.Add(deadline, "a", 0, [&, i](bool last) { return ++tries[i] > 0 && last; });
  }
  calls.Retry(kNow);
  EXPECT_EQ(std::ranges::count(tries, 1), WaitingCalls::kTriedAtOnce + 1);
  EXPECT_EQ(tries.back(), 1) << "it is due";
  for (int i = 0; i < 2; ++i) calls.Retry(kNow);
  EXPECT_EQ(std::ranges::count(tries, 0), 0);
  EXPECT_LE(*std::ranges::max_element(tries), 2);
  calls.Close();
  EXPECT_EQ(calls.size(), 0);
}

TEST(WaitingCalls, CloseAnswersAllCalls) {
  WaitingCalls calls;
  int answered = 0;
  const auto answer_last = [&](bool last) {
    if (last) ++answered;
    return last;
  };
  calls.Add(absl::InfiniteFuture(), "a", 0, answer_last);
  calls.Close();
  EXPECT_EQ(answered, 1);
  calls.Add(absl::InfiniteFuture(), "a", 0, answer_last);
  EXPECT_EQ(answered, 2) << "added after Close()";
}

TEST(WaitingCalls, CallBeyondTheMemoryLimitIsAnsweredAtOnce) {
  constexpr size_t kMiB = size_t{1} << 20;
  WaitingCalls calls;
  int answered = 0;
  const auto answer_last = [&](bool last) {
    if (last) ++answered;
    return last;
  };
  for (int i = 0; i < 3; ++i) calls.Add(kNow, "a", 10 * kMiB, answer_last);
  EXPECT_EQ(answered, 0);
  calls.Add(absl::InfiniteFuture(), "a", 10 * kMiB, answer_last);
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(calls.size(), 3);
  calls.Retry(kNow);
  EXPECT_EQ(answered, 4);
  EXPECT_EQ(calls.size(), 0);
  calls.Add(absl::InfiniteFuture(), "a", 30 * kMiB, answer_last);
  EXPECT_EQ(answered, 4) << "the answered ones hold nothing";
}

TEST(WaitingCalls, PeersTogetherCannotFillTheLimit) {
  WaitingCalls calls;
  int answered = 0;
  const auto answer_last = [&](bool last) {
    if (last) ++answered;
    return last;
  };
  for (int i = 0; i < 10'001; ++i) calls.Add(absl::InfiniteFuture(), "a", 1, answer_last);
  EXPECT_EQ(answered, 1) << "half of 20,000 wait";
  for (int i = 0; i < 5'001; ++i) calls.Add(absl::InfiniteFuture(), "b", 1, answer_last);
  EXPECT_EQ(answered, 2) << "and half of the rest";
  calls.Add(absl::InfiniteFuture(), "c", 1, answer_last);
  EXPECT_EQ(answered, 2);
  EXPECT_EQ(calls.size(), 15'001);
}

// Close() may be called while Retry() has taken the calls out.
TEST(WaitingCalls, NoCallIsLostBetweenRetryAndClose) {
  for (int round = 0; round < 200; ++round) {
    WaitingCalls calls;
    std::atomic<int> answered = 0;
    for (int i = 0; i < 20; ++i) {
      calls.Add(absl::InfiniteFuture(), "a", 0, [&](bool last) {
        if (last) ++answered;
        return last;
      });
    }
    std::thread retrying([&] { calls.Retry(kNow); });
    calls.Close();
    retrying.join();
    ASSERT_EQ(answered, 20) << "round " << round;
  }
}

}  // namespace
}  // namespace gpuscaler
