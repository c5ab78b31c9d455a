// Probes and gRPC health of an aggregator.
#include "fault_test.h"
#include "health_check.h"
#include "held_thread.h"

namespace gpuscaler {
namespace {

class AggregatorHealthTest : public FaultTest {};

TEST_F(AggregatorHealthTest, LivenessFailsWhileTheAnsweringThreadHangs) {
  StartNodes(1);
  StartAgents();
  aggregator_ = StartAggregator(StaticAgents(), {"--hang-after=3s"});
  ASSERT_TRUE(Eventually([this] { return Probe(*aggregator_, "/healthz") == 200; }));
  {
    const HeldThread answers(aggregator_->process().pid(), "answers");
    ASSERT_TRUE(answers.held().ok()) << answers.held();
    EXPECT_TRUE(Eventually([this] { return Probe(*aggregator_, "/healthz") == 503; }));
    EXPECT_TRUE(aggregator_->process().WaitForErr("event=thread_hangs thread=answers"));
  }
  EXPECT_TRUE(Eventually([this] { return Probe(*aggregator_, "/healthz") == 200; }));
}

TEST_F(AggregatorHealthTest, HealthOfTheScalerFollowsWhetherTheFleetIsKnown) {
  StartNodes(1);
  StartAgents();
  agents_[0]->process().Signal(SIGSTOP);
  aggregator_ = StartAggregator(StaticAgents());
  ASSERT_TRUE(aggregator_->process().WaitForErr("event=serving"));
  EXPECT_EQ(Health(*aggregator_, kScalerService), "NOT_SERVING");
  agents_[0]->process().Signal(SIGCONT);
  EXPECT_TRUE(Eventually([this] { return Health(*aggregator_, kScalerService) == "SERVING"; }));
}

// Until then the kubelet sends it no requests, and a rollout removes no older aggregator.
TEST_F(AggregatorHealthTest, ReadyOnceAllAgentsHaveReported) {
  StartAll();
  agents_[2]->process().Signal(SIGSTOP);
  const auto upgraded = StartAggregator(StaticAgents());
  absl::SleepFor(absl::Seconds(2));
  EXPECT_EQ(Probe(*upgraded, "/readyz"), 503);
  agents_[2]->process().Signal(SIGCONT);
  ASSERT_TRUE(Eventually([&] { return IsReady(*upgraded); })) << upgraded->process().Err();
  const auto keda = PollAsKeda(*upgraded);
  ASSERT_TRUE(Eventually([&] { return keda->Since(absl::InfinitePast()).size() > 20; }));
  // The first reading after a hang may be old, so the replica is kept.
  ExpectNoWrongScaling(keda->Since(absl::InfinitePast()), kWhole, kOneStale);
}

// It takes longer than an aggregator without any agent, which an upgrade must not wait for.
TEST_F(AggregatorHealthTest, WithADeadAgentReadyOnceItAnswersWithoutIt) {
  StartNodes();
  StartAgents();
  const absl::Time began = absl::Now();
  aggregator_ = StartAggregator(StaticAgents() + ",127.0.0.1:1", {"--empty-after=12s"});
  EXPECT_EQ(Probe(*aggregator_, "/readyz"), 503);
  ASSERT_TRUE(Eventually([this] { return IsReady(*aggregator_); }));
  EXPECT_GE(absl::Now() - began, absl::Seconds(11)) << "--empty-after";
  keda_ = PollAsKeda(*aggregator_);
  ASSERT_TRUE(Eventually([this] { return keda_->Since(absl::InfinitePast()).size() > 20; }));
  ExpectNoWrongScaling(keda_->Since(absl::InfinitePast()), kWhole, kWhole);
}

// If all aggregators are new, an empty Service would fail every trigger without a reason.
TEST_F(AggregatorHealthTest, WithoutAnyAgentReadyAfter10SecondsToReportTheReason) {
  const absl::Time began = absl::Now();
  aggregator_ = StartAggregator("static:127.0.0.1:1", {"--empty-after=1h"});
  ASSERT_TRUE(Eventually([this] { return IsReady(*aggregator_); }));
  EXPECT_GE(absl::Now() - began, absl::Seconds(9)) << "older ones may answer meanwhile";
  EXPECT_TRUE(aggregator_->process().WaitForErr("event=ready_without_fleet why=\"no report of 1"));
  keda_ = PollAsKeda(*aggregator_);
  may_go_idle_ = true;
  ASSERT_TRUE(Eventually([this] { return !keda_->Since(absl::InfinitePast()).empty(); }));
  EXPECT_EQ(keda_->Since(absl::InfinitePast()).front().value.status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(AggregatorHealthTest, StaysReadyWithoutAnyAgent) {
  StartNodes();
  StartAgents();
  aggregator_ = StartAggregator(StaticAgents(), {"--grace=4s"});
  ASSERT_TRUE(Eventually([this] { return IsReady(*aggregator_); }));
  for (const auto& agent : agents_) agent->process().Signal(SIGKILL);
  keda_ = PollAsKeda(*aggregator_);
  ASSERT_TRUE(Eventually([this] { return !keda_->Next().value.ok(); }));
  EXPECT_TRUE(IsReady(*aggregator_));
}

}  // namespace
}  // namespace gpuscaler
