#include "engine/test_engine_exposition.h"

namespace gpuscaler {
namespace {

TEST(Tei, ReportsItsQueue) {
  const ModelReading reading = ReadOwnPage(Tei(), R"(te_queue_size 3
te_request_success{method="single"} 10
te_request_success{method="batch"} 2
te_request_queue_duration_sum 0.5
te_request_queue_duration_count 12
)");
  EXPECT_THAT(reading.waiting, testing::Optional(3));
  EXPECT_THAT(reading.requests_done, testing::Optional(12));
  EXPECT_THAT(reading.queue_seconds, testing::Optional(0.5));
}

TEST(Tei, ExpositionIsEmptyBeforeTheFirstRequest) {
  const auto page = Tei().read("", {});
  ASSERT_TRUE(page.ok()) << page.status();
  const ModelReading reading = *ReadingOf(*page, "");
  EXPECT_THAT(reading.waiting, testing::Optional(0));
  EXPECT_THAT(reading.requests_done, testing::Optional(0));
  EXPECT_EQ(reading.running, std::nullopt) << "that it never reports";
}

TEST(Tei, RefusedRequestLeavesTheQueueUnknown) {
  const ModelReading reading = ReadOwnPage(Tei(), R"(# TYPE te_request_count counter
te_request_count{method="single"} 1

# TYPE te_request_failure counter
te_request_failure{err="validation"} 1

)");
  EXPECT_EQ(reading.waiting, std::nullopt);
  EXPECT_THAT(reading.requests_done, testing::Optional(0));
}

}  // namespace
}  // namespace gpuscaler
