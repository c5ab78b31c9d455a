#include "simulate/batch_engine.h"

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

// A batch of 4 with 10 tokens per second for a single request, and 5 for each of four.
constexpr BatchEngineOptions kSmall = {
    .max_num_seqs = 4, .kv_cache_tokens = 10'000, .step = StepCost::Between(10, 5, 4)};

class BatchEngineTest : public testing::Test {
 protected:
  int64_t Submit(BatchEngine& engine, int64_t max_tokens = 10, int64_t prompt_tokens = 100) {
    const auto id = engine.Submit({prompt_tokens, max_tokens}, clock_.Now());
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or(0);
  }
  // Advances the clock. Returns the requests served meanwhile.
  std::vector<int64_t> After(BatchEngine& engine, absl::Duration passed) {
    clock_.Advance(passed);
    std::vector<int64_t> served;
    for (const EngineEvent& event : engine.Advance(clock_.Now())) {
      if (event.kind == EngineEvent::Kind::kServed) served.push_back(event.id);
    }
    return served;
  }

  FakeClock clock_;
};

TEST_F(BatchEngineTest, ASingleRequestIsServedAtFullSpeed) {
  BatchEngine engine(kSmall);
  const int64_t id = Submit(engine);
  EXPECT_THAT(After(engine, absl::Milliseconds(999)), IsEmpty());
  EXPECT_THAT(After(engine, absl::Milliseconds(1)), ElementsAre(id)) << "10 tokens, 10 a second";
  EXPECT_EQ(engine.totals().generation_tokens, 10);
  EXPECT_EQ(engine.totals().prompt_tokens, 100);
  EXPECT_EQ(engine.totals().served, 1);
  EXPECT_EQ(engine.StepEnds(), absl::InfiniteFuture());
}

TEST_F(BatchEngineTest, FullBatchIsSlowerForEachAndFasterForAll) {
  BatchEngine engine(kSmall);
  Submit(engine, 1);  // a step of 0.1 s, in which the others come
  for (int i = 0; i < 4; ++i) Submit(engine);
  After(engine, absl::Milliseconds(100));
  EXPECT_EQ(engine.Gauges().running, 4);
  EXPECT_EQ(engine.totals().served, 1);
  After(engine, absl::Milliseconds(1999));
  EXPECT_EQ(engine.totals().served, 1);
  After(engine, absl::Milliseconds(1));
  EXPECT_EQ(engine.totals().served, 5) << "10 tokens each, 5 a second each";
}

TEST_F(BatchEngineTest, RequestsBeyondTheBatchWait) {
  BatchEngine engine(kSmall);
  std::vector<int64_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(Submit(engine));
  After(engine, absl::Milliseconds(100));
  EXPECT_EQ(engine.Gauges().running, 4);
  EXPECT_EQ(engine.Gauges().waiting, 2);
  EXPECT_EQ(engine.totals().queue_seconds.count(), 4);
  EXPECT_THAT(After(engine, absl::Seconds(30)), testing::UnorderedElementsAreArray(ids));
  EXPECT_EQ(engine.totals().queue_seconds.count(), 6);
  EXPECT_GT(engine.totals().queue_seconds.sum(), 3) << "two waited for a batch of about 2 s";
}

TEST_F(BatchEngineTest, LongPromptIsComputedInChunks) {
  BatchEngine engine(kSmall);
  Submit(engine, 1, 2 * 2048 + 1);
  After(engine, absl::Milliseconds(299));
  EXPECT_EQ(engine.totals().generation_tokens, 0);
  After(engine, absl::Milliseconds(1));
  EXPECT_EQ(engine.totals().generation_tokens, 1);
  EXPECT_THAT(engine.totals().first_token_seconds.sum(), DoubleNear(0.3, 1e-6));
}

TEST_F(BatchEngineTest, PromptsAndAnswersOfAStepShareItsTokenBudget) {
  BatchEngine engine({.max_num_seqs = 8, .step = {.base = 0.1}});
  Submit(engine, 100, 2047);
  for (int i = 0; i < 3; ++i) Submit(engine, 100, 1500);
  After(engine, absl::Milliseconds(100));
  EXPECT_EQ(engine.Gauges().running, 3) << "2,047 tokens: one prompt and a part of the next";
  EXPECT_EQ(engine.Gauges().waiting, 1);
  After(engine, absl::Milliseconds(100));
  EXPECT_EQ(engine.totals().first_token_seconds.count(), 2);
  EXPECT_EQ(engine.Gauges().waiting, 0);
}

TEST_F(BatchEngineTest, StepTakesLongerForRequestsCacheAndPrompts) {
  BatchEngine engine(
      {.step = {
           .base = 0.1, .per_request = 0.01, .per_kv_token = 0.0001, .per_prefill_token = 0.001}});
  Submit(engine, 2, 100);
  EXPECT_EQ(engine.StepEnds() - clock_.Now(), absl::Milliseconds(100 + 10 + 10 + 100));
  After(engine, absl::Milliseconds(220));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(engine.StepEnds() - clock_.Now()), 100 + 10 + 10.1, 1e-6);
}

