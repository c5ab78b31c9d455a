#include "simulate/vllm_exposition.h"

#include "base/fake_clock.h"
#include "engine/test_engine_exposition.h"

namespace gpuscaler {
namespace {

TEST(VllmExposition, TheScalerReadsItAsVllm) {
  FakeClock clock;
  BatchEngine engine({.max_num_seqs = 2, .kv_cache_tokens = 1000, .step = {.base = 0.1}});
  for (const int64_t tokens : {1, 40, 40, 40}) {
    ASSERT_TRUE(engine.Submit({100, tokens}, clock.Now()).ok());
  }
  clock.Advance(absl::Seconds(1));
  engine.Advance(clock.Now());
  const ModelReading reading =
      ReadOwnPage(Vllm(), VllmExposition("llama", engine.Gauges(), engine.totals()), "llama");
  EXPECT_THAT(reading.running, testing::Optional(2));
  EXPECT_THAT(reading.waiting, testing::Optional(1));
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(testing::DoubleNear(0.218, 1e-9)));
  EXPECT_THAT(reading.requests_done, testing::Optional(1));
  EXPECT_THAT(reading.prompt_tokens, testing::Optional(300));
  EXPECT_THAT(reading.generation_tokens, testing::Optional(19));
  EXPECT_THAT(reading.preemptions, testing::Optional(0));
  EXPECT_THAT(reading.queued_requests, testing::Optional(3));
  EXPECT_THAT(reading.queue_seconds, testing::Optional(testing::DoubleNear(0.2, 1e-6)));
  EXPECT_EQ(CountOf(reading.first_token_seconds), 3);
  EXPECT_EQ(CountOf(reading.output_token_seconds), 16);
}

TEST(VllmExposition, AnIdleEngineHasEverySeries) {
  const BatchEngine engine({});
  const ModelReading reading =
      ReadOwnPage(Vllm(), VllmExposition("m", engine.Gauges(), engine.totals()));
  EXPECT_THAT(reading.waiting, testing::Optional(0));
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0));
  EXPECT_THAT(reading.requests_done, testing::Optional(0));
  EXPECT_EQ(CountOf(reading.first_token_seconds), 0);
}

}  // namespace
}  // namespace gpuscaler
