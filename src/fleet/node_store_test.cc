#include "fleet/node_store.h"

#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr absl::Duration kJoinWithin = absl::Seconds(5);
constexpr absl::Duration kGrace = absl::Seconds(15);

size_t LinesOf(absl::string_view event, const std::string& log) {
  return std::vector<absl::string_view>(absl::StrSplit(log, event)).size() - 1;
}

class NodeStoreTest : public testing::Test {
 protected:
  explicit NodeStoreTest(const Leases* leases = nullptr)
      : node_store_({.timeouts = {.grace = kGrace, .forget_after = absl::Minutes(5)},
                     .limits = {.horizon = absl::Minutes(15), .join_within = kJoinWithin},
                     .leases = leases}) {}

  static uint64_t InstanceOf(const std::string& address) {
    return std::hash<std::string>()(address);
  }
  AgentUpdate UpdateOf(const std::string& address, const std::string& node) const {
    return {.node = node, .instance = InstanceOf(address), .received_at = now_};
  }
  void Received(const std::string& address, AgentUpdate update) {
    node_store_.Received(address, std::move(update), now_, ++generation_);
  }

  // Reports one GPU, which a pod of `namespace_name` holds.
  void Report(const std::string& address, const std::string& node, double utilization_percent = 50,
              const std::string& namespace_name = "team-a") {
    NodeSnapshot snapshot = SnapshotOf(1, now_, node);
    snapshot.gpus[0].utilization_percent = utilization_percent;
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = namespace_name;
    AgentUpdate update = UpdateOf(address, node);
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    Received(address, std::move(update));
  }
  void ReportUnchanged(const std::string& address, const std::string& node) {
    AgentUpdate update = UpdateOf(address, node);
    update.newest_confirmed_at = now_;
    Received(address, std::move(update));
  }
  // The first message of a stream: an old reading that is still valid.
  void ReportOldReading(const std::string& address, const std::string& node, absl::Duration ago,
                        double utilization_percent) {
    AgentUpdate update = UpdateOf(address, node);
    NodeSnapshot snapshot = SnapshotOf(1, now_ - ago, node);
    snapshot.gpus[0].utilization_percent = utilization_percent;
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    update.newest_confirmed_at = now_;
    Received(address, std::move(update));
  }
  // Reports these GPUs, some of which may be MIG instances.
  void ReportGpus(const std::string& address, const std::string& node,
                  const std::vector<std::pair<std::string, std::string>>& uuids_and_parents,
                  double utilization_percent) {
    AgentUpdate update = UpdateOf(address, node);
    NodeSnapshot snapshot = SnapshotOf(static_cast<int>(uuids_and_parents.size()), now_, node);
    for (size_t i = 0; i < uuids_and_parents.size(); ++i) {
      std::tie(snapshot.gpus[i].uuid, snapshot.gpus[i].parent_uuid) = uuids_and_parents[i];
      snapshot.gpus[i].utilization_percent = utilization_percent;
    }
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    Received(address, std::move(update));
  }
  void Lose(const std::string& address) {
    node_store_.Lost(address, absl::UnavailableError("connection refused"), ++generation_);
  }

