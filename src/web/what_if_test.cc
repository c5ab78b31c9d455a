#include "web/what_if.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/hpa.h"
#include "scaling/test_random.h"
#include "web/history_recorder.h"
#include "web/test_points.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::DoubleEq;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

std::vector<HistoryPoint> PointsWith(const std::vector<double>& values, int replicas) {
  std::vector<HistoryPoint> points;
  for (const double value : values) {
    points.push_back(PointAt(static_cast<int>(points.size()), value, replicas));
  }
  return points;
}

TEST(WhatIf, EqualsAnHpaThatIsDrivenDirectly) {
  ForManySeeds([](Random& random) {
    WhatIfOptions options{.target = random.Real(20, 90), .min_replicas = random.Whole(1, 3)};
    options.max_replicas = options.min_replicas + random.Whole(0, 12);
    options.scale_down_window = absl::Seconds(random.Whole(0, 600));
    if (random.OneIn(2)) options.pods_per_minute = random.Whole(1, 8);
    if (random.OneIn(3)) options.target_type = TargetType::kValue;

    HpaOptions hpa_options{.min_replicas = options.min_replicas,
                           .max_replicas = *options.max_replicas,
                           .target_type = options.target_type,
                           .target = *options.target};
    hpa_options.scale_down.stabilization_window = options.scale_down_window;
    if (options.pods_per_minute.has_value()) {
      const std::vector<HpaPolicy> policies = {
          {HpaPolicy::Type::kPods, *options.pods_per_minute, absl::Minutes(1)}};
      hpa_options.scale_up.policies = policies;
      hpa_options.scale_down.policies = policies;
    }
    Hpa hpa(hpa_options);

    std::vector<HistoryPoint> points;
    std::vector<std::optional<int>> want;
    std::optional<int> replicas;
    double load = random.Real(0, 500);
    for (int step = 0; step < 300; ++step) {
      if (random.OneIn(20)) load = random.Real(0, 800);
      if (random.OneIn(15)) {
        points.push_back(random.OneIn(2) ? NoRecordAt(step) : ErrorAt(step));
        want.emplace_back();
        continue;
      }
      const int recorded = random.Whole(1, 10);
      points.push_back(PointAt(step, load, recorded));
      if (!replicas) {
        replicas = std::clamp(recorded, options.min_replicas, *options.max_replicas);
      }
      const bool is_total = options.target_type == TargetType::kAverageValue;
      const double value = is_total ? load : load * recorded / *replicas;
      replicas = hpa.Sync(StepTime(step), *replicas, *replicas, value);
      want.push_back(replicas);
    }
    EXPECT_EQ(Replay(points, options).would.replicas, want);
  });
}

TEST(WhatIf, HappenedIsAsRecorded) {
  std::vector<HistoryPoint> points = PointsWith({100, 100, 200, 200}, 2);
  points[2] = ErrorAt(2);
  points[3].replicas = 3;
  const WhatIf result = Replay(points, {});
  EXPECT_THAT(result.happened.replicas,
              ElementsAre(Optional(2), Optional(2), std::nullopt, Optional(3)));
  EXPECT_EQ(result.would.replicas[2], std::nullopt);
}

TEST(WhatIf, MaximumIsTheMostThatIsRecorded) {
  EXPECT_THAT(Replay(PointsWith({9000, 9000, 9000}, 3), {}).would.replicas, Each(Optional(3)));
  const WhatIf more = Replay(PointsWith({9000, 9000, 9000}, 3), {.max_replicas = 20});
  EXPECT_EQ(more.would.replicas.back(), 20);
}

TEST(WhatIf, TargetOfEachPointCountsUnlessOneIsGiven) {
  std::vector<HistoryPoint> points = PointsWith({160, 160, 160}, 2);
  points[2].target = 40;  // the trigger was edited
  EXPECT_THAT(Replay(points, {.max_replicas = 9}).would.replicas,
              ElementsAre(Optional(2), Optional(2), Optional(4)));
  EXPECT_THAT(
      Replay(points, {.target = 160, .max_replicas = 9, .scale_down_window = {}}).would.replicas,
      Each(Optional(1)));
}

TEST(WhatIf, InactiveWorkloadGoesToZeroAfterTheCooldown) {
  std::vector<double> values(40, 0.0);
  values[0] = 80;
  values[39] = 80;
  const WhatIf result = Replay(PointsWith(values, 1), {.cooldown = absl::Minutes(5)});
  EXPECT_EQ(result.would.replicas[20], 1) << "exactly the cooldown after the last activity";
  EXPECT_EQ(result.would.replicas[21], 0);
  EXPECT_EQ(result.would.replicas[38], 0);
  EXPECT_EQ(result.would.replicas[39], 1) << "active again";
}

TEST(WhatIf, AMinimumKeepsAnInactiveWorkload) {
  EXPECT_THAT(
      Replay(PointsWith(std::vector<double>(40, 0.0), 2), {.min_replicas = 2}).would.replicas,
      Each(Optional(2)));
}

TEST(WhatIf, ReplicasStayThroughErrorsAndGaps) {
  std::vector<HistoryPoint> points;
  points.push_back(PointAt(0, 160, 2));
  for (int step = 1; step < 60; ++step) {
    points.push_back(step % 2 == 0 ? ErrorAt(step) : NoRecordAt(step));
  }
  points.push_back(PointAt(60, 160, 2));
  EXPECT_EQ(Replay(points, {}).would.replicas.back(), 2);
}

