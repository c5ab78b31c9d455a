#include "engine/test_engine_exposition.h"

namespace gpuscaler {
namespace {

TEST(LlamaCpp, DeferredRequestsWait) {
  const ModelReading reading =
      ReadOwnPage(LlamaCpp(), R"(# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 14011
# TYPE llamacpp:tokens_predicted_total counter
llamacpp:tokens_predicted_total 39080
# TYPE llamacpp:tokens_predicted_seconds_total counter
llamacpp:tokens_predicted_seconds_total 1235.5
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 4
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 46
# TYPE llamacpp:predicted_tokens_seconds gauge
llamacpp:predicted_tokens_seconds nan
)");
  EXPECT_THAT(reading.waiting, testing::Optional(46));
  EXPECT_THAT(reading.running, testing::Optional(4));
  EXPECT_THAT(reading.prompt_tokens, testing::Optional(14011));
  EXPECT_THAT(reading.generation_tokens, testing::Optional(39080));
  EXPECT_EQ(reading.kv_cache_usage_ratio, std::nullopt);
}

}  // namespace
}  // namespace gpuscaler