  FleetHistory Fleet() const {
    FleetHistory fleet{.now = now_};
    for (const std::string& name : node_store_.Names()) node_store_.Add(name, fleet);
    return fleet;
  }
  NodeState StateOf(const std::string& name) const {
    FleetHistory fleet{.now = now_};
    node_store_.Add(name, fleet);
    return fleet.nodes[0];
  }
  std::optional<double> UtilizationOf(const std::string& node) const {
    return StateOf(node).history->Newest().gpus[0].utilization_percent;
  }
  std::vector<std::string> NodesOf(const std::string& namespace_name) const {
    return node_store_.index().NodesOf({.namespaces = {namespace_name}}).names;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  int64_t generation_ = 0;
  NodeStore node_store_;
};

TEST_F(NodeStoreTest, FirstOfTwoAgentsOfAMachineIsActiveUntilItEnds) {
  Report("old:1", "gpu-a", 10);
  for (int second = 0; second < 120; ++second) {
    now_ += absl::Seconds(1);
    Report("new:1", "gpu-a", 90);
    Report("old:1", "gpu-a", 10);
    ASSERT_EQ(StateOf("gpu-a").disputed, "") << "a rollout has two agents for a while";
  }
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-a"));
  EXPECT_EQ(UtilizationOf("gpu-a"), 10);
  EXPECT_FALSE(node_store_.IsSuperseded("old:1"));
  EXPECT_TRUE(node_store_.IsSuperseded("new:1"));
  EXPECT_EQ(node_store_.NewestOf("new:1"), absl::InfinitePast());
  Lose("old:1");
  now_ += absl::Seconds(1);
  Report("new:1", "gpu-a", 90);
  EXPECT_EQ(UtilizationOf("gpu-a"), 90);
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "");
  EXPECT_FALSE(node_store_.IsSuperseded("new:1"));
}

TEST_F(NodeStoreTest, AgentsOfOneMachineNeedOneGpuInCommon) {
  struct Case {
    const char* name;
    std::vector<std::pair<std::string, std::string>> first, second;
    bool one_machine;
  };
  for (const Case& test :
       {Case{"one GPU has failed", {{"GPU-1", ""}, {"GPU-2", ""}}, {{"GPU-2", ""}}, true},
        Case{"MIG was turned on", {{"GPU-1", ""}}, {{"MIG-a", "GPU-1"}, {"MIG-b", "GPU-1"}}, true},
        Case{"instances were made anew", {{"MIG-a", "GPU-1"}}, {{"MIG-c", "GPU-1"}}, true},
        Case{"no GPUs", {}, {}, true}, Case{"others", {{"GPU-1", ""}}, {{"GPU-2", ""}}, false},
        Case{"others' instances", {{"MIG-a", "GPU-1"}}, {{"MIG-b", "GPU-2"}}, false},
        Case{"none beside some", {{"GPU-1", ""}}, {}, false}}) {
    const std::string node = test.name;
    for (int second = 0; second <= 16; ++second) {
      now_ += absl::Seconds(1);
      ReportGpus(absl::StrCat("a ", node), node, test.first, 10);
      ReportGpus(absl::StrCat("b ", node), node, test.second, 10);
    }
    EXPECT_EQ(StateOf(node).disputed.empty(), test.one_machine) << node;
  }
}

class DisputedNodeTest : public NodeStoreTest {
 protected:
  void HonestReports() { ReportGpus("honest:1", "gpu-a", {{"GPU-1", ""}}, 90); }
  void OtherReports() { ReportGpus("other:1", "gpu-a", {{"GPU-2", ""}}, 0); }
  void BothReportFor(absl::Duration duration) {
    for (const absl::Time end = now_ + duration; now_ < end;) {
      now_ += absl::Seconds(1);
      OtherReports();
      HonestReports();
    }
  }
};

TEST_F(DisputedNodeTest, FirstAgentCountsForGraceAndNeitherAfterwards) {
  HonestReports();
  OtherReports();
  const absl::Time claimed_at = now_;
  EXPECT_EQ(Fleet().valid_until, now_ + absl::Seconds(4));
  BothReportFor(kGrace);
  EXPECT_EQ(StateOf("gpu-a").disputed, "");
  EXPECT_EQ(UtilizationOf("gpu-a"), 90);
  EXPECT_EQ(Fleet().valid_until, claimed_at + kGrace);
  EXPECT_EQ(node_store_.CountDisputed(now_), 0);
  BothReportFor(absl::Seconds(1));
  EXPECT_EQ(StateOf("gpu-a").disputed, "honest:1 and other:1");
  EXPECT_EQ(node_store_.CountDisputed(now_), 1);
}

TEST_F(DisputedNodeTest, IsReadableAgainAfterTheOtherAgentLeft) {
  HonestReports();
  OtherReports();
  BothReportFor(absl::Minutes(1));
  const int64_t before = node_store_.generation();
  Lose("other:1");
  EXPECT_EQ(StateOf("gpu-a").disputed, "");
  EXPECT_GT(node_store_.generation(), before);
  EXPECT_EQ(UtilizationOf("gpu-a"), 90);
}

