#include "engine/service_record.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::SizeIs;

const absl::Time kNewestAt = absl::FromUnixSeconds(1'767'225'600);

TEST(ServiceRecordOf, ARestartedAgentsRecordIsIgnored) {
  EngineDemand own{.newest_at = kNewestAt, .service = {.seconds = 600}};
  const EngineDemand kept{.newest_at = kNewestAt, .service = {.seconds = 60}};
  EXPECT_EQ(WithServiceRecord(own, kept), own);
  own.service.seconds = 80;
  EXPECT_EQ(WithServiceRecord(own, kept).service, kept.service);
}

TEST(ServiceRecordOf, RecentAnswersArePreferredToKeptOnes) {
  EngineDemand own{.newest_at = kNewestAt,
                   .bins = {{.begin = kNewestAt - absl::Hours(1), .answers = 500},
                            {.begin = kNewestAt - absl::Minutes(2), .arrived = 3, .answers = 199}}};
  const RequestBin few{.begin = kNewestAt - absl::Minutes(2), .answers = 210, .answer_tokens = 420};
  const EngineDemand kept{.newest_at = kNewestAt, .bins = {few}};
  const EngineDemand merged = WithServiceRecord(own, kept);
  ASSERT_THAT(merged.bins, SizeIs(3));
  EXPECT_EQ(merged.bins[0].answers + merged.bins[1].answers, 0);
  EXPECT_EQ(merged.bins[1].arrived, 3);
  EXPECT_EQ(merged.bins[2], few);
  own.bins[1].answers = 200;
  EXPECT_EQ(WithServiceRecord(own, kept), own);
}

TEST(ServiceRecordOf, KeepsTheAnswersOfFiveMinutesOrTwoHundred) {
  EngineDemand demand{.newest_at = kNewestAt};
  for (int minutes = 60; minutes >= 1; --minutes) {
    demand.bins.push_back(
        {.begin = kNewestAt - absl::Minutes(minutes), .answers = 10, .answer_tokens = 50});
  }
  const EngineDemand kept = ServiceRecordOf(demand);
  ASSERT_THAT(kept.bins, SizeIs(1));
  EXPECT_EQ(kept.bins.front().answers, 200);
  EXPECT_EQ(kept.bins.front().answer_tokens, 1000);
  EXPECT_EQ(kept.bins.front().begin, kNewestAt - absl::Minutes(1));
}

}  // namespace
}  // namespace gpuscaler
