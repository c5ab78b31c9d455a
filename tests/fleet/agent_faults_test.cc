// Agents that die, are disconnected, or are slow.
#include "fault_test.h"
#include "own_network.h"
#include "slow_link.h"

namespace gpuscaler {
namespace {

class AgentFaultTest : public FaultTest {};

TEST_F(AgentFaultTest, AKilledAgentCountsAsBeforeForItsGraceThenAsTheTarget) {
  StartAll();
  AwaitHeartbeat(*agents_[2]);
  const absl::Time killed = absl::Now();
  const std::string port = absl::StrCat("--telemetry-port=", agents_[2]->Port("grpc"));
  agents_[2]->process().Signal(SIGKILL);
  const absl::Duration kept_for = TimeTo(kOneStale, killed);
  EXPECT_GE(kept_for, kGrace - absl::Seconds(2)) << "since the last heartbeat";
  const absl::Time back = absl::Now();
  agents_[2] = nodes_[2]->StartAgent({port});
  const absl::Duration recovery = TimeTo(kWhole, back);
  ExpectNoWrongScaling(keda_->Since(killed), kWhole, kOneStale);
  ReportFault("agent killed, back after " +
                  absl::FormatDuration(absl::Floor(back - killed, absl::Seconds(1))),
              keda_->Since(killed), recovery, kReconnected);
}

// The cable is cut, so no connection is closed.
TEST_F(AgentFaultTest, AnUnreachableAgentCountsAsBeforeForItsGraceThenAsTheTarget) {
  StartNodes();
  const Cable cable;
  ASSERT_TRUE(cable.status().ok()) << cable.status();
  for (int i = 0; i < 2; ++i) agents_.push_back(nodes_[i]->StartAgent());
  const std::string near = StaticAgents();
  agents_.push_back(nodes_[2]->StartAgent({absl::StrCat("--bind-address=", cable.far_address())},
                                          {}, [&cable] { cable.EnterFarEnd(); }));
  aggregator_ =
      StartAggregator(absl::StrCat(near, ",", cable.far_address(), ":", agents_[2]->Port("grpc")));
  keda_ = PollAsKeda(*aggregator_);
  ASSERT_TRUE(Settles(kWhole)) << aggregator_->process().Err();

  const absl::Time cut = absl::Now();
  cable.Cut();
  EXPECT_GE(TimeTo(kOneStale, cut), kGrace - absl::Seconds(2));
  ASSERT_TRUE(aggregator_->process().WaitForErr(
      absl::StrCat("no message for ", absl::FormatDuration(kGrace))));
  const absl::Time mended = absl::Now();
  cable.Mend();
  const absl::Duration recovery = TimeTo(kWhole, mended);
  ExpectNoWrongScaling(keda_->Since(cut), kWhole, kOneStale);
  ReportFault("agent behind a cut cable", keda_->Since(cut), recovery, kReconnected);
}

TEST_F(AgentFaultTest, AnAgentStoppedForLessThanItsGraceChangesNothing) {
  StartAll();
  const absl::Time stopped = absl::Now();
  agents_[2]->process().Signal(SIGSTOP);
  absl::SleepFor(absl::Seconds(2));
  agents_[2]->process().Signal(SIGCONT);
  const absl::Duration recovery = TimeTo(kWhole, absl::Now());
  ExpectNoWrongScaling(keda_->Since(stopped), kWhole, kWhole);
  ReportFault("agent stopped for 2 s", keda_->Since(stopped), recovery, kUndisturbed);
}

TEST_F(AgentFaultTest, AHangingAgentCountsAsTheTarget) {
  StartAll();
  const absl::Time stopped = absl::Now();
  agents_[2]->process().Signal(SIGSTOP);
  TimeTo(kOneStale, stopped);
  const absl::Time continues = absl::Now();
  agents_[2]->process().Signal(SIGCONT);
  const absl::Duration recovery = TimeTo(kWhole, continues);
  ExpectNoWrongScaling(keda_->Since(stopped), kWhole, kOneStale);
  ReportFault("agent stopped for longer than its grace", keda_->Since(stopped), recovery,
              kReconnected);
}

// Its readings are late but correct.
TEST_F(AgentFaultTest, ReadingsOverASlowLinkAreLateButCorrect) {
  StartNodes();
  StartAgents();
  SlowLink slow(agents_[2]->Port("grpc"));
  const auto kept = std::move(agents_[2]);
  agents_.pop_back();
  aggregator_ = StartAggregator(absl::StrCat(StaticAgents(), ",", slow.address()));
  keda_ = PollAsKeda(*aggregator_);
  ASSERT_TRUE(Settles(kWhole)) << aggregator_->process().Err();

  const absl::Time slowed = absl::Now();
  slow.Delay(absl::Seconds(1));
  nodes_[2]->Show({kLoad + 30});
  const absl::Duration lag = TimeTo(kWhole + 30, slowed);
  EXPECT_GE(lag, absl::Seconds(1));
  ExpectNoWrongScaling(keda_->Since(slowed), kWhole, kWhole + 30);
  ReportFault("agent behind a link of 1 s", keda_->Since(slowed), lag,
              absl::Seconds(1) + kReconnected);
}

}  // namespace
}  // namespace gpuscaler