TEST_F(DisputedNodeTest, BriefLossOfTheFirstAgentCausesNoTakeover) {
  HonestReports();
  OtherReports();
  BothReportFor(absl::Seconds(10));
  Lose("honest:1");
  now_ += absl::Seconds(5);
  OtherReports();
  EXPECT_EQ(UtilizationOf("gpu-a"), 90);
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "connection refused");
  now_ += absl::Seconds(1);
  HonestReports();
  EXPECT_EQ(StateOf("gpu-a").disputed, "honest:1 and other:1") << "claimed for 16 s";
}

TEST_F(DisputedNodeTest, MachineWithTheNameOfALostOneIsReadAfterGrace) {
  HonestReports();
  Lose("honest:1");
  const absl::Time lost_at = now_;
  for (; now_ - lost_at <= kGrace; now_ += absl::Seconds(1)) {
    OtherReports();
    ASSERT_EQ(UtilizationOf("gpu-a"), 90) << now_ - lost_at;
    ASSERT_EQ(StateOf("gpu-a").disputed, "");
  }
  OtherReports();
  EXPECT_EQ(UtilizationOf("gpu-a"), 0);
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "");
}

TEST_F(DisputedNodeTest, AlternatingClaimsDoNotFillTheLog) {
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  HonestReports();
  for (int i = 0; i < 1000; ++i) {
    now_ += absl::Milliseconds(1);
    OtherReports();
    Lose("other:1");
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(LinesOf("event=node_claimed_twice", log), 10u);
  EXPECT_THAT(log, testing::HasSubstr("node=gpu-a counts=honest:1 other=other:1"));
}

TEST_F(DisputedNodeTest, TakeoverIsLoggedOnceWithBothAgents) {
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  HonestReports();
  HonestReports();
  Lose("honest:1");
  now_ += kGrace + absl::Seconds(1);
  OtherReports();
  now_ += absl::Seconds(1);
  OtherReports();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(LinesOf("event=node_taken_over", log), 1u);
  EXPECT_THAT(log, testing::HasSubstr("level=info event=node_taken_over node=gpu-a former=honest:1 "
                                      "by=other:1 has_other_gpus=true"));
}

// A bug: the former agent's 90 % were extended while the new agent had no changes.
TEST_F(NodeStoreTest, TakeoverDoesNotExtendTheFormerReadings) {
  Report("old:1", "gpu-a", 90);
  now_ += absl::Seconds(1);
  Report("old:1", "gpu-a", 90);
  Lose("old:1");
  ReportOldReading("new:1", "gpu-a", absl::Minutes(10), 5);
  EXPECT_EQ(UtilizationOf("gpu-a"), 90) << "nothing is newer than that";
  now_ += absl::Seconds(1);
  ReportUnchanged("new:1", "gpu-a");
  EXPECT_EQ(StateOf("gpu-a").history->NewestAt(), now_ - absl::Seconds(1));
  ASSERT_THAT(node_store_.AgentsToReplay(now_), ElementsAre("new:1"));
  node_store_.BeginReplay("new:1", now_);
  ReportOldReading("new:1", "gpu-a", absl::Minutes(10), 5);
  EXPECT_EQ(UtilizationOf("gpu-a"), 5);
  EXPECT_EQ(StateOf("gpu-a").history->NewestAt(), now_);
  EXPECT_EQ(StateOf("gpu-a").history->runs.back().first,
            now_ - absl::Seconds(1) + absl::Microseconds(1));
  EXPECT_THAT(node_store_.AgentsToReplay(now_), IsEmpty());
  now_ += absl::Seconds(1);
  ReportUnchanged("new:1", "gpu-a");
  EXPECT_EQ(StateOf("gpu-a").history->NewestAt(), now_);
}

// As above, at the former agent's address.
TEST_F(NodeStoreTest, RestartDoesNotExtendTheFormerReadings) {
  Report("a:1", "gpu-a", 90);
  Lose("a:1");
  now_ += absl::Seconds(1);
  AgentUpdate update{.node = "gpu-a", .instance = 42, .received_at = now_};
  update.newest_confirmed_at = now_;
  Received("a:1", std::move(update));
  EXPECT_EQ(StateOf("gpu-a").history->NewestAt(), now_ - absl::Seconds(1));
}

TEST_F(NodeStoreTest, RestartedAgentAtANewAddressContinuesItsNode) {
  Report("old:1", "gpu-a");
  Lose("old:1");
  now_ += absl::Seconds(3);
  Report("new:1", "gpu-a");
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-a"));
  EXPECT_EQ(StateOf("gpu-a").history->runs.size(), 2u);
  node_store_.Forget("old:1", ++generation_);
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-a"))
      << "the old address is forgotten, not the node";
}

TEST_F(NodeStoreTest, NodeIsForgottenWithItsAgent) {
  Report("a:1", "gpu-a");
  Lose("a:1");
  node_store_.Forget("a:1", ++generation_);
  EXPECT_TRUE(node_store_.empty());
  EXPECT_THAT(NodesOf("team-a"), IsEmpty());
  EXPECT_EQ(node_store_.generation(), generation_);
}

// An agent may give any names, and no reading with them.
TEST_F(NodeStoreTest, AgentMayReturnToANodeThatItLeftAndLeaveAgain) {
  Report("a:1", "gpu-a");
  uint64_t instance = 0;
  for (const char* node : {"gpu-b", "gpu-a", "gpu-c"}) {
    Received("a:1", {.node = node, .instance = ++instance, .received_at = now_});
  }
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-a"));
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "its agent is of node gpu-c now");
}

