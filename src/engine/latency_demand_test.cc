#include "engine/latency_demand.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

constexpr int kNow = 3600;

absl::Time Instant(int second) { return absl::FromUnixSeconds(1'000'000'000 + second); }

// Each engine has 10 requests per 10 s.
class LatencyDemandTest : public testing::Test {
 protected:
  // Adds `engines` engines that are present from second `first` on.
  void Add(int engines, int first = 0) {
    for (int i = 0; i < engines; ++i) {
      EngineDemand sums{.first_at = Instant(first), .newest_at = Instant(kNow)};
      for (int second = std::max(first, kNow - 660); second < kNow; second += 10) {
        sums.first_tokens.push_back({.begin = Instant(second), .first_tokens = 10});
      }
      all_.push_back(std::move(sums));
    }
  }

  // Makes first tokens late in each engine that was present.
  void MakeLate(int from, int until, double late = 1, absl::Duration congested = kDemandBin) {
    for (EngineDemand& sums : all_) {
      for (FirstTokenBin& bin : sums.first_tokens) {
        if (bin.begin < Instant(from) || bin.begin >= Instant(until)) continue;
        bin.late = late;
        bin.congested = congested;
      }
    }
  }

  std::optional<LatencyDemand> Result() const {
    std::vector<EngineDemandInput> engines;
    for (const EngineDemand& sums : all_) engines.push_back({.sums = &sums});
    return LatencyDemandOf(engines, Instant(kNow));
  }

  double Replicas() const { return Result().value_or(LatencyDemand()).replicas; }

  std::vector<EngineDemand> all_;
};

TEST_F(LatencyDemandTest, LateFirstTokensAddOneReplica) {
  Add(4);
  EXPECT_EQ(Result(), std::nullopt);
  MakeLate(kNow - 120, kNow);
  EXPECT_EQ(Replicas(), 5);
  EXPECT_THAT(LatencyText(*Result()), HasSubstr("5 replicas: 10 % of a minute's first tokens"));
}

TEST_F(LatencyDemandTest, UpToOneInTwentyMayBeLate) {
  Add(2);
  MakeLate(kNow - 600, kNow, 0.5);
  EXPECT_EQ(Result(), std::nullopt);
  MakeLate(kNow - 600, kNow, 0.6);
  EXPECT_EQ(Replicas(), 3);
}

// More replicas do not shorten a prompt.
TEST_F(LatencyDemandTest, NoReplicaIsAddedIfNoRequestWaits) {
  Add(2);
  MakeLate(kNow - 600, kNow, 10, absl::Seconds(4));
  EXPECT_EQ(Result(), std::nullopt);
  MakeLate(kNow - 600, kNow, 10, absl::Seconds(5));
  EXPECT_EQ(Replicas(), 3);
}

// The present replicas serve the queue.
TEST_F(LatencyDemandTest, AShrinkingQueueAddsNoReplica) {
  Add(2);
  MakeLate(kNow - 60, kNow);
  // The queue was that long ten minutes ago and is 100 long now.
  const auto shrink_from = [this](double requests) {
    for (EngineDemand& sums : all_) {
      for (FirstTokenBin& bin : sums.first_tokens) {
        bin.waiting = 100 + (requests - 100) *
                                absl::FDivDuration(Instant(kNow) - bin.begin, absl::Minutes(10));
      }
    }
  };
  shrink_from(250);
  EXPECT_EQ(Result(), std::nullopt);
  shrink_from(150);
  EXPECT_EQ(Replicas(), 3);
}

TEST_F(LatencyDemandTest, TheReplicaIsKeptForTenMinutes) {
  Add(2);
  MakeLate(kNow - 660, kNow - 630, 5);
  EXPECT_EQ(Result(), std::nullopt)
      << "the last minute with half of it in it ended ten minutes ago";
  MakeLate(kNow - 650, kNow - 620, 5);
  EXPECT_EQ(Replicas(), 3);
  EXPECT_EQ(Result()->age, absl::Minutes(9) + absl::Seconds(50));
}

TEST_F(LatencyDemandTest, NoReplicaIsAddedWithinAMinuteOfANewOne) {
  Add(2);
  Add(1, kNow - 50);
  MakeLate(kNow - 60, kNow);
  EXPECT_EQ(Result(), std::nullopt);
}

TEST_F(LatencyDemandTest, AnotherReplicaIsAddedIfTheLastOneDidNotHelp) {
  Add(2);
  Add(1, kNow - 200);
  MakeLate(kNow - 660, kNow);
  EXPECT_EQ(Replicas(), 4);
}

TEST_F(LatencyDemandTest, AtMostThreeReplicasInTenMinutes) {
  Add(2);
  for (const int first : {500, 400, 300, 200, 100}) Add(1, kNow - first);
  MakeLate(kNow - 660, kNow);
  EXPECT_EQ(Replicas(), 5);
}

// The HPA ignores changes within 10 %.
TEST_F(LatencyDemandTest, LargeWorkloadsAddMoreThanATenth) {
  Add(20);
  MakeLate(kNow - 120, kNow);
  EXPECT_GT(Replicas(), 22);
  EXPECT_LT(Replicas(), 22.1);
}

TEST_F(LatencyDemandTest, FewRequestsAddNoReplica) {
  Add(1);
  for (FirstTokenBin& bin : all_[0].first_tokens) bin.first_tokens = 3;
  MakeLate(kNow - 660, kNow, 3);
  EXPECT_EQ(Result(), std::nullopt);
}

TEST_F(LatencyDemandTest, DepartedEnginesCountUntilTheyLeft) {
  Add(3);
  MakeLate(kNow - 660, kNow - 300);
  all_[0].newest_at = Instant(kNow - 200);
  EXPECT_EQ(Replicas(), 4);
}

}  // namespace
}  // namespace gpuscaler
