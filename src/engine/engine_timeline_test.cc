#include "engine/engine_timeline.h"

#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

EngineReading PageWith(double llama, double qwen) {
  return {.models = {{.model = "llama", .waiting = llama}, {.model = "qwen", .waiting = qwen}}};
}

SignalSeries WaitingOf(const EngineTimeline& engine, const std::string& model) {
  return engine.Answer(
      {.metric = EngineMetric::kRequestsWaiting, .model = model, .look_back = absl::Minutes(1)},
      Second(60), kLongestGap);
}

TEST(EngineTimeline, AddsModelsUnlessOneIsSelected) {
  EngineTimeline engine;
  engine.KeepOnly({"qwen"});
  engine.AddReading(Second(0), "vllm", PageWith(3, 4));
  EXPECT_THAT(WaitingOf(engine, "").points, ElementsAre(SignalPoint{Second(0), 7}));
  EXPECT_THAT(WaitingOf(engine, "qwen").points, ElementsAre(SignalPoint{Second(0), 4}));
}

TEST(EngineTimeline, ModelIsKeptOnceRequested) {
  EngineTimeline engine;
  engine.AddReading(Second(0), "vllm", PageWith(3, 4));
  engine.KeepOnly({"qwen"});
  EXPECT_EQ(WaitingOf(engine, "qwen").error, "not read yet");
  engine.AddReading(Second(1), "vllm", PageWith(3, 5));
  EXPECT_THAT(WaitingOf(engine, "qwen").points, ElementsAre(SignalPoint{Second(1), 5}));
}

TEST(EngineTimeline, UnrequestedModelIsDropped) {
  EngineTimeline engine;
  engine.KeepOnly({"llama", "qwen"});
  engine.AddReading(Second(0), "vllm", PageWith(3, 4));
  const size_t both = engine.Bytes();
  engine.KeepOnly({"qwen"});
  EXPECT_LT(engine.Bytes(), both);
  EXPECT_THAT(WaitingOf(engine, "llama").points, IsEmpty());
  EXPECT_THAT(WaitingOf(engine, "qwen").points, ElementsAre(SignalPoint{Second(0), 4}));
}

TEST(EngineTimeline, GapListsModelsIfTheSelectedOneIsAbsent) {
  EngineTimeline engine;
  engine.KeepOnly({"mixtral"});
  engine.AddReading(Second(0), "vllm", PageWith(3, 4));
  const SignalSeries series = WaitingOf(engine, "mixtral");
  EXPECT_THAT(series.points, IsEmpty());
  EXPECT_EQ(series.error, "no model \"mixtral\": it has llama, qwen");
  EngineReading many;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) many.models.push_back({.model = name});
  engine.AddReading(Second(1), "vllm", many);
  EXPECT_EQ(WaitingOf(engine, "mixtral").error, "no model \"mixtral\": it has a, b, c, d, e, ...");
  engine.AddReading(Second(2), "vllm", {.models = {{.model = "\x1b[2J" + std::string(100, 'x')}}});
  EXPECT_EQ(WaitingOf(engine, "mixtral").error,
            "no model \"mixtral\": it has ?[2J" + std::string(56, 'x') + "...");
  engine.AddReading(Second(3), "vllm", {.models = {{.model = "\xe9\x80\x9a\xe4\xb9\x89-7b"}}});
  EXPECT_EQ(WaitingOf(engine, "mixtral").error,
            "no model \"mixtral\": it has \xe9\x80\x9a\xe4\xb9\x89-7b");
  engine.AddReading(Second(4), "ollama", {});
  EXPECT_EQ(WaitingOf(engine, "mixtral").error, "no model \"mixtral\": it has no model loaded");
}

TEST(EngineTimeline, GapExplainsAMissingNumber) {
  EngineTimeline engine;
  EXPECT_EQ(WaitingOf(engine, "").error, "not read yet");
  engine.Fail(Second(0), absl::UnavailableError("connection refused"));
  EXPECT_EQ(WaitingOf(engine, "").error, "connection refused");
  engine.AddReading(Second(1), "vllm", {.models = {{.running = 1}}});
  EXPECT_EQ(WaitingOf(engine, "").error, "vllm does not report how many requests wait");
  EXPECT_EQ(engine.Answer({.metric = EngineMetric::kRequestRate}, Second(1), kLongestGap).error,
            "vllm has not reported yet how many requests it served");
  engine.AddReading(Second(2), "vllm", PageWith(3, 4));
  EXPECT_EQ(WaitingOf(engine, "").error, "");
}