TEST_F(NodeStoreTest, TwoAddressesOfOneAgentCountOnce) {
  for (const char* address : {"10.0.0.7:1", "[fd00::7]:1"}) {
    AgentUpdate update{.node = "gpu-a", .instance = 42, .received_at = now_};
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = SnapshotOf(1, now_, "gpu-a")});
    Received(address, std::move(update));
  }
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-a"));
  EXPECT_TRUE(node_store_.IsSuperseded("[fd00::7]:1"));
}

// The second stream has changes of readings that were dropped while the first one was active.
TEST_F(NodeStoreTest, OtherStreamOfAnAgentIsActiveAfterItsReplay) {
  const auto report = [this](const std::string& address,
                             std::optional<double> utilization_percent) {
    AgentUpdate update{.node = "gpu-a", .instance = 42, .received_at = now_};
    if (utilization_percent) {
      NodeSnapshot snapshot = SnapshotOf(1, now_, "gpu-a");
      snapshot.gpus[0].utilization_percent = utilization_percent;
      update.readings.push_back(
          {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    } else {
      update.newest_confirmed_at = now_;
    }
    Received(address, std::move(update));
  };
  report("10.0.0.7:1", 10);
  report("[fd00::7]:1", 10);
  EXPECT_THAT(node_store_.AgentsToReplay(now_), IsEmpty());
  now_ += absl::Seconds(1);
  const absl::Time read_at = node_store_.NewestAt();
  report("[fd00::7]:1", 95);
  Lose("10.0.0.7:1");
  now_ += absl::Seconds(1);
  report("[fd00::7]:1", std::nullopt);
  EXPECT_EQ(node_store_.NewestAt(), read_at) << "the 10 % must not be extended";
  ASSERT_THAT(node_store_.AgentsToReplay(now_), ElementsAre("[fd00::7]:1"));
  node_store_.BeginReplay("[fd00::7]:1", now_);
  report("[fd00::7]:1", 95);
  EXPECT_EQ(UtilizationOf("gpu-a"), 95);
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "");
  EXPECT_THAT(node_store_.AgentsToReplay(now_), IsEmpty());
}

TEST_F(NodeStoreTest, AgentIsStaleAfterValidUntil) {
  Report("a:1", "gpu-a");
  Report("b:1", "gpu-b");
  now_ += absl::Seconds(1);
  Report("b:1", "gpu-b");
  const int64_t before = node_store_.generation();
  EXPECT_EQ(Fleet().valid_until, now_ + absl::Seconds(3)) << "the agent with the older message";
  now_ += absl::Seconds(3);
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "");
  now_ += absl::Nanoseconds(1);
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "it sends nothing");
  EXPECT_EQ(StateOf("gpu-b").why_disconnected, "");
  EXPECT_EQ(node_store_.generation(), before) << "no message came";
}

