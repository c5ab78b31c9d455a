#include "cost/counter_usage.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const absl::Time kPeriodBegins = absl::FromUnixSeconds(1'767'225'600);
constexpr absl::Duration kUsageStep = absl::Minutes(5);
constexpr int64_t kStepSeconds = 300;

struct TestSeries {
  std::string workload;  // empty: none
  std::string state;
  std::vector<std::optional<double>> seconds;  // one for each step; empty: no point
  std::string node = "gpu-7";
  std::string instance = "10.0.0.7:9090";
};

RangeSeries SeriesOf(const TestSeries& test, int64_t first = 0) {
  RangeSeries series{.labels = {{"__name__", "keda_gpu_scaler_gpu_seconds_total"},
                                {"namespace", test.workload.empty() ? "gpu-scaler" : "shop"},
                                {"gpu_model", "H200"},
                                {"node", test.node},
                                {"instance", test.instance},
                                {"state", test.state}},
                     .points = {}};
  if (!test.workload.empty()) series.labels["workload"] = test.workload;
  for (size_t i = 0; i < test.seconds.size(); ++i) {
    if (!test.seconds[i]) continue;
    series.points.push_back({.at = kPeriodBegins + (first + static_cast<int64_t>(i)) * kUsageStep,
                             .value = *test.seconds[i]});
  }
  return series;
}

std::map<std::string, double> SecondsOf(const CounterUsage& counters) {
  std::map<std::string, double> seconds;
  for (const Usage& usage : counters.usage()) {
    const std::string workload =
        usage.key.workload.empty() ? "" : usage.key.namespace_name + "/" + usage.key.workload + " ";
    for (const GpuState state : kAllGpuStates) {
      if (usage.times[state] == 0) continue;
      seconds[workload + std::string(Name(state))] += static_cast<double>(usage.times[state]) / 1e6;
    }
  }
  return seconds;
}

std::map<std::string, double> UsageOfSeries(const std::vector<TestSeries>& tests,
                                            absl::Duration longest_gap = absl::Hours(1)) {
  size_t steps = 0;
  std::vector<RangeSeries> series;
  for (const TestSeries& test : tests) {
    steps = std::max(steps, test.seconds.size());
    series.push_back(SeriesOf(test));
  }
  CounterUsage counters(kPeriodBegins, kUsageStep, longest_gap);
  EXPECT_TRUE(counters.Add(static_cast<int64_t>(steps), series).ok());
  counters.Finish();
  return SecondsOf(counters);
}

constexpr std::nullopt_t kNoPoint = std::nullopt;

TEST(CounterUsage, GrowthCountsFromTheFirstPoint) {
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", {1000, 1300, 1500}}, {"", "free", {50, 50, 150}}}),
              UnorderedElementsAre(Pair("shop/chat busy", 500), Pair("free", 100)));
}

TEST(CounterUsage, ANewWorkloadBeginsAtZero) {
  EXPECT_THAT(
      UsageOfSeries({{"chat", "busy", {kNoPoint, 100, 400}}, {"", "free", {300, 500, 500}}}),
      UnorderedElementsAre(Pair("shop/chat busy", 400), Pair("free", 200)));
}

TEST(CounterUsage, ACounterThatEndsAloneAndBeginsAgainLosesNothing) {
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", {90'000, 90'300, kNoPoint, 100}},
                             {"", "free", {86'400, 86'400, 86'700, 86'900}}}),
              UnorderedElementsAre(Pair("shop/chat busy", 400), Pair("free", 500)));
  // Both within one step.
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", {90'000, 90'000, 120}},
                             {"", "free", {86'400, 86'700, 86'880}}}),
              UnorderedElementsAre(Pair("shop/chat busy", 120), Pair("free", 480)));
}

TEST(CounterUsage, ARestartLosesWhatIsNotCountedAndThatIsUnknown) {
  // The agent restarts in the second step: 100 s before its first point.
  EXPECT_THAT(
      UsageOfSeries({{"chat", "busy", {1000, 1300, 80, 380}}, {"", "idle", {0, 0, 20, 20}}}),
      UnorderedElementsAre(Pair("shop/chat busy", 680), Pair("idle", 20), Pair("unknown", 200)));
}

