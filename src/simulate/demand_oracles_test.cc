// Worked examples of demand: Decide() on readings of engines and queues, then the HPA on its
// value, sync by sync. The replicas of each step are ready before the next.
#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/hpa.h"
#include "scaling/test_signal_builder.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;

constexpr StalenessLimits kDemandStaleness{.stale_after = absl::Seconds(6),
                                           .grace = absl::Seconds(15)};
const absl::Time kAskedAt = absl::FromUnixSeconds(1'767'225'600);

Decision DecideDemand(const Trigger& trigger, const SignalHistory& signals) {
  return Decide(trigger, {.namespace_name = "team-a", .name = "llm"}, {.now = kAskedAt}, &signals,
                kDemandStaleness);
}

int NextReplicas(const Trigger& trigger, int replicas, double value) {
  const HpaOptions hpa{.min_replicas = 0,
                       .max_replicas = 50,
                       .target_type = trigger.target_type,
                       .target = trigger.target};
  return std::min(ProposeReplicas(hpa, replicas, replicas, value), 50);
}

// Each replica has an engine that reports `of_each`.
SignalBuilder EnginesOf(int replicas, double of_each) {
  SignalBuilder signals(kAskedAt);
  for (int i = 0; i < replicas; ++i) {
    const std::string address = absl::StrCat("10.1.0.", i);
    signals.RepeatFor(address, absl::Minutes(12), of_each).address = address;
  }
  return signals;
}

std::vector<int> Syncs(const Trigger& trigger, int from, int syncs,
                       const std::function<double(int replicas)>& of_each) {
  std::vector<int> replicas = {from};
  while (static_cast<int>(replicas.size()) < syncs) {
    const int now = replicas.back();
    const SignalBuilder engines = EnginesOf(now, of_each(now));
    replicas.push_back(NextReplicas(trigger, now, DecideDemand(trigger, engines.history()).value));
  }
  return replicas;
}

TEST(DemandOracle, SharedRequestsAreStableForBothTargetTypes) {
  Trigger trigger = Parsed({{"metricType", "requests_running"},
                            {"targetValue", "10"},
                            {"engineEndpoint", "http://llm:8000"}});
  const auto forty_in_all = [](int replicas) { return 40.0 / replicas; };
  EXPECT_THAT(Syncs(trigger, 4, 3, forty_in_all), ElementsAre(4, 4, 4));
  EXPECT_THAT(Syncs(trigger, 1, 3, forty_in_all), ElementsAre(1, 4, 4));
  trigger.target_type = TargetType::kValue;
  EXPECT_THAT(Syncs(trigger, 4, 3, forty_in_all), ElementsAre(4, 4, 4));
}

TEST(DemandOracle, PressureAtMostDoublesReplicas) {
  const Trigger trigger =
      Parsed({{"profile", "vllm-inference"}, {"engineEndpoint", "http://llm:8000"}});
  EXPECT_THAT(Syncs(trigger, 4, 3, [](int) { return 100; }), ElementsAre(4, 5, 7));
  EXPECT_THAT(Syncs(trigger, 4, 2, [](int) { return 900; }), ElementsAre(4, 8));
  EXPECT_THAT(Syncs(trigger, 4, 2, [](int) { return 0; }), ElementsAre(4, 0));
}

TEST(DemandOracle, AQueueOf47JobsNeedsTenReplicasAndAnEmptyOneNone) {
  const Trigger trigger = Parsed({{"metricType", "redis_stream_lag"},
                                  {"redisAddress", "redis:6379"},
                                  {"redisStream", "jobs"},
                                  {"redisConsumerGroup", "workers"},
                                  {"jobsPerReplica", "5"}});
  SignalBuilder queue(kAskedAt);
  queue.RepeatFor("stream jobs", absl::Minutes(5), 47);
  EXPECT_EQ(NextReplicas(trigger, 2, DecideDemand(trigger, queue.history()).value), 10);
  EXPECT_TRUE(DecideDemand(trigger, queue.history()).active);
  queue.Then("stream jobs", absl::ZeroDuration(), 0);
  EXPECT_EQ(NextReplicas(trigger, 10, DecideDemand(trigger, queue.history()).value), 0);
  EXPECT_FALSE(DecideDemand(trigger, queue.history()).active);
}

}  // namespace
}  // namespace gpuscaler