TEST(EngineTimeline, ListsEnginesThatReportTheMetric) {
  EngineTimeline engine;
  EXPECT_THAT(WaitingOf(engine, "").reported_by, IsEmpty())
      << "not recognised: it may report the metric";
  engine.AddReading(Second(0), "tei", PageWith(3, 4));
  const EngineQuery cache{.metric = EngineMetric::kKvCacheUsagePercent};
  const SignalSeries never = engine.Answer(cache, Second(0), kLongestGap);
  EXPECT_EQ(never.engine, "tei");
  EXPECT_THAT(never.reported_by, testing::Contains("vllm"));
  EXPECT_THAT(never.reported_by, testing::Not(testing::Contains("tei")));
  EXPECT_EQ(never.error, "tei never reports how full its KV cache is");
  EXPECT_THAT(WaitingOf(engine, "").reported_by, IsEmpty());
  engine.AddReading(Second(1), "vllm", {.models = {{.running = 1}}});
  EXPECT_THAT(engine.Answer(cache, Second(1), kLongestGap).reported_by, IsEmpty())
      << "this page has none, another's has";
}

TEST(EngineTimeline, TritonNeverReportsAPressureWithoutTensorRtLlm) {
  EngineTimeline engine;
  engine.KeepOnly({"llama", "resnet"});
  const auto pressure_of = [&](const std::string& model) {
    return engine.Answer({.metric = EngineMetric::kPressurePercent, .model = model}, Second(9),
                         kLongestGap);
  };
  const ModelReading resnet{.model = "resnet", .waiting = 3, .requests_done = 8};
  engine.AddReading(Second(0), "triton", {.models = {resnet}});
  EXPECT_THAT(pressure_of("").reported_by, testing::Contains("triton with TensorRT-LLM"));
  EXPECT_EQ(pressure_of("").error,
            "triton does not export how full its KV cache is, nor how many requests wait and run "
            "without TensorRT-LLM");
  EXPECT_THAT(pressure_of("llama").reported_by, IsEmpty()) << "it may be loaded later";
  EXPECT_EQ(pressure_of("llama").error, "no model \"llama\": it has resnet");
  EXPECT_THAT(WaitingOf(engine, "").reported_by, IsEmpty());

  engine.AddReading(
      Second(1), "triton",
      {.models = {{.model = "llama", .waiting = 0, .running = 2, .limit = 4}, resnet}});
  EXPECT_THAT(pressure_of("").reported_by, IsEmpty());
  EXPECT_THAT(pressure_of("llama").reported_by, IsEmpty());
  EXPECT_THAT(pressure_of("resnet").reported_by, testing::Contains("triton with TensorRT-LLM"));
}

TEST(EngineTimeline, ReportsWhatAPressureIsMeasuredAgainst) {
  const auto against = [](const ModelReading& reading, std::optional<double> given) {
    EngineTimeline engine;
    for (int second = 0; second <= 10; ++second) {
      engine.AddReading(Second(second), "vllm", {.models = {reading}});
    }
    return engine
        .Answer({.metric = EngineMetric::kPressurePercent, .max_concurrency = given}, Second(10),
                kLongestGap)
        .pressure_basis;
  };
  EXPECT_EQ(against({.waiting = 1, .running = 8, .limit = 64}, 32),
            "of the 64 requests that it runs at most");
  EXPECT_EQ(against({.waiting = 1, .running = 8}, 32), "of maxConcurrency 32");
  EXPECT_EQ(against({.waiting = 1, .running = 8}, {}),
            "of the 8 that ran at most while others waited (maxConcurrency is not given)");
  EXPECT_EQ(against({.waiting = 0, .running = 8}, {}),
            "without a limit: none is known yet, and maxConcurrency is not given");
  EXPECT_EQ(against({.kv_cache_usage_ratio = 0.5}, 32), "by its KV cache alone");
}

TEST(EngineTimeline, ReadingsBeforeAFailureStay) {
  EngineTimeline engine;
  engine.AddReading(Second(0), "vllm", PageWith(3, 4));
  engine.Fail(Second(1), absl::UnavailableError("timed out"));
  EXPECT_THAT(WaitingOf(engine, "").points, ElementsAre(SignalPoint{Second(0), 7}));
  EXPECT_EQ(WaitingOf(engine, "").error, "timed out");
}

TEST(EngineTimeline, AnswersSinceTheFirstReading) {
  EngineTimeline engine;
  engine.Fail(Second(0), absl::UnavailableError("connection refused"));
  EXPECT_EQ(WaitingOf(engine, "").first_read_at, absl::InfiniteFuture());
  engine.AddReading(Second(5), "vllm", PageWith(0, 0));
  engine.AddReading(Second(6), "vllm", PageWith(0, 0));
  EXPECT_EQ(WaitingOf(engine, "").first_read_at, Second(5));
}