TEST(WhatIf, AmountsAreSumsOverThePoints) {
  std::vector<HistoryPoint> points = PointsWith({100, 250, 250, 100}, 2);
  for (HistoryPoint& point : points) point.gpus = 8;  // four each
  points[1].starting = 0;
  const WhatIf result = Replay(points, {.max_replicas = 4});
  EXPECT_EQ(result.gpus_per_replica, 4);
  EXPECT_THAT(result.happened.gpu_hours, Optional(DoubleEq(4 * 8 * 15 / 3600.0)));
  EXPECT_EQ(result.happened.seconds_above_target, 30);
  // ceil(250 / 80) = 4 at once, and the window keeps them.
  EXPECT_THAT(result.would.replicas,
              ElementsAre(Optional(2), Optional(4), Optional(4), Optional(4)));
  EXPECT_THAT(result.would.gpu_hours, Optional(DoubleEq((2 + 4 + 4 + 4) * 4 * 15 / 3600.0)));
  EXPECT_EQ(result.would.seconds_above_target, 0);
}

TEST(WhatIf, GpusPerReplicaCountStartingOnes) {
  std::vector<HistoryPoint> points = PointsWith({100, 100}, 2);
  points[0].gpus = 4;
  points[1].gpus = 6;
  points[1].starting = 1;
  EXPECT_EQ(Replay(points, {}).gpus_per_replica, 2);
  EXPECT_EQ(Replay(PointsWith({100}, 2), {}).gpus_per_replica, 1) << "no GPU is known";
}

TEST(WhatIf, ReplicasWithoutKnownGpusHoldOneEachInBothCourses) {
  Decision decision;  // as with engineEndpoint
  decision.value = 160;
  decision.replicas = 2;
  decision.active = true;
  decision.contributions = {{.name = "engine-0"}, {.name = "engine-1"}};
  HistoryPoint point = PointOf(decision, 80);
  point.at = kFirstPoint;
  const WhatIf result = Replay(std::vector<HistoryPoint>{point}, {});
  EXPECT_THAT(result.happened.gpu_hours, Optional(DoubleEq(2 * 15 / 3600.0)));
  EXPECT_THAT(result.would.gpu_hours, Optional(DoubleEq(2 * 15 / 3600.0)));
}

TEST(WhatIf, ReplicasOfAQueueThatHappenedAreUnknown) {
  std::vector<HistoryPoint> points = PointsWith({160, 160, 160}, 2);
  for (HistoryPoint& point : points) point.replicas.reset();
  const WhatIf result = Replay(points, {.min_replicas = 1});
  EXPECT_TRUE(result.has_unknown_replicas);
  EXPECT_THAT(result.happened.replicas, Each(std::nullopt));
  EXPECT_EQ(result.happened.gpu_hours, std::nullopt);
  EXPECT_EQ(result.happened.seconds_above_target, std::nullopt);
  EXPECT_EQ(result.happened.direction_changes, std::nullopt);
  EXPECT_THAT(result.would.replicas, Each(Optional(2))) << "160 is twice the target";
  EXPECT_THAT(result.would.gpu_hours, Optional(DoubleEq(3 * 2 * 15 / 3600.0)));
}

TEST(WhatIf, MeanOfUnknownReplicasIsNotReplayed) {
  std::vector<HistoryPoint> points = PointsWith({160, 160}, 2);
  points[0].replicas.reset();
  points[1].replicas.reset();
  const WhatIf result = Replay(points, {.target_type = TargetType::kValue});
  EXPECT_THAT(result.would.replicas, Each(std::nullopt));
  EXPECT_EQ(result.would.gpu_hours, std::nullopt);
}

TEST(WhatIf, DirectionChangesAreTurns) {
  std::vector<HistoryPoint> points;
  for (const int replicas : {2, 3, 4, 4, 3, 2, 2, 5}) {
    points.push_back(PointAt(static_cast<int>(points.size()), 80, replicas));
  }
  EXPECT_EQ(Replay(points, {}).happened.direction_changes, 2);
}

TEST(WhatIf, MeanLoadIsDividedAmongTheReplayedReplicas) {
  // 4 replicas at 60: with a target of 120 half of them carry the load.
  const WhatIf result =
      Replay(PointsWith({60, 60, 60}, 4), {.target_type = TargetType::kValue,
                                           .target = 120,
                                           .scale_down_window = absl::ZeroDuration()});
  EXPECT_EQ(result.would.replicas.back(), 2);
  EXPECT_EQ(result.happened.seconds_above_target, 0);
  EXPECT_EQ(result.would.seconds_above_target, 45) << "120 is above the recorded target of 80";
}

TEST(WhatIf, NothingRecorded) {
  const WhatIf result = Replay(std::vector<HistoryPoint>{NoRecordAt(0), NoRecordAt(1)}, {});
  EXPECT_THAT(result.would.replicas, ElementsAre(std::nullopt, std::nullopt));
  EXPECT_EQ(result.would.gpu_hours, std::nullopt);
  EXPECT_FALSE(result.has_unknown_replicas);
  EXPECT_TRUE(Replay({}, {}).would.replicas.empty());
}

TEST(WhatIf, NoteStatesTheAssumptions) {
  for (const TargetType type : {TargetType::kAverageValue, TargetType::kValue}) {
    EXPECT_THAT(WhatIfNote(type),
                AllOf(HasSubstr("load is taken as it was"), HasSubstr("minimum is 0"),
                      HasSubstr("cooldown is 5 minutes"), HasSubstr("Other triggers"),
                      HasSubstr("happened include starting and terminating replicas")));
    EXPECT_THAT(WhatIfNote(type, true), HasSubstr("that happened are unknown"));
  }
}

}  // namespace
}  // namespace gpuscaler
