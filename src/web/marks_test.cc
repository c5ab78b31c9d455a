#include "web/marks.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "web/test_points.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MarkedPoints {
 public:
  MarkedPoints& Replicas(int replicas, int replaced = 0) {
    points_.push_back(PointAt(Next(), 1, replicas));
    points_.back().replaced = replaced;
    return *this;
  }
  MarkedPoints& Error(absl::StatusCode code) {
    points_.push_back(ErrorAt(Next(), code));
    return *this;
  }
  MarkedPoints& NoRecord() {
    points_.push_back(NoRecordAt(Next()));
    return *this;
  }

  std::vector<std::string> Marks() const {
    std::vector<std::string> texts;
    for (const HistoryMark& mark : MarksOf(points_)) {
      texts.push_back(absl::StrCat((mark.at - kFirstPoint) / kHistoryStep, " ", Name(mark.kind),
                                   ": ", mark.text));
    }
    return texts;
  }
  std::vector<std::string> Gaps(absl::Time started_at = kFirstPoint) const {
    std::vector<std::string> texts;
    for (const HistoryGap& gap : GapsOf(points_, started_at)) {
      texts.push_back(absl::StrCat((gap.from - kFirstPoint) / kHistoryStep, "-",
                                   (gap.to - kFirstPoint) / kHistoryStep, " ", gap.because));
    }
    return texts;
  }

 private:
  int Next() const { return static_cast<int>(points_.size()); }

  std::vector<HistoryPoint> points_;
};

TEST(Marks, NumberOfReplicasChanged) {
  EXPECT_THAT(MarkedPoints().Replicas(2).Replicas(2).Replicas(4).Replicas(1).Marks(),
              ElementsAre("2 scale: from 2 to 4 replicas", "3 scale: from 4 to 1 replica"));
}

TEST(Marks, NumberChangedWithinAGap) {
  EXPECT_THAT(MarkedPoints().Replicas(2).NoRecord().Replicas(3).Marks(),
              ElementsAre("1 gap: no record: no client requested the trigger",
                          "2 scale: from 2 to 3 replicas"));
}

TEST(Marks, ReplicasWereReplaced) {
  EXPECT_THAT(MarkedPoints().Replicas(4).Replicas(4, 1).Replicas(4, 2).Replicas(4, 4).Marks(),
              ElementsAre("1 rollout: 1 of 4 replicas was replaced",
                          "2 rollout: 2 of 4 replicas were replaced",
                          "3 rollout: all 4 replicas were replaced"));
  EXPECT_THAT(MarkedPoints().Replicas(1).Replicas(1, 1).Marks(),
              ElementsAre("1 rollout: the replica was replaced"));
}

TEST(Marks, EachKindOfErrorIsMarkedOnceInARow) {
  EXPECT_THAT(
      MarkedPoints()
          .Replicas(1)
          .Error(absl::StatusCode::kUnavailable)
          .Error(absl::StatusCode::kUnavailable)
          .Error(absl::StatusCode::kFailedPrecondition)
          .Replicas(1)
          .Marks(),
      ElementsAre("1 error: no value: UNAVAILABLE", "3 error: no value: FAILED_PRECONDITION"));
}

TEST(Marks, NothingHappened) {
  EXPECT_THAT(MarkedPoints().NoRecord().Replicas(0).Replicas(0).Marks(), IsEmpty());
}

TEST(Gaps, EachHasItsReason) {
  const MarkedPoints points = MarkedPoints()
                                  .NoRecord()
                                  .NoRecord()
                                  .NoRecord()
                                  .Replicas(1)
                                  .Error(absl::StatusCode::kUnavailable)
                                  .Error(absl::StatusCode::kInternal)
                                  .Replicas(1)
                                  .NoRecord();
  EXPECT_THAT(points.Gaps(kFirstPoint + 2 * kHistoryStep),
              ElementsAre("0-2 scaler started", "2-3 not requested", "4-6 no reading",
                          "7-8 not requested"));
}

TEST(Gaps, ThereIsNoneBetweenValues) {
  EXPECT_THAT(MarkedPoints().Replicas(0).Replicas(1).Gaps(), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