TEST_F(NodeStoreTest, AgentWithoutANodeIsNotActive) {
  Report("a:1", "gpu-a", 90);
  Lose("a:1");
  now_ += absl::Seconds(16);
  Received("a:1", {.received_at = now_, .trouble = "no GPU snapshot yet"});
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "connection refused") << "its pods are still there";
  Report("a:1", "gpu-a", 80);
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "");
}

TEST_F(NodeStoreTest, NodeLeftByItsAddressIsLostUntilItIsForgotten) {
  Report("a:1", "gpu-a", 90);
  now_ += absl::Seconds(1);
  Report("a:1", "gpu-b", 10);
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-a", "gpu-b"));
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "its agent is of node gpu-b now");
  now_ += absl::Minutes(5) - absl::Seconds(1);
  node_store_.ForgetNodesLeft(now_, ++generation_);
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-a", "gpu-b"));
  now_ += absl::Seconds(1);
  node_store_.ForgetNodesLeft(now_, ++generation_);
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-b"));
}

TEST_F(NodeStoreTest, OnlyTheLastNodeLeftByAnAddressIsKept) {
  for (const char* node : {"gpu-a", "gpu-b", "gpu-c", "gpu-d"}) {
    now_ += absl::Seconds(1);
    Report("a:1", node);
  }
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-c", "gpu-d"));
  EXPECT_EQ(StateOf("gpu-c").why_disconnected, "its agent is of node gpu-d now");
}

TEST_F(NodeStoreTest, NodeThatLostItsAddressGetsAnotherAgent) {
  Report("b:1", "gpu-b");
  Report("a:1", "gpu-a");
  now_ += absl::Seconds(1);
  Report("a:1", "gpu-b");
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "its agent is of node gpu-b now");
  Report("b:1", "gpu-a");
  Report("a:1", "gpu-b");
  ASSERT_THAT(node_store_.Names(), ElementsAre("gpu-a", "gpu-b"));
  EXPECT_EQ(StateOf("gpu-a").why_disconnected, "");
  EXPECT_EQ(StateOf("gpu-b").why_disconnected, "");
  node_store_.ForgetNodesLeft(now_ + absl::Minutes(6), ++generation_);
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-a", "gpu-b"));
}

TEST_F(NodeStoreTest, HeartbeatIsAChangeOnlyAfterALossOrStaleness) {
  Report("a:1", "gpu-a");
  const auto changes = [&](absl::Duration after) {
    now_ += after;
    ReportUnchanged("a:1", "gpu-a");
    EXPECT_EQ(StateOf("gpu-a").received_at, now_);
    EXPECT_EQ(StateOf("gpu-a").history->NewestAt(), now_);
    return node_store_.generation() == generation_;
  };
  EXPECT_FALSE(changes(absl::Milliseconds(1500)));
  EXPECT_FALSE(changes(absl::Milliseconds(3500)));
  EXPECT_TRUE(changes(absl::Milliseconds(4500))) << "it was idle";
  EXPECT_FALSE(changes(absl::Milliseconds(1500)));
  Lose("a:1");
  EXPECT_TRUE(changes(absl::Milliseconds(100))) << "it is back";
}

TEST_F(NodeStoreTest, PodsThatEndedBeforeTheAggregatorBeganAreIndexed) {
  AgentUpdate past = UpdateOf("a:1", "gpu-a");
  for (const int minutes_ago : {10, 5, 0}) {
    NodeSnapshot snapshot = SnapshotOf(1, now_ - absl::Minutes(minutes_ago), "gpu-a");
    AddPods(snapshot);
    snapshot.gpus[0].utilization_percent = 10 + minutes_ago;
    snapshot.pods[0].namespace_name = minutes_ago == 10 ? "team-a" : "team-b";
    past.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
  }
  Received("a:1", std::move(past));
  EXPECT_THAT(NodesOf("team-a"), ElementsAre("gpu-a"))
      << "otherwise the workload is inactive at once";
}