TEST_F(BatchEngineTest, CacheHoldsPromptAndGeneratedTokens) {
  BatchEngine engine(kSmall);
  Submit(engine, 10, 1000);
  EXPECT_DOUBLE_EQ(engine.Gauges().kv_cache_usage_ratio, 0.1);
  After(engine, absl::Milliseconds(500));
  EXPECT_DOUBLE_EQ(engine.Gauges().kv_cache_usage_ratio, 0.1005);
  After(engine, absl::Seconds(1));
  EXPECT_EQ(engine.Gauges().kv_cache_usage_ratio, 0);
}

TEST_F(BatchEngineTest, FullCachePreemptsTheNewestAndServesItLater) {
  BatchEngineOptions options = kSmall;
  options.kv_cache_tokens = 250;
  BatchEngine engine(options);
  const int64_t first = Submit(engine, 100, 100);
  const int64_t second = Submit(engine, 100, 100);
  EXPECT_THAT(After(engine, absl::Seconds(60)), ElementsAre(first, second));
  EXPECT_EQ(engine.totals().preemptions, 1);
  EXPECT_EQ(engine.totals().generation_tokens, 200) << "what it had made is kept";
  EXPECT_EQ(engine.totals().queue_seconds.count(), 2) << "each waited for its first place";
  EXPECT_EQ(engine.Gauges().kv_cache_usage_ratio, 0);
}

TEST_F(BatchEngineTest, RequestTooLargeForTheCacheIsRefused) {
  BatchEngine engine(kSmall);
  const auto id = engine.Submit({9'000, 1'001}, clock_.Now());
  EXPECT_EQ(id.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine.held(), 0);
}

TEST_F(BatchEngineTest, AbortedRequestLeavesBatchQueueAndCache) {
  BatchEngine engine(kSmall);
  std::vector<int64_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(Submit(engine));
  After(engine, absl::Milliseconds(100));
  engine.Abort(ids[1]);
  engine.Abort(ids[5]);
  EXPECT_EQ(engine.Gauges().running, 3);
  EXPECT_EQ(engine.Gauges().waiting, 1);
  for (const int64_t id : ids) engine.Abort(id);
  EXPECT_EQ(engine.Gauges().running, 0);
  EXPECT_EQ(engine.Gauges().kv_cache_usage_ratio, 0);
  EXPECT_EQ(engine.totals().aborted, 6);
  EXPECT_THAT(After(engine, absl::Seconds(60)), IsEmpty());
  EXPECT_THAT(After(engine, absl::Seconds(60)), IsEmpty());
}

TEST_F(BatchEngineTest, FrozenGaugesStayAfterAMassAbortUntilTheNextStep) {
  BatchEngineOptions options = kSmall;
  options.freeze_gauges = true;
  BatchEngine engine(options);
  std::vector<int64_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(Submit(engine));
  After(engine, absl::Milliseconds(100));
  for (const int64_t id : ids) engine.Abort(id);
  After(engine, absl::Hours(1));
  EXPECT_EQ(engine.Gauges().running, 4);
  EXPECT_EQ(engine.Gauges().waiting, 2);
  EXPECT_GT(engine.Gauges().kv_cache_usage_ratio, 0);
  Submit(engine, 1);
  After(engine, absl::Milliseconds(100));
  EXPECT_EQ(engine.Gauges().running, 0);
  EXPECT_EQ(engine.Gauges().waiting, 0);
}

TEST_F(BatchEngineTest, BusyTimeIsTheTimeInSteps) {
  BatchEngine engine(kSmall);
  Submit(engine);
  After(engine, absl::Seconds(5));
  EXPECT_NEAR(absl::ToDoubleSeconds(engine.totals().busy), 1, 1e-6);
}

}  // namespace
}  // namespace gpuscaler
