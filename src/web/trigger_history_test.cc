#include "web/trigger_history.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "web/test_points.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

const TriggerKey kChat = {
    .namespace_name = "team-a", .scaled_object = "chat", .trigger = "gpu_utilization"};
const TriggerKey kBatch = {
    .namespace_name = "team-b", .scaled_object = "batch", .trigger = "gpu_utilization"};

// As ScalerService returns it, with an age that differs at each evaluation.
gpuscaler::v1::Explanation ExplanationOf(double value, const std::string& age = "now") {
  gpuscaler::v1::Explanation explanation;
  explanation.set_value(value);
  explanation.set_text(absl::StrCat("value: ", value, "\nnodes: gpu-7 (read ", age, ")\n"));
  explanation.add_notes(absl::StrCat("llm-0 is unreadable for ", age, ": GPU_IS_LOST"));
  explanation.add_nodes()->set_age_seconds(static_cast<double>(age.size()));
  explanation.set_snapshot_age_seconds(static_cast<double>(age.size()));
  return explanation;
}

class TriggerHistoryTest : public testing::Test {
 protected:
  // Records a step with its explanation.
  void Step(int step, double value, const std::string& age = "1s", const TriggerKey& key = kChat) {
    history_.Record(key, PointAt(step, value));
    history_.RecordExplanation(key, StepTime(step), ExplanationOf(value, age));
  }

  std::vector<absl::Time> Times(const TriggerKey& key = kChat) const {
    return history_.ExplanationTimes(key, absl::InfinitePast(), absl::InfiniteFuture());
  }

  TriggerHistory history_{{}, kFirstPoint};
};

TEST_F(TriggerHistoryTest, ReadsTheSeriesOfOneTrigger) {
  Step(0, 10);
  Step(1, 20);
  Step(0, 99, "1s", kBatch);
  history_.Record(kChat, ErrorAt(2));
  const auto series = history_.Read(kChat, StepTime(0), StepTime(3));
  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_EQ(series->since, kFirstPoint);
  EXPECT_THAT(series->points,
              ElementsAreArray({PointAt(0, 10), PointAt(1, 20), ErrorAt(2), NoRecordAt(3)}));
  EXPECT_THAT(history_.Triggers(), ElementsAre(kChat, kBatch));
}

TEST_F(TriggerHistoryTest, UnknownTriggerIsNotFound) {
  const auto series = history_.Read(kChat, StepTime(0), StepTime(3));
  EXPECT_EQ(series.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(series.status().message()),
              HasSubstr("nothing is recorded of team-a/chat (gpu_utilization) since "
                        "2026-01-01T00:00:00Z"));
  EXPECT_EQ(history_.ExplanationAt(kChat, StepTime(0)).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(Times(), IsEmpty());
}

TEST_F(TriggerHistoryTest, AStepIsRecordedOnce) {
  Step(1, 10);
  history_.Record(kChat, PointAt(1, 20));
  history_.Record(kChat, PointAt(0, 20));
  EXPECT_THAT(history_.Read(kChat, StepTime(0), StepTime(1))->points,
              ElementsAreArray({NoRecordAt(0), PointAt(1, 10)}));
}

TEST_F(TriggerHistoryTest, AnyRangeOfTimeIsAnswered) {
  Step(0, 10);
  const auto all = history_.Read(kChat, absl::InfinitePast(), absl::InfiniteFuture());
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_LE(all->points.size(), 2 * 26 * 240 + 1u);
  EXPECT_THAT(history_.Read(kChat, StepTime(2), StepTime(1))->points, IsEmpty());
}

TEST_F(TriggerHistoryTest, ExplanationIsTheNewestAtOrBeforeTheInstant) {
  Step(0, 10);
  Step(4, 20);
  const auto found = history_.ExplanationAt(kChat, StepTime(3));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at, StepTime(0));
  EXPECT_EQ(found->explanation.SerializeAsString(), ExplanationOf(10, "1s").SerializeAsString());
  EXPECT_EQ(history_.ExplanationAt(kChat, StepTime(4))->explanation.value(), 20);
  const auto before = history_.ExplanationAt(kChat, StepTime(0) - absl::Seconds(1));
  EXPECT_EQ(before.status().code(), absl::StatusCode::kNotFound) << before.status();
}

TEST_F(TriggerHistoryTest, ExplanationThatOnlyGrewOlderIsKeptEveryFiveMinutes) {
  for (int step = 0; step <= 40; ++step) Step(step, 10, absl::StrCat("1m", step, "s"));
  EXPECT_THAT(Times(), ElementsAre(StepTime(0), StepTime(20), StepTime(40)));
}