TEST_F(NodeStoreTest, NamespaceOfAnHoursLongRunIsIndexed) {
  Report("a:1", "gpu-a", 0, "team-a");
  for (int minute = 0; minute < 60; ++minute) {
    now_ += absl::Minutes(1);
    ReportUnchanged("a:1", "gpu-a");
  }
  now_ += absl::Seconds(1);
  Report("a:1", "gpu-a", 0, "team-b");
  EXPECT_THAT(NodesOf("team-a"), ElementsAre("gpu-a")) << "its pod was there a second ago";
}

TEST_F(NodeStoreTest, HeartbeatsExpirePodsThatEndedLongAgo) {
  Report("a:1", "gpu-a", 0, "team-a");
  now_ += absl::Seconds(1);
  Report("a:1", "gpu-a", 0, "team-b");
  for (int second = 0; second <= 15 * 60; ++second) {
    now_ += absl::Seconds(1);
    ReportUnchanged("a:1", "gpu-a");
  }
  EXPECT_THAT(NodesOf("team-a"), IsEmpty());
  EXPECT_THAT(NodesOf("team-b"), ElementsAre("gpu-a"));
}

// The kept past follows the look-back of the decisions.
class RetentionTest : public NodeStoreTest {
 protected:
  RetentionTest() : NodeStoreTest(&leases_) {}

  // Looks back for an hour from now; with no namespaces, in all of them.
  void LookBack(const std::set<std::string>& namespaces, absl::Duration look_back) {
    leases_.RenewLookBack({namespaces.begin(), namespaces.end()}, look_back, now_,
                          now_ + absl::Hours(1));
  }
  // Sends readings of an idle GPU at these minutes after the start.
  void SendReadings(uint64_t instance, const std::vector<int>& minutes, bool more = false) {
    AgentUpdate update{.node = "gpu-a", .instance = instance, .received_at = now_, .more = more};
    for (const int minute : minutes) {
      update.readings.push_back(
          {.previous_confirmed_at = std::nullopt,
           .snapshot = SnapshotOf(1, start_ + absl::Minutes(minute), "gpu-a")});
    }
    Received("a:1", std::move(update));
  }
  absl::Duration Kept(const std::string& node) const {
    const NodeState state = StateOf(node);
    return state.history->NewestAt() - state.history->runs.front().first;
  }

  Leases leases_;
  const absl::Time start_ = now_;
};

TEST_F(RetentionTest, KeptPastFollowsTheLookBack) {
  const auto read_for = [&](absl::Duration duration) {
    for (const absl::Time end = now_ + duration; now_ < end;) {
      now_ += absl::Seconds(1);
      const auto watts = static_cast<double>(absl::ToUnixSeconds(now_) % 100);
      for (const std::string team : {"a", "b"}) {
        Report(team, absl::StrCat("gpu-", team), watts, absl::StrCat("team-", team));
      }
    }
  };
  // Two minutes, a reading before them, and a margin.
  const absl::Duration always = kShortestLookBack + kJoinWithin + absl::Seconds(10);
  read_for(absl::Minutes(20));
  EXPECT_EQ(Kept("gpu-a"), always);
  LookBack({"team-a"}, absl::Minutes(5));
  read_for(absl::Minutes(20));
  EXPECT_EQ(Kept("gpu-a"), always + absl::Minutes(3));
  EXPECT_EQ(Kept("gpu-b"), always) << "another namespace's node";
  LookBack({}, absl::Minutes(15));
  read_for(absl::Minutes(20));
  EXPECT_EQ(Kept("gpu-b"), absl::Minutes(15)) << "no more than the limits";
}

