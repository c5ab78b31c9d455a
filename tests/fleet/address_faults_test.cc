// Faults of DNS answers about agents, and missing answers.
#include "fault_test.h"
#include "gmock/gmock.h"
#include "name_server.h"
#include "own_network.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

constexpr char kAgentsName[] = "dns:///agents.gpu.svc:6001";

// The agents listen on one port at different addresses, as pods do.
std::string PodAddress(int number) { return absl::StrCat("127.0.1.", number); }

class AddressFaultTest : public FaultTest {
 protected:
  void SetUp() override {
    const absl::Status asked = UseOwnNameServer();
    ASSERT_TRUE(asked.ok()) << asked;
    StartNodes();
    for (int i = 0; i < 3; ++i) agents_.push_back(StartAgentAt(i + 1, i));
  }
  std::unique_ptr<Server> StartAgentAt(int number, int node) const {
    return nodes_[node]->StartAgent(
        {"--telemetry-port=6001", absl::StrCat("--bind-address=", PodAddress(number))});
  }
  void StartWithDns(const std::vector<std::string>& flags = {}) {
    aggregator_ = StartAggregator(kAgentsName, flags);
    keda_ = PollAsKeda(*aggregator_);
    ASSERT_TRUE(Settles(kWhole)) << HistoryText(keda_->Since(absl::InfinitePast()))
                                 << aggregator_->process().Err();
  }
  void KillAgent(int i) const {
    agents_[i]->process().Signal(SIGKILL);
    agents_[i]->process().Wait();
  }
  // Losing an agent triggers a DNS query.
  bool DnsIsQueriedAgain() const {
    return Eventually([this] { return dns_.queries() >= 2; }, absl::Seconds(30));
  }