TEST_F(TriggerHistoryTest, ExplanationWithAnotherNumberIsKept) {
  Step(0, 10, "200ms");
  Step(1, 10, "1.5s");
  Step(2, 11, "1.5s");
  Step(3, 11, "gpu-1s-x");  // no age
  EXPECT_THAT(Times(), ElementsAre(StepTime(0), StepTime(2), StepTime(3)));
}

TEST_F(TriggerHistoryTest, DropsWhatIsOlderThanADay) {
  constexpr int kSteps = 25 * 240;
  for (int step = 0; step <= kSteps; step += 20) Step(step, step);
  history_.Expire(StepTime(kSteps));
  EXPECT_EQ(history_.Read(kChat, StepTime(0), StepTime(kSteps))->since, StepTime(240));
  EXPECT_EQ(history_.ExplanationAt(kChat, StepTime(kSteps))->at, StepTime(kSteps));
  history_.Expire(StepTime(kSteps) + absl::Hours(26));
  EXPECT_THAT(history_.Triggers(), IsEmpty());
}

TEST(TriggerHistoryLimits, ExplanationThatLeftTheRingIsOutOfRange) {
  TriggerHistory history({.explanation_bytes = 32'000}, kFirstPoint);
  for (int step = 0; step < 2'000; ++step) {
    history.Record(kChat, PointAt(step, step));
    history.RecordExplanation(kChat, StepTime(step), ExplanationOf(step));
  }
  const auto gone = history.ExplanationAt(kChat, StepTime(5));
  EXPECT_EQ(gone.status().code(), absl::StatusCode::kOutOfRange);
  const absl::Time oldest =
      history.ExplanationTimes(kChat, absl::InfinitePast(), absl::InfiniteFuture()).front();
  EXPECT_GT(oldest, StepTime(5));
  EXPECT_THAT(
      std::string(gone.status().message()),
      HasSubstr(absl::StrCat("is gone: the oldest that is kept is of ",
                             absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", oldest, absl::UTCTimeZone()))));
  EXPECT_TRUE(history.ExplanationAt(kChat, oldest).ok());
}

TEST(TriggerHistoryLimits, InventedTriggersDropNoHistory) {
  constexpr size_t kLimit = 40'000;
  TriggerHistory history({.point_bytes = kLimit, .explanation_bytes = 1'000}, kFirstPoint);
  const size_t empty = history.bytes();
  for (int step = 0; step < 100; ++step) {
    history.Record(kChat, PointAt(step, step));
    for (int i = 0; i < 200; ++i) {
      const TriggerKey invented{.namespace_name = "crowd",
                                .scaled_object = absl::StrCat("llm-", step, "-", i),
                                .trigger = std::string(200, 'x')};
      history.Record(invented, PointAt(step, 1));
    }
    ASSERT_LE(history.bytes() - empty, kLimit);
  }
  const auto series = history.Read(kChat, StepTime(0), StepTime(99));
  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_EQ(series->since, kFirstPoint);
}

TEST(TriggerHistoryLimits, OldestHourOfAllTriggersLeavesFirst) {
  constexpr size_t kLimit = 40'000;
  TriggerHistory history({.point_bytes = kLimit, .explanation_bytes = 1'000}, kFirstPoint);
  const size_t empty = history.bytes();
  constexpr int kSteps = 20 * 240;
  for (int step = 0; step < kSteps; ++step) {
    for (int trigger = 0; trigger < 5; ++trigger) {
      const TriggerKey key{.namespace_name = "crowd",
                           .scaled_object = absl::StrCat("llm-", trigger),
                           .trigger = "gpu_utilization"};
      history.Record(key, PointAt(step, step % 7 * trigger));
    }
    ASSERT_LE(history.bytes() - empty, kLimit);
  }
  const std::vector<TriggerKey> keys = history.Triggers();
  ASSERT_EQ(keys.size(), 5u);
  for (const TriggerKey& key : keys) {
    const auto series = history.Read(key, StepTime(0), StepTime(kSteps - 1));
    EXPECT_GT(series->since, kFirstPoint);
    EXPECT_LT(series->since, StepTime(kSteps) - absl::Hours(1));
    EXPECT_TRUE(series->points.back().value.has_value());
  }
}

}  // namespace
}  // namespace gpuscaler
