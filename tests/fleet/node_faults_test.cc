// Faults on one node: its kubelet, its clock, its GPUs, or two agents with its name.
#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "fault_test.h"
#include "gmock/gmock.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

class NodeFaultTest : public FaultTest {
 protected:
  bool Exports(const std::string& line) const {
    const auto page = Request(aggregator_->Port("metrics"), "GET", "/metrics");
    return page.ok() && absl::StrContains(page->body, absl::StrCat("\n", line, "\n"));
  }
};

// As when a DaemonSet's pod is replaced: old and new pod overlap.
TEST_F(NodeFaultTest, ANodeWithTwoAgentsCountsOnce) {
  StartNodes();
  StartAgents();
  agents_.push_back(nodes_[2]->StartAgent());
  aggregator_ = StartAggregator(StaticAgents());
  keda_ = PollAsKeda(*aggregator_);
  ASSERT_TRUE(Settles(kWhole)) << aggregator_->process().Err();
  for (const auto& agent : agents_) {
    ASSERT_TRUE(aggregator_->process().WaitForErr(
        absl::StrCat("event=agent_connected address=", agent->Address())));
  }
  absl::SleepFor(kGrace + absl::Seconds(1));
  ExpectNoWrongScaling(keda_->Since(absl::InfinitePast()), kWhole, kWhole, Unknown::kAllowed);
  const std::string port = absl::StrCat("--telemetry-port=", agents_[2]->Port("grpc"));
  for (const size_t goes : {2u, 3u}) {
    const absl::Time gone = absl::Now();
    agents_[goes]->process().Signal(SIGKILL);
    ASSERT_TRUE(aggregator_->process().WaitForErr(
        absl::StrCat("event=agent_lost address=", agents_[goes]->Address())));
    absl::SleepFor(kGrace + absl::Seconds(1));
    const absl::Duration recovery = TimeTo(kWhole, gone);
    ExpectNoWrongScaling(keda_->Since(gone), kWhole, kWhole);
    ReportFault("the same node twice, one agent goes", keda_->Since(gone), recovery, kUndisturbed);
    if (goes == 3) break;
    agents_[2] = nodes_[2]->StartAgent({port});
    ASSERT_TRUE(Eventually([this] { return Exports("keda_gpu_scaler_agents_heard 4"); }))
        << "it comes second now";
  }
}

// An agent of another machine uses the node's name; without a check the value would fall to that
// machine's.
TEST_F(NodeFaultTest, ANodeNameOfTwoMachinesCountsForItsGraceThenIsUnreadable) {
  StartNodes();
  StartAgents();
  const FleetNode other("other", Percents{0});
  auto claims = other.StartAgent({"--node-name=gpu-2"});
  const std::string port = absl::StrCat("--telemetry-port=", claims->Port("grpc"));
  const std::string all = absl::StrCat(StaticAgents(), ",", claims->Address());
  claims->process().Signal(SIGKILL);
  claims->process().Wait();
  aggregator_ = StartAggregator(all, {"--empty-after=8s"});
  keda_ = PollAsKeda(*aggregator_);
  ASSERT_TRUE(Settles(kWhole)) << aggregator_->process().Err();

  const absl::Time claimed = absl::Now();
  claims = other.StartAgent({"--node-name=gpu-2", port});
  const absl::Duration kept_for = TimeTo(kOneStale, claimed);
  EXPECT_GE(kept_for, kGrace);
  ExpectNoWrongScaling(keda_->Since(claimed), kWhole, kOneStale);
  EXPECT_TRUE(aggregator_->process().WaitForErr(
      absl::StrCat("event=node_claimed_twice node=gpu-2 counts=", agents_[2]->Address(),
                   " other=", claims->Address())));
  EXPECT_TRUE(Exports("keda_gpu_scaler_nodes_claimed_twice 1"));

  const absl::Time gone = absl::Now();
  claims->process().Signal(SIGKILL);
  const absl::Duration recovery = TimeTo(kWhole, gone);
  ExpectNoWrongScaling(keda_->Since(gone), kWhole, kOneStale);
  ReportFault("a node that another machine claims", keda_->Since(claimed), recovery, kUndisturbed);
}

// The wall clock of one program, off by the number of seconds in a file.
class WrongClock {
 public:
  WrongClock() : path_(WriteTestFile("clock", std::string(sizeof(int64_t), '\0'))) {}

  void SetError(absl::Duration error) const {
    const int64_t seconds = absl::ToInt64Seconds(error);
    const int file = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(pwrite(file, &seconds, sizeof(seconds), 0), ssize_t{sizeof(seconds)});
    close(file);
  }
  Variables OfProgram() const {
    return {{"LD_PRELOAD", WRONG_CLOCK_LIBRARY}, {"WRONG_CLOCK", path_}};
  }

 private:
  const std::string path_;
};

// Returns how far the timestamp of the log's first line is from now.
absl::Duration ErrorOf(Server& server) {
  const std::string log = server.process().Err();
  absl::Time written;
  std::string fault;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, log.substr(0, log.find(' ')), &written, &fault))
      << fault << log;
  return written - absl::Now();
}