TEST(CounterUsage, ACounterThatGrewOverARestartBeganAnewToo) {
  // The counter of free GPUs fell, so that of chat did not grow by 40 but by 50.
  EXPECT_THAT(
      UsageOfSeries({{"chat", "busy", {0, 10, 50}}, {"", "free", {10, 300, 240}}}),
      UnorderedElementsAre(Pair("shop/chat busy", 60), Pair("free", 530), Pair("unknown", 10)));
}

TEST(CounterUsage, ACounterThatEndedWithTheRestartDoesNotBeginAnew) {
  // The last point of the free GPUs is repeated: the new process has not counted any.
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", {5000, 5300, 200, 500}},
                             {"", "free", {9000, 9000, 9000, kNoPoint}}}),
              UnorderedElementsAre(Pair("shop/chat busy", 800), Pair("unknown", 100)));
}

TEST(CounterUsage, ANewAgentOfANodeBeginsAtZero) {
  EXPECT_THAT(
      UsageOfSeries({{"chat", "busy", {5000, 5300, kNoPoint, kNoPoint}},
                     {"chat", "busy", {kNoPoint, kNoPoint, 250, 550}, "gpu-7", "10.0.0.8"}}),
      UnorderedElementsAre(Pair("shop/chat busy", 850), Pair("unknown", 50)));
}

TEST(CounterUsage, OneOfTwoAgentsOfANodeCounts) {
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", {0, 300, 600, 900}},
                             {"chat", "busy", {0, 300, 600, 900}, "gpu-7", "another job"}}),
              UnorderedElementsAre(Pair("shop/chat busy", 900)));
}

TEST(CounterUsage, AGapIsUnknownUnlessTheCountersGrewMeanwhile) {
  const std::vector<std::optional<double>> others = {0, 300, 600, 900, 1200};
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", {0, 300, kNoPoint, kNoPoint, 100}},
                             {"other", "busy", others, "gpu-8"}}),
              UnorderedElementsAre(Pair("shop/chat busy", 400), Pair("unknown", 800),
                                   Pair("shop/other busy", 1200)));
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", {0, 300, kNoPoint, kNoPoint, 1150}},
                             {"other", "busy", others, "gpu-8"}}),
              UnorderedElementsAre(Pair("shop/chat busy", 1150), Pair("unknown", 50),
                                   Pair("shop/other busy", 1200)));
}

TEST(CounterUsage, APointThatIsRepeatedAfterTheEndOfItsAgentIsNoReading) {
  // The last point of the old agent is as of 180 s before the step, and is seen once more.
  EXPECT_THAT(
      UsageOfSeries(
          {{"chat", "busy", {0, 600, 840, 840}},
           {"chat", "busy", {kNoPoint, kNoPoint, kNoPoint, 760, 1360}, "gpu-7", "another pod"}}),
      UnorderedElementsAre(Pair("shop/chat busy", 2200), Pair("unknown", 200)));
}

TEST(CounterUsage, AScrapeThatFailedLosesNothing) {
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", {0, 2400, 4320, 7200, 9600}}}),
              UnorderedElementsAre(Pair("shop/chat busy", 9600)));
}

TEST(CounterUsage, ANodeThatIsMissingForLongWasRemoved) {
  std::vector<std::optional<double>> seconds = {0, 300};
  std::vector<std::optional<double>> others = {0, 300};
  for (int step = 2; step < 20; ++step) {
    seconds.emplace_back(kNoPoint);
    others.emplace_back(step * 300);
  }
  const std::vector<TestSeries> left = {{"chat", "busy", seconds},
                                        {"other", "busy", others, "gpu-8"}};
  EXPECT_THAT(UsageOfSeries(left),
              UnorderedElementsAre(Pair("shop/chat busy", 300), Pair("shop/other busy", 5700)));
  EXPECT_THAT(UsageOfSeries(left, absl::Hours(2)),
              UnorderedElementsAre(Pair("shop/chat busy", 300), Pair("unknown", 5400),
                                   Pair("shop/other busy", 5700)));
  seconds.emplace_back(100);
  others.emplace_back(6000);
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", seconds}, {"other", "busy", others, "gpu-8"}}),
              UnorderedElementsAre(Pair("shop/chat busy", 400), Pair("shop/other busy", 6000)));
}