TEST(EngineTimeline, DuplicateReadingCountsOnce) {
  EngineTimeline engine;
  engine.AddReading(Second(1), "vllm", PageWith(3, 4));
  engine.AddReading(Second(1), "vllm", PageWith(9, 9));
  engine.AddReading(Second(0), "vllm", PageWith(9, 9));
  engine.Fail(Second(0), absl::UnavailableError("an old failure"));
  EXPECT_THAT(WaitingOf(engine, "").points, ElementsAre(SignalPoint{Second(1), 7}));
  EXPECT_EQ(WaitingOf(engine, "").error, "");
}

// Eight requests run for five minutes. One finishes every second, with 100 tokens.
void Serve(EngineTimeline& engine, const std::string& model, int from) {
  for (int second = 0; second < 300; ++second) {
    engine.AddReading(Second(from + second), "vllm",
                      {.models = {{.model = model,
                                   .waiting = 0,
                                   .running = 8,
                                   .requests_done = second,
                                   .generation_tokens = 100.0 * second,
                                   .answers = second,
                                   .answer_tokens = 100.0 * second}}});
  }
}

EngineReading JustStarted(const std::string& model) {
  return {.models = {{.model = model,
                      .waiting = 0,
                      .running = 0,
                      .requests_done = 0,
                      .generation_tokens = 0,
                      .answers = 0,
                      .answer_tokens = 0}}};
}

EngineDemand EngineDemandAt(const EngineTimeline& engine, int second) {
  const SignalSeries series = engine.Answer({.metric = EngineMetric::kPressurePercent,
                                             .look_back = absl::Minutes(1),
                                             .demand_window = absl::Hours(1)},
                                            Second(second), kLongestGap);
  return series.demand == nullptr ? EngineDemand() : *series.demand;
}

double AnswersIn(const EngineDemand& demand) {
  double answers = 0;
  for (const RequestBin& bin : demand.bins) answers += bin.answers;
  return answers;
}

TEST(EngineTimeline, RestartWithTheSameModelKeepsServiceTimes) {
  EngineTimeline engine;
  Serve(engine, "llama", 0);
  engine.AddReading(Second(310), "vllm", {});  // it loads
  engine.AddReading(Second(320), "vllm", JustStarted("llama"));
  const EngineDemand demand = EngineDemandAt(engine, 320);
  EXPECT_GT(demand.service.tokens, 0);
  EXPECT_GT(AnswersIn(demand), 0);
}

TEST(EngineTimeline, RestartWithAnotherModelDropsServiceTimes) {
  EngineTimeline engine;
  Serve(engine, "llama", 0);
  engine.AddReading(Second(310), "vllm", {});  // it loads
  engine.AddReading(Second(320), "vllm", JustStarted("qwen"));
  const EngineDemand demand = EngineDemandAt(engine, 320);
  EXPECT_EQ(demand.service.tokens, 0);
  EXPECT_EQ(demand.service.largest_batch, 0);
  EXPECT_EQ(AnswersIn(demand), 0);
  double arrived = 0;
  for (const RequestBin& bin : demand.bins) arrived += bin.arrived;
  EXPECT_GT(arrived, 290) << "the requests that came are the workload's, whatever the model";
  Serve(engine, "qwen", 321);
  EXPECT_GT(EngineDemandAt(engine, 700).service.tokens, 0) << "and the new model is learnt";
}

TEST(EngineTimeline, BatchLimitOfAnotherModelIsDropped) {
  EngineTimeline engine;
  const auto take_full = [&](const std::string& model, int from) {
    for (int second = from; second <= from + 10; ++second) {
      engine.AddReading(Second(second), "vllm",
                        {.models = {{.model = model, .waiting = 1, .running = 8}}});
    }
  };
  const auto limit_at = [&](int second) {
    return engine.Answer({.metric = EngineMetric::kPressurePercent}, Second(second), kLongestGap)
        .batch->learnt_limit;
  };
  take_full("llama", 0);
  EXPECT_THAT(limit_at(10), testing::Optional(8));
  engine.AddReading(Second(11), "vllm",
                    {.models = {{.model = "qwen", .waiting = 0, .running = 1}}});
  EXPECT_EQ(limit_at(11), std::nullopt) << "no counter has fallen, and yet it is another process";
}

TEST(EngineTimeline, AdditionalModelKeepsServiceTimesAndLimit) {
  EngineTimeline engine;
  Serve(engine, "llama", 0);
  EngineReading both = JustStarted("llama");
  both.models[0].requests_done = 400;
  both.models.push_back({.model = "qwen"});
  engine.AddReading(Second(301), "vllm", both);
  EXPECT_GT(EngineDemandAt(engine, 301).service.tokens, 0);
}

}  // namespace
}  // namespace gpuscaler
