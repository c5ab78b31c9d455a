#include "engine/test_engine_page.h"

namespace gpuscaler {
namespace {

TEST(Tei, TellsItsQueue) {
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

}  // namespace
}  // namespace gpuscaler