TEST(CounterUsage, AnOutageOfPrometheusRemovesNoNode) {
  std::vector<std::optional<double>> seconds = {0, 300};
  seconds.resize(40, kNoPoint);
  seconds.emplace_back(100);
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", seconds}}),
              UnorderedElementsAre(Pair("shop/chat busy", 400), Pair("unknown", 39 * 300 - 100)));
}

TEST(CounterUsage, ANodeThatJoinsCountsFromItsStart) {
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", {kNoPoint, kNoPoint, 120, 420}},
                             {"other", "busy", {0, 300, 600, 900}, "gpu-8"}}),
              UnorderedElementsAre(Pair("shop/chat busy", 420), Pair("shop/other busy", 900)));
}

TEST(CounterUsage, AnAgentFromBeforeThePeriodThatIsScrapedLateIsUnknownUntilThen) {
  EXPECT_THAT(UsageOfSeries({{"chat", "busy", {kNoPoint, kNoPoint, 90'000, 90'300}},
                             {"other", "busy", {0, 300, 600, 900}, "gpu-8"}}),
              UnorderedElementsAre(Pair("shop/chat busy", 300), Pair("unknown", 600),
                                   Pair("shop/other busy", 900)));
}

TEST(CounterUsage, LabelsThatPrometheusRenamedAreRead) {
  RangeSeries series = SeriesOf({"chat", "busy", {0, 300}});
  series.labels["exported_namespace"] = "shop";
  series.labels["namespace"] = "gpu-scaler";
  series.labels["exported_node"] = "gpu-7";
  series.labels["node"] = "monitoring-1";
  CounterUsage counters(kPeriodBegins, kUsageStep, absl::Hours(1));
  ASSERT_TRUE(counters.Add(2, {{series}}).ok());
  counters.Finish();
  ASSERT_EQ(counters.usage().size(), 1u);
  EXPECT_EQ(counters.usage()[0].key.namespace_name, "shop");
  EXPECT_EQ(counters.usage()[0].key.node, "gpu-7");
}

TEST(CounterUsage, AnswersInPartsAreAsOne) {
  CounterUsage counters(kPeriodBegins, kUsageStep, absl::Hours(1));
  ASSERT_TRUE(counters.Add(2, {{SeriesOf({"chat", "busy", {1000, 1300}})}}).ok());
  ASSERT_TRUE(counters.Add(2, {{SeriesOf({"chat", "busy", {100, 400}}, 2)}}).ok());
  counters.Finish();
  EXPECT_THAT(SecondsOf(counters),
              UnorderedElementsAre(Pair("shop/chat busy", 700), Pair("unknown", 200)));
}

TEST(CounterUsage, RefusesCountersOfOtherPrograms) {
  CounterUsage counters(kPeriodBegins, kUsageStep, absl::Hours(1));
  const absl::Status refused = counters.Add(1, {{SeriesOf({"chat", "on fire", {1}})}});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), testing::HasSubstr("on fire"));
}

TEST(CounterUsage, AStaticFleetHasTheMostThatAWorkloadHeldAtOnce) {
  CounterUsage counters(kPeriodBegins, kUsageStep, absl::Hours(1));
  ASSERT_TRUE(counters
                  .Add(4, {{SeriesOf({"chat", "busy", {0, 300, 600, 600}}),
                            SeriesOf({"chat", "idle", {0, 0, 300, 300}, "gpu-8"}),
                            SeriesOf({"", "free", {0, 600, 600, 900}})}})
                  .ok());
  counters.Finish();
  const std::vector<StaticFleet> fleets = counters.static_fleets();
  ASSERT_EQ(fleets.size(), 1u);
  EXPECT_EQ(fleets[0].workload.workload, "chat");
  EXPECT_EQ(fleets[0].workload.node, "");
  EXPECT_EQ(fleets[0].most_gpus, 2);
  EXPECT_EQ(fleets[0].held_micros, 900'000'000);
  const auto prices = PriceList::Parse("GPU model,price per hour\nH200,12\n");
  ASSERT_TRUE(prices.ok()) << prices.status();
  const Saving saving = SavingOf(fleets, 3 * kUsageStep, &*prices);
  EXPECT_EQ(saving.static_micros, 2 * 3 * kStepSeconds * 1'000'000);
  EXPECT_EQ(saving.held_micros, 900'000'000);
  EXPECT_EQ(saving.saved->Text(), "3.00");
}

}  // namespace
}  // namespace gpuscaler