TEST_F(NodeFaultTest, AWrongOrJumpingClockChangesNothing) {
  StartNodes();
  for (int i = 0; i < 2; ++i) agents_.push_back(nodes_[i]->StartAgent());
  const WrongClock clock;
  clock.SetError(absl::Hours(1));
  agents_.push_back(nodes_[2]->StartAgent({}, clock.OfProgram()));
  ASSERT_GT(ErrorOf(*agents_[2]), absl::Minutes(59));
  aggregator_ = StartAggregator(StaticAgents());
  keda_ = PollAsKeda(*aggregator_);
  ASSERT_TRUE(Settles(kWhole)) << aggregator_->process().Err();

  const absl::Time jumped = absl::Now();
  clock.SetError(-absl::Hours(1));
  absl::SleepFor(absl::Seconds(2));
  nodes_[2]->Show({kLoad + 30});
  TimeTo(kWhole + 30, jumped);
  const absl::Time again = absl::Now();
  const std::string port = absl::StrCat("--telemetry-port=", agents_[2]->Port("grpc"));
  agents_[2]->process().Signal(SIGKILL);
  agents_[2]->process().Wait();
  agents_[2] = nodes_[2]->StartAgent({port}, clock.OfProgram());
  ASSERT_LT(ErrorOf(*agents_[2]), -absl::Minutes(59));
  nodes_[2]->Show({kLoad + 20});
  const absl::Duration recovery = TimeTo(kWhole + 20, again);
  ExpectNoWrongScaling(keda_->Since(jumped), kWhole, kWhole + 30);
  ReportFault("clock an hour fast, then an hour slow, then a restart", keda_->Since(jumped),
              recovery, kReconnected);
}

TEST_F(NodeFaultTest, RestartOfTheKubeletChangesNothing) {
  StartAll();
  const absl::Time stopped = absl::Now();
  nodes_[2]->kubelet().Stop();
  ASSERT_TRUE(agents_[2]->process().WaitForErr("event=kubelet_lost"));
  const int asked = nodes_[2]->kubelet().lists();
  nodes_[2]->ListPods(false);
  nodes_[2]->kubelet().Start();
  // Two lists, 5 s apart: the kubelet has not received its pods yet.
  ASSERT_TRUE(Eventually([&] { return nodes_[2]->kubelet().lists() >= asked + 2; }));
  absl::SleepFor(absl::Seconds(1));
  const absl::Time back = absl::Now();
  const int asked_of_none = nodes_[2]->kubelet().lists();
  nodes_[2]->ListPods(true);
  ASSERT_TRUE(Eventually([&] { return nodes_[2]->kubelet().lists() > asked_of_none; }));
  const absl::Duration recovery = TimeTo(kWhole, back);
  ExpectNoWrongScaling(keda_->Since(stopped), kWhole, kWhole);
  ReportFault("kubelet restarted", keda_->Since(stopped), recovery, kUndisturbed);
}

// The API server is down all the time, so the kubelet's empty list proves nothing. An agent that
// starts meanwhile has no holders, and the last known holders are unreadable.
TEST_F(NodeFaultTest, AKubeletWithoutPodsForLongRemovesNoHolders) {
  StartAll();
  const absl::Time stopped = absl::Now();
  nodes_[2]->kubelet().Stop();
  nodes_[2]->ListPods(false);
  nodes_[2]->kubelet().Start();
  ASSERT_TRUE(agents_[2]->process().WaitForErr("the kubelet has not synced its pods yet: "));
  // Past the 15 s after which a list without pods used to be believed.
  const int asked = nodes_[2]->kubelet().lists();
  ASSERT_TRUE(
      Eventually([&] { return nodes_[2]->kubelet().lists() >= asked + 4; }, absl::Minutes(2)));
  absl::SleepFor(absl::Seconds(1));
  ExpectNoWrongScaling(keda_->Since(stopped), kWhole, kOneStale);

  const absl::Time restarted = absl::Now();
  const std::string port = absl::StrCat("--telemetry-port=", agents_[2]->Port("grpc"));
  agents_[2]->process().Signal(SIGKILL);
  agents_[2]->process().Wait();
  agents_[2] = nodes_[2]->StartAgent({port});
  TimeTo(kOneStale, restarted);
  ExpectNoWrongScaling(keda_->Since(restarted), kWhole, kOneStale);
  const auto page = Request(agents_[2]->Port("metrics"), "GET", "/metrics");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(page->body, HasSubstr("keda_gpu_scaler_attribution_known 0"));
  const Finished explained =
      RunProgram({"query", aggregator_->Address(), "--namespace=shop", "--name=web", "--explain",
                  "metricType=gpu_utilization", "targetValue=80", "workload=Deployment/web"});
  EXPECT_THAT(explained.out,
              HasSubstr("the holders of the GPUs of node gpu-2 are unknown: the kubelet "
                        "has not synced its pods yet"));

  const absl::Time back = absl::Now();
  nodes_[2]->ListPods(true);
  const absl::Duration recovery = TimeTo(kWhole, back);
  ExpectNoWrongScaling(keda_->Since(back), kWhole, kOneStale);
  constexpr absl::Duration kAskedAgain = absl::Seconds(5);  // between two lists of the kubelet
  ReportFault("kubelet restarted without the API server", keda_->Since(stopped), recovery,
              kAskedAgain + kReconnected);
}

// First its readings fail. Then the driver no longer lists it, while the kubelet still lists its
// pod. It counts as the target all the time.
TEST_F(NodeFaultTest, ALostGpuCountsAsTheTarget) {
  StartAll();
  const absl::Time lost = absl::Now();
  nodes_[2]->Show({std::nullopt});
  TimeTo(kOneStale, lost);
  ExpectNoWrongScaling(keda_->Since(lost), kWhole, kOneStale);
  const absl::Time dropped = absl::Now();
  nodes_[2]->Show({});
  absl::SleepFor(absl::Seconds(3));
  ExpectNoWrongScaling(keda_->Since(dropped), kOneStale, kOneStale);
  const absl::Time back = absl::Now();
  nodes_[2]->Show({kLoad});
  const absl::Duration recovery = TimeTo(kWhole, back);
  ExpectNoWrongScaling(keda_->Since(back), kWhole, kOneStale);
  ReportFault("GPU fails, is lost, is back", keda_->Since(lost), recovery, kUndisturbed);
}

}  // namespace
}  // namespace gpuscaler
