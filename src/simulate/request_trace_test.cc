#include "simulate/test_request_trace.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

constexpr EngineRequest kChat = {.prompt_tokens = 1000, .max_tokens = 300};

TEST(RequestTrace, PoissonArrivalsHaveTheRateAndRepeatForTheSameSeed) {
  const auto trace = PoissonTrace(RateCurve::Constant(10), absl::Hours(1), kChat, 7);
  EXPECT_NEAR(RequestsPerSecond(trace), 10, 0.5);
  EXPECT_EQ(trace[5].at, PoissonTrace(RateCurve::Constant(10), absl::Hours(1), kChat, 7)[5].at);
  EXPECT_NE(trace[5].at, PoissonTrace(RateCurve::Constant(10), absl::Hours(1), kChat, 8)[5].at);
  EXPECT_EQ(trace[5].request.prompt_tokens, 1000);
}

TEST(RequestTrace, LengthsVaryAroundTheirMeanWithinTheirSpread) {
  const auto trace = PoissonTrace(RateCurve::Constant(10), absl::Hours(1), kChat, 7, {0.1, 0.15});
  double sum = 0;
  for (const TracedRequest& each : trace) {
    EXPECT_GE(each.request.prompt_tokens, 850);
    EXPECT_LE(each.request.prompt_tokens, 1150);
    EXPECT_EQ(each.request.max_tokens, 300);
    sum += static_cast<double>(each.request.prompt_tokens);
  }
  EXPECT_NEAR(sum / static_cast<double>(trace.size()), 1000, 5);
}

TEST(RequestTrace, ParsesAzureCsv) {
  const auto trace = ParseTrace(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2023-11-16 18:15:46.6805900,374,44\n"
      "2023-11-16 18:15:50.9951690,396,0\n");
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->size(), 2);
  EXPECT_EQ((*trace)[0].at, absl::ZeroDuration());
  EXPECT_EQ((*trace)[0].request.prompt_tokens, 374);
  EXPECT_EQ((*trace)[0].request.max_tokens, 44);
  EXPECT_NEAR(absl::ToDoubleSeconds((*trace)[1].at), 4.314579, 1e-6);
  EXPECT_EQ((*trace)[1].request.max_tokens, 1) << "an engine makes one token at least";
}

TEST(RequestTrace, ParsesMooncakeJsonLines) {
  const auto trace = ParseTrace(
      R"({"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]})"
      "\n"
      R"({"timestamp": 30535, "input_length": 6472, "output_length": 26, "hash_ids": []})");
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->size(), 2);
  EXPECT_EQ((*trace)[1].at, absl::Milliseconds(3053));
  EXPECT_EQ((*trace)[1].request.prompt_tokens, 6472);
}

TEST(RequestTrace, AnErrorNamesItsLineAndTheFormat) {
  const auto azure = ParseTrace("TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,2\n");
  EXPECT_THAT(std::string(azure.status().message()), HasSubstr("line 2: use TIMESTAMP,"));
  const auto mooncake = ParseTrace("{\"timestamp\": 1, \"input_length\": 2}\n");
  EXPECT_THAT(std::string(mooncake.status().message()), HasSubstr("line 1: use a JSON object"));
  EXPECT_THAT(std::string(ParseTrace("").status().message()), HasSubstr("no request"));
}

TEST(RequestTrace, ScalingKeepsTheShapeAndSetsTheRate) {
  const auto trace = PoissonTrace(RateCurve::Step(2, 8, absl::Hours(1)), absl::Hours(1), kChat, 7);
  for (const double rate : {1.0, 20.0}) {
    const auto scaled = ScaledTrace(trace, rate, 1);
    EXPECT_NEAR(RequestsPerSecond(scaled), rate, 0.1 * rate);
    const auto middle = std::ranges::count_if(scaled, [](const TracedRequest& each) {
      return absl::Minutes(15) <= each.at && each.at < absl::Minutes(45);
    });
    EXPECT_NEAR(static_cast<double>(middle) / static_cast<double>(scaled.size()), 0.8, 0.03);
  }
}

}  // namespace
}  // namespace gpuscaler