TEST_F(RetentionTest, CompleteReplayReplacesTheHistory) {
  now_ += absl::Minutes(10);
  // Sends a reading per second from `from` to `until`.
  const auto send = [&](absl::Duration from, absl::Duration until, bool more) {
    AgentUpdate update{.node = "gpu-a", .instance = 1, .received_at = now_, .more = more};
    for (absl::Duration at = from; at < until; at += absl::Seconds(1)) {
      NodeSnapshot snapshot = SnapshotOf(1, start_ + at, "gpu-a");
      snapshot.gpus[0].power_watts = absl::ToDoubleSeconds(at);
      AddPods(snapshot);
      update.readings.push_back(
          {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    }
    Received("a:1", std::move(update));
  };
  const absl::Duration all = absl::Minutes(10);
  send(absl::ZeroDuration(), all, false);
  EXPECT_LT(Kept("gpu-a"), absl::Minutes(3));
  EXPECT_THAT(node_store_.AgentsToReplay(now_), IsEmpty());
  LookBack({"team-a"}, absl::Minutes(5));
  EXPECT_THAT(node_store_.AgentsToReplay(now_), ElementsAre("a:1"));
  node_store_.BeginReplay("a:1", now_);
  EXPECT_THAT(node_store_.AgentsToReplay(now_), IsEmpty()) << "the replay is in progress";
  send(absl::ZeroDuration(), all / 2, true);
  EXPECT_EQ(node_store_.NewestAt(), start_ + all - absl::Seconds(1))
      << "half of the replay does not reach the present";
  send(all / 2, all, false);
  EXPECT_GE(Kept("gpu-a"), absl::Minutes(5));
  EXPECT_THAT(node_store_.AgentsToReplay(now_), IsEmpty());
  send(all, all + absl::Seconds(1), false);
  EXPECT_GE(Kept("gpu-a"), absl::Minutes(5)) << "and continues";
}

TEST_F(RetentionTest, UnavailablePastIsRequestedOnce) {
  now_ += absl::Minutes(4);
  SendReadings(1, {0, 1, 4});
  LookBack({}, absl::Minutes(5));
  ASSERT_THAT(node_store_.AgentsToReplay(now_), ElementsAre("a:1"));
  node_store_.BeginReplay("a:1", now_);
  Lose("a:1");
  SendReadings(1, {5});
  EXPECT_THAT(node_store_.AgentsToReplay(now_), IsEmpty());
  EXPECT_EQ(StateOf("gpu-a").history->dropped_until, start_) << "what is kept stays";
}

TEST_F(RetentionTest, ShorterReplayKeepsTheHistory) {
  now_ += absl::Minutes(10);
  SendReadings(1, {0, 1, 8, 9});
  const absl::Time kept_since = StateOf("gpu-a").history->runs.front().first;
  LookBack({}, absl::Minutes(5));
  node_store_.BeginReplay("a:1", now_);
  SendReadings(2, {10}, true);
  EXPECT_EQ(node_store_.NewestAt(), start_ + absl::Minutes(10)) << "new readings are not delayed";
  SendReadings(2, {11});
  EXPECT_EQ(StateOf("gpu-a").history->runs.front().first, kept_since);
  EXPECT_EQ(node_store_.NewestAt(), start_ + absl::Minutes(11));
  EXPECT_THAT(node_store_.AgentsToReplay(now_), IsEmpty()) << "the replay is complete";
}

TEST_F(NodeStoreTest, NodeChangesWithEachMessageDoNotFillTheLog) {
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) {
    Report("a:1", absl::StrCat("gpu-", i));
    now_ += absl::Milliseconds(1);
  }
  now_ += absl::Minutes(1);
  Report("a:1", "gpu-again");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(LinesOf("event=agent_node_changed", log), 11u);
  EXPECT_LE(LinesOf("event=node_forgotten", log), 11u);
  EXPECT_EQ(LinesOf("dropped=989", log), 1u);
  EXPECT_THAT(node_store_.Names(), ElementsAre("gpu-999", "gpu-again"));
}

}  // namespace
}  // namespace gpuscaler