  // Starts an aggregator with --empty-after=5s while no agent is listed.
  absl::Duration TimeFromStartToIdle() {
    keda_ = nullptr;
    const absl::Time began = absl::Now();
    aggregator_ = StartAggregator(kAgentsName, {"--empty-after=5s"});
    keda_ = PollAsKeda(*aggregator_);
    EXPECT_TRUE(Eventually([&] { return !keda_->Since(began).empty(); }));
    EXPECT_EQ(keda_->Since(began).front().value.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(aggregator_->process().WaitForErr("event=no_agents_listed"))
        << aggregator_->process().Diagnostics();
    EXPECT_TRUE(Eventually([this] { return keda_->Next().value.ok(); }, absl::Seconds(30)));
    const absl::Duration known = absl::Now() - began;
    for (const KedaAnswer& answer : keda_->Since(began)) {
      EXPECT_EQ(answer.value.value_or(0), 0);
      EXPECT_FALSE(answer.active.value_or(false));
    }
    EXPECT_GE(known, absl::Seconds(2)) << "--empty-after";
    ReportFault("no GPU node from the start", keda_->Since(began), known, kLookedUp);
    return known;
  }

  // Waits until StreamIsActive has sent `true` more than `since` times.
  bool IsPushedActive(int since) const {
    return Eventually([this, since] { return keda_->pushed() > since; });
  }

  const std::vector<std::string> all_ = {PodAddress(1), PodAddress(2), PodAddress(3)};
  NameServer dns_{all_};
};

TEST_F(AddressFaultTest, TemporarilyEmptyDnsLosesNoConnectedAgent) {
  // The agent is not forgotten: it reconnects before the second DNS answer without it is due.
  StartWithDns({absl::StrCat("--forget-after=", absl::FormatDuration(kGrace)), "--empty-after=1s"});
  const absl::Time emptied = absl::Now();
  dns_.SetAddresses({});
  KillAgent(2);
  agents_[2] = StartAgentAt(3, 2);
  ASSERT_TRUE(aggregator_->process().WaitForErr("event=no_agents_listed"));
  const absl::Duration recovery = TimeTo(kWhole, emptied);
  dns_.SetAddresses(all_);
  ASSERT_TRUE(Eventually([this] { return dns_.queries() > 0; }));
  ExpectNoWrongScaling(keda_->Since(emptied), kWhole, kOneStale);
  ReportFault("DNS empty for a while, an agent restarts", keda_->Since(emptied), recovery,
              kReconnected);
}

TEST_F(AddressFaultTest, FailingDnsKeepsTheLastAddresses) {
  StartWithDns({"--forget-after=1s", "--empty-after=1s"});
  const absl::Time failed = absl::Now();
  dns_.Fail();
  KillAgent(2);
  agents_[2] = StartAgentAt(3, 2);
  ASSERT_TRUE(aggregator_->process().WaitForErr("event=agents_unknown"));
  const absl::Duration recovery = TimeTo(kWhole, failed);
  dns_.SetAddresses(all_);
  ASSERT_TRUE(aggregator_->process().WaitForErr("event=agents_known"));
  ExpectNoWrongScaling(keda_->Since(failed), kWhole, kOneStale);
  ReportFault("DNS fails, an agent restarts", keda_->Since(failed), recovery, kReconnected);
}

// DNS answers one of two queries, so getaddrinfo() reports that the name does not exist.
TEST_F(AddressFaultTest, StartDuringAHalfDnsFailureDoesNotMeanNoNodes) {
  StartWithDns();
  const std::string port = absl::StrCat("--port=", aggregator_->Port("grpc"));
  aggregator_->process().Signal(SIGKILL);
  aggregator_->process().Wait();
  dns_.ReplyTo("", DnsReply::kServerFailure, DnsReply::kNone);
  const absl::Time restarted = absl::Now();
  aggregator_ = StartAggregator(kAgentsName, {port, "--empty-after=1s"});
  ASSERT_TRUE(Eventually([this] { return dns_.queries() > 2; }, absl::Seconds(30)))
      << "twice each time, and each 10 s";
  const KedaAnswer unknown = keda_->Next();
  EXPECT_THAT(unknown.value.status().ToString(), HasSubstr("A of agents.gpu.svc: SERVFAIL"));
  EXPECT_FALSE(unknown.active.ok());
  const absl::Time mended = absl::Now();
  dns_.SetAddresses(all_);
  const absl::Duration recovery = TimeTo(kWhole, mended);
  ExpectNoWrongScaling(keda_->Since(restarted), kWhole, kWhole, Unknown::kAllowed);
  EXPECT_EQ(aggregator_->process().Err().find("no_agents_listed"), std::string::npos);
  ReportFault("an aggregator restarts while DNS half fails", keda_->Since(restarted), recovery,
              kLookedUp);
}

// One answer without the agent, as from a DNS server that has not received all pods yet, proves
// nothing.
TEST_F(AddressFaultTest, StartWaitsForAnAgentThatDnsTemporarilyLacks) {
  StartWithDns();
  const std::string port = absl::StrCat("--port=", aggregator_->Port("grpc"));
  KillAgent(2);
  aggregator_->process().Signal(SIGKILL);
  aggregator_->process().Wait();
  const absl::Time restarted = absl::Now();
  aggregator_ = StartAggregator(kAgentsName, {port});
  ASSERT_TRUE(
      aggregator_->process().WaitForErr(absl::StrCat("event=agent_lost address=", PodAddress(3))))
      << aggregator_->process().Diagnostics();
  dns_.SetAddresses({PodAddress(1), PodAddress(2)});
  ASSERT_TRUE(DnsIsQueriedAgain());
  EXPECT_THAT(keda_->Next().value.status().ToString(),
              HasSubstr(absl::StrCat("no report of 1 agent yet, ", PodAddress(3))));
  const absl::Time back = absl::Now();
  agents_[2] = StartAgentAt(3, 2);
  const absl::Duration recovery = TimeTo(kWhole, back);
  ExpectNoWrongScaling(keda_->Since(restarted), kWhole, kOneStale, Unknown::kAllowed);
  ReportFault("an aggregator restarts, and DNS lacks an agent", keda_->Since(restarted), recovery,
              kReconnected);
}

// The replacement of a pod has another address.
TEST_F(AddressFaultTest, AMovedAgentIsFoundByDns) {
  StartWithDns();
  auto successor = StartAgentAt(4, 2);  // not in DNS yet
  const absl::Time moved = absl::Now();
  KillAgent(2);
  agents_[2] = std::move(successor);
  dns_.SetAddresses({PodAddress(1), PodAddress(2), PodAddress(4)});
  ASSERT_TRUE(aggregator_->process().WaitForErr(
      absl::StrCat("event=agent_connected address=", PodAddress(4))));
  const absl::Duration recovery = TimeTo(kWhole, moved);
  ExpectNoWrongScaling(keda_->Since(moved), kWhole, kWhole);
  ReportFault("DNS changes: an agent moves", keda_->Since(moved), recovery, kLookedUp);
}

// As in the chart: a new agent runs beside the old one, and a new aggregator gets requests once it
// is ready.
TEST_F(AddressFaultTest, UpgradeOfAgentsAndAggregatorsLosesNoAnswer) {
  StartWithDns();
  auto second = StartAggregator(kAgentsName);
  auto of_second = PollAsKeda(*second);
  ASSERT_NE(of_second->Settled(kWhole, absl::InfinitePast()), absl::InfiniteFuture());
  const absl::Time began = absl::Now();
  std::vector<std::string> listed = all_;
  for (int i = 0; i < 3; ++i) {
    auto upgraded = StartAgentAt(i + 4, i);
    listed.push_back(PodAddress(i + 4));
    dns_.SetAddresses(listed);
    const std::string heard = absl::StrCat("event=agent_connected address=", PodAddress(i + 4));
    ASSERT_TRUE(aggregator_->process().WaitForErr(heard));
    ASSERT_TRUE(second->process().WaitForErr(heard));
    agents_[i]->process().Signal(SIGTERM);
    EXPECT_EQ(agents_[i]->process().Wait(), 0);
    agents_[i] = std::move(upgraded);
    listed.erase(listed.begin());
    dns_.SetAddresses(listed);
  }
  auto third = StartAggregator(kAgentsName);
  ASSERT_TRUE(Eventually([&] { return IsReady(*third); })) << third->process().Err();
  auto of_third = PollAsKeda(*third);
  ASSERT_NE(of_third->Settled(kWhole, absl::InfinitePast()), absl::InfiniteFuture());
  ExpectNoWrongScaling(of_third->Since(absl::InfinitePast()), kWhole, kWhole);
  ExpectNoWrongScaling(keda_->Since(began), kWhole, kWhole);
  ExpectNoWrongScaling(of_second->Since(began), kWhole, kWhole);
  ReportFault("all agents upgraded, one beside the other", keda_->Since(began),
              TimeTo(kWhole, began), kUndisturbed);

  keda_ = nullptr;  // KEDA uses the new one instead
  aggregator_->process().Signal(SIGTERM);
  EXPECT_EQ(aggregator_->process().Wait(), 0);
  const absl::Time replaced = absl::Now();
  const absl::Duration recovery = of_third->Settled(kWhole, replaced) - replaced;
  ExpectNoWrongScaling(of_third->Since(replaced), kWhole, kWhole);
  ExpectNoWrongScaling(of_second->Since(began), kWhole, kWhole);
  ReportFault("an aggregator upgraded", of_third->Since(replaced), recovery, kUndisturbed);
}

TEST_F(AddressFaultTest, AddedNodesAreFoundAndRemovedOnesForgotten) {
  StartWithDns({"--forget-after=2s"});
  const absl::Time came = absl::Now();
  nodes_.push_back(std::make_unique<FleetNode>("gpu-3", Percents{kLoad}));
  agents_.push_back(StartAgentAt(4, 3));
  dns_.SetAddresses({PodAddress(1), PodAddress(2), PodAddress(3), PodAddress(4)});
  const absl::Duration found = TimeTo(kWhole + kLoad, came);
  ExpectNoWrongScaling(keda_->Since(came), kWhole, kWhole + kLoad);
  ReportFault("DNS changes: a node comes", keda_->Since(came), found, kLookedUp);

  const absl::Time went = absl::Now();
  KillAgent(3);
  dns_.SetAddresses(all_);
  const absl::Duration forgotten = TimeTo(kWhole, went);
  ExpectNoWrongScaling(keda_->Since(went), kWhole, kWhole + kTarget);
  ReportFault("DNS changes: a node goes", keda_->Since(went), forgotten, kGrace + kLookedUp);
}

// Karpenter may remove every GPU node. Until DNS has returned no agents for long enough, the value
// is unknown and the workload stays as it is.
TEST_F(AddressFaultTest, AFleetWithoutAgentsIsUnknownUntilDnsDropsThem) {
  StartWithDns({"--forget-after=2s", "--empty-after=1s"});
  const absl::Time killed = absl::Now();
  dns_.SetAddresses(all_);
  for (int i = 0; i < 3; ++i) KillAgent(i);
  ASSERT_TRUE(Eventually([this] { return !keda_->Next().value.ok(); }, kGrace + absl::Seconds(30)));
  ASSERT_TRUE(DnsIsQueriedAgain()) << "and lists all of them";
  ASSERT_FALSE(keda_->Next().value.ok());
  may_go_idle_ = true;
  const absl::Time unlisted = absl::Now();
  dns_.SetAddresses({});
  constexpr double kTwoStale = kLoad + 2 * kTarget;  // their grace periods end one after the other
  ExpectNoWrongScaling(keda_->Since(killed), kWhole, kTwoStale, Unknown::kAllowed);
  // Two DNS answers, 10 s apart; the client takes 6 s to see UNAVAILABLE twice.
  ASSERT_TRUE(Eventually([this] { return keda_->Next().value.ok(); }, absl::Seconds(50)));
  const KedaAnswer empty = keda_->Next();
  EXPECT_EQ(empty.value.value_or(-1), 0);
  EXPECT_FALSE(empty.active.value_or(true));
  for (const KedaAnswer& answer : keda_->Since(unlisted)) {
    EXPECT_EQ(answer.value.value_or(0), 0);
    EXPECT_FALSE(answer.active.value_or(false));
    if (answer.at - unlisted >= absl::Seconds(2)) continue;
    EXPECT_FALSE(answer.value.ok() || answer.active.ok()) << "--forget-after";
  }

  const absl::Time back = absl::Now();
  const int pushed = keda_->pushed();
  for (int i = 0; i < 3; ++i) agents_[i] = StartAgentAt(i + 1, i);
  dns_.SetAddresses(all_);
  const absl::Duration recovery = TimeTo(kWhole, back);
  ExpectOnlyRises(keda_->Since(back), kWhole);
  EXPECT_TRUE(IsPushedActive(pushed));
  ReportFault("all agents gone, then unlisted, then back", keda_->Since(killed), recovery,
              kLookedUp);
}

TEST_F(AddressFaultTest, AFleetThatStartsWithoutNodesIsIdleAfterEmptyAfter) {
  dns_.SetAddresses({});
  may_go_idle_ = true;
  constexpr absl::Duration kByTheClock = absl::Seconds(8);  // though DNS is queried every 10 s
  EXPECT_TRUE(OnceInThree([&] { return TimeFromStartToIdle() <= kByTheClock; }));

  EXPECT_EQ(keda_->pushed(), 0);
  const absl::Time came = absl::Now();
  dns_.SetAddresses(all_);
  const absl::Duration recovery = TimeTo(kWhole, came);
  ExpectOnlyRises(keda_->Since(came), kWhole);
  EXPECT_TRUE(IsPushedActive(0));
  ReportFault("the first GPU nodes come", keda_->Since(came), recovery, kLookedUp);
}

}  // namespace
}  // namespace gpuscaler
