#include "fleet/fleet_store.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/log.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"

namespace gpuscaler {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

using Addresses = std::vector<std::string>;

constexpr absl::Duration kStaleAfter = absl::Seconds(5);

class FleetStoreTest : public testing::Test {
 protected:
  // Reports one GPU, which a pod of `namespace_name` holds.
  void Report(const std::string& address, const std::string& node, double utilization_percent = 50,
              const std::string& namespace_name = "team-a",
              const std::string& gpu_uuid = WorkingGpu(0).uuid) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), node);
    snapshot.gpus[0].uuid = gpu_uuid;
    snapshot.gpus[0].utilization_percent = utilization_percent;
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = namespace_name;
    snapshot.pods[0].name = absl::StrCat("llama-", node);
    snapshot.pods[0].uid = absl::StrCat("uid-", node);
    AgentUpdate update{.node = node, .instance = InstanceOf(address), .received_at = clock_.Now()};
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Received(address, std::move(update));
  }
  void ReportUnchanged(const std::string& address, const std::string& node) {
    store_.Received(address, {.node = node,
                              .instance = InstanceOf(address),
                              .received_at = clock_.Now(),
                              .newest_confirmed_at = clock_.Now()});
  }
  // Reports one GPU with unknown holders.
  void ReportUnattributed(const std::string& address, const std::string& node, bool in_use = true) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), node);
    snapshot.gpus[0].in_use = in_use;
    snapshot.attribution = {.state = Attribution::State::kUnknown,
                            .why = "the kubelet does not answer"};
    AgentUpdate update{.node = node, .instance = InstanceOf(address), .received_at = clock_.Now()};
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Received(address, std::move(update));
  }
  void Lose(const std::string& address) {
    store_.Lost(address, absl::UnavailableError("connection refused"));
  }
  static uint64_t InstanceOf(const std::string& address) {
    return std::hash<std::string>()(address);
  }

  FleetStore::FleetPtr Fleet(const std::string& namespace_name = "team-a") {
    const auto fleet = store_.NodesFor({.namespaces = {namespace_name}});
    EXPECT_TRUE(fleet.ok()) << fleet.status();
    return fleet.ok() ? *fleet : std::make_shared<const FleetHistory>();
  }
  static Addresses Nodes(const FleetHistory& fleet) {
    Addresses names;
    for (const NodeState& state : fleet.nodes) names.push_back(state.node);
    return names;
  }
  Decision Decided() {
    Trigger trigger;
    trigger.metric = MetricType::kGpuUtilization;
    trigger.target = 80;
    trigger.window = absl::ZeroDuration();
    trigger.activation_window = absl::Minutes(1);
    return Decide(trigger, {.namespace_name = "team-a", .name = "llm"}, *Fleet(),
                  {.stale_after = kStaleAfter, .grace = absl::Seconds(15)});
  }
  std::string Refusal() {
    const auto fleet = store_.NodesFor({.namespaces = {"team-a"}});
    EXPECT_EQ(fleet.status().code(), absl::StatusCode::kUnavailable);
    return std::string(fleet.status().message());
  }

  FakeClock clock_;
  FleetStore store_{clock_,
                    {.timeouts = {.grace = absl::Seconds(15),
                                  .forget_after = absl::Minutes(5),
                                  .empty_after = absl::Minutes(1)},
                     .limits = {.horizon = absl::Minutes(15), .join_within = kStaleAfter}}};
};

TEST_F(FleetStoreTest, NodeThatJoinsDelaysNoDecision) {
  store_.Listed(Addresses{"a:1"});
  Report("a:1", "gpu-a", 0);
  clock_.Advance(absl::Minutes(2));
  Report("a:1", "gpu-a", 0);
  store_.Listed(Addresses{"a:1", "new:1"});
  EXPECT_THAT(Fleet()->unreached, ElementsAre("new:1"));
  EXPECT_EQ(Fleet()->unreached_count, 1u);
  EXPECT_TRUE(Fleet("team-asleep")->nodes.empty());
  EXPECT_TRUE(Decided().status.ok()) << Decided().status;
  EXPECT_THAT(Decided().notes, Contains(HasSubstr("1 agent not connected yet: new:1")));
}

TEST_F(FleetStoreTest, UnlistedUnreachedAgentIsStillAwaited) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Report("a:1", "gpu-a", 50);
  store_.Listed(Addresses{"a:1"});
  EXPECT_THAT(Refusal(), HasSubstr("no report of 1 agent yet, b:1"));
  Report("b:1", "gpu-b", 90);
  EXPECT_EQ(Decided().value, 140);
}

TEST_F(FleetStoreTest, UnlistedUnreachedAgentHasNoNoteAfterTheWait) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Report("a:1", "gpu-a", 50);
  store_.Listed(Addresses{"a:1"});
  const int64_t before = store_.ChangedSince(0).generation;
  clock_.Advance(absl::Minutes(1));
  store_.Tick();
  EXPECT_TRUE(store_.ChangedSince(before).affects_all);
  Report("a:1", "gpu-a", 50);
  EXPECT_TRUE(Decided().status.ok()) << Decided().status;
  EXPECT_THAT(Decided().notes, Not(Contains(HasSubstr("not connected yet"))));
}

// An agent and an aggregator restart while a kubelet does not answer. Replicas from before must
// still count.
TEST_F(FleetStoreTest, UnattributedNodeIsAwaitedLikeAnAgent) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Report("a:1", "gpu-a", 50);
  ReportUnattributed("b:1", "gpu-b");
  EXPECT_EQ(Refusal(),
            "the holders of the GPUs of node gpu-b are not known yet: the kubelet does not answer");
  const int64_t refused = store_.WaitForGeneration(-1, absl::ZeroDuration());
  clock_.Advance(absl::Seconds(1));
  Report("b:1", "gpu-b", 50);
  EXPECT_EQ(Decided().value, 100);
  EXPECT_TRUE(store_.ChangedSince(refused).affects_all);
  clock_.Advance(absl::Seconds(1));
  ReportUnattributed("b:1", "gpu-b");
  EXPECT_EQ(Decided().value, 130) << "the last known holder, which cannot be read";
}

TEST_F(FleetStoreTest, WaitForAnUnattributedNodeEnds) {
  store_.Listed(Addresses{"a:1", "b:1"});
  clock_.Advance(absl::Minutes(1) - absl::Seconds(1));
  Report("a:1", "gpu-a", 50);
  ReportUnattributed("b:1", "gpu-b");
  Refusal();
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Decided().value, 50);
  EXPECT_THAT(Decided().notes,
              Contains(HasSubstr("the holders of the GPUs of node gpu-b are unknown")));
  store_.Listed(Addresses{"a:1", "b:1", "c:1"});
  ReportUnattributed("c:1", "gpu-c");
  EXPECT_EQ(Decided().value, 50) << "one that joins";
}

TEST_F(FleetStoreTest, UnattributedNodeWithIdleGpusIsNotAwaited) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Report("a:1", "gpu-a", 50);
  ReportUnattributed("b:1", "gpu-b");
  Refusal();
  const int64_t refused = store_.WaitForGeneration(-1, absl::ZeroDuration());
  clock_.Advance(absl::Seconds(1));
  ReportUnattributed("b:1", "gpu-b", false);
  EXPECT_EQ(Decided().value, 50);
  EXPECT_TRUE(store_.ChangedSince(refused).affects_all);
}

TEST_F(FleetStoreTest, DecisionWithoutPodsNamesTheOtherHolders) {
  store_.Listed(Addresses{"a:1"});
  Report("a:1", "gpu-a", 50);
  Trigger trigger;
  trigger.workload = "lama";
  const ScaledObjectRef scaled_object{.namespace_name = "team-a", .name = "scaler"};
  const auto fleet = store_.NodesFor(PodsOfInterest(trigger, scaled_object));
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  EXPECT_THAT(Nodes(**fleet), IsEmpty()) << "the nodes of other pods are not needed";
  const Decision decision = Decide(trigger, scaled_object, **fleet,
                                   {.stale_after = kStaleAfter, .grace = absl::Seconds(15)});
  EXPECT_EQ(decision.value, 0);
  EXPECT_THAT(decision.notes, ElementsAre("no pods of lama hold GPUs; those of namespace team-a "
                                          "are held by Deployment/llama"));
  EXPECT_LE(decision.valid_until, clock_.Now() + absl::Seconds(15)) << "others come and go";
  trigger.workload = "llama";
  EXPECT_THAT(store_.NodesFor(PodsOfInterest(trigger, scaled_object)).value()->others, IsEmpty());
}

TEST_F(FleetStoreTest, AgentWithoutReadingsIsUnreachedWithItsReason) {
  store_.Listed(Addresses{"a:1"});
  Report("a:1", "gpu-a", 50);
  clock_.Advance(absl::Minutes(2));
  Report("a:1", "gpu-a", 50);
  store_.Listed(Addresses{"a:1", "b:1", "c:1"});
  store_.Received("b:1",
                  {.received_at = clock_.Now(), .trouble = "NVML error 9 (DRIVER_NOT_LOADED)"});
  Lose("c:1");
  EXPECT_THAT(
      Decided().notes,
      Contains(HasSubstr("2 agents not connected yet: b:1 (NVML error 9 (DRIVER_NOT_LOADED)), "
                         "c:1 (connection refused)")));
}

TEST_F(FleetStoreTest, NodeInTroubleIsListedWithItsReason) {
  store_.Listed(Addresses{"a:1"});
  Report("a:1", "gpu-a", 50);
  Lose("a:1");
  clock_.Advance(absl::Seconds(16));
  EXPECT_THAT(
      Explain(Trigger(), Decided()),
      HasSubstr("nodes: gpu-a (1 replica, read 16s ago: agent of node gpu-a disconnected for 16s: "
                "connection refused)"));
}

TEST_F(FleetStoreTest, FleetWithoutListedAgentsIsMarked) {
  store_.Listed(Addresses{});
  clock_.Advance(absl::Minutes(1));
  store_.Listed(Addresses{});
  EXPECT_TRUE(Decided().status.ok()) << Decided().status;
  EXPECT_THAT(Decided().notes, ElementsAre(HasSubstr("no agent is listed")));
  store_.Listed(Addresses{"a:1"});
  Report("a:1", "gpu-a", 50);
  EXPECT_THAT(Decided().notes, Not(Contains(HasSubstr("no agent is listed"))));
}

// A bug: an agent that claimed a node's name took V from 80 to 0.
TEST_F(FleetStoreTest, NodeClaimedByTwoAgentsIsUnreadableAfterGrace) {
  store_.Listed(Addresses{"a:1", "b:1", "c:1"});
  Report("a:1", "gpu-a", 90);
  Report("c:1", "gpu-c", 50);
  const absl::Time claimed_at = clock_.Now();
  const auto all_report = [&] {
    Report("b:1", "gpu-a", 0, "team-a", "GPU-of-another-machine");
    Report("a:1", "gpu-a", 90);
    Report("c:1", "gpu-c", 50);
  };
  for (; clock_.Now() - claimed_at <= absl::Seconds(15); clock_.Advance(absl::Seconds(1))) {
    all_report();
    ASSERT_EQ(Decided().value, 90 + 50) << clock_.Now() - claimed_at;
  }
  all_report();
  const Decision decision = Decided();
  EXPECT_EQ(decision.value, 80 + 50);
  EXPECT_EQ(decision.unreadable, 1);
  EXPECT_TRUE(decision.active);
  EXPECT_THAT(decision.notes,
              Contains(HasSubstr("partial: node gpu-a is claimed by two agents with different "
                                 "GPUs: a:1 and b:1")));
  EXPECT_THAT(*store_.ActiveAgents({.namespaces = {"team-a"}}),
              UnorderedElementsAre(Pair("gpu-a", ""), Pair("gpu-c", "c:1")))
      << "its engines do not count either";
  EXPECT_EQ(store_.faults().disputed_nodes, 1);
  Lose("b:1");
  EXPECT_EQ(Decided().value, 90 + 50);
  EXPECT_EQ(store_.faults().disputed_nodes, 0);
}

TEST_F(FleetStoreTest, PodsOnTwoNodesAreCountedAndLoggedOnce) {
  const auto report = [this](const std::string& address, const std::string& node,
                             const std::string& uid) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), node);
    AddPods(snapshot);
    snapshot.pods[0].uid = uid;
    AgentUpdate update{.node = node, .instance = InstanceOf(address), .received_at = clock_.Now()};
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Received(address, std::move(update));
  };
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  store_.Listed(Addresses{"a:1", "b:1", "c:1", "d:1"});
  report("c:1", "gpu-c", "");
  report("d:1", "gpu-d", "");
  report("a:1", "gpu-a", "uid-1");
  report("b:1", "gpu-b", "uid-2");
  store_.Tick();
  EXPECT_EQ(store_.faults().shared_pods, 0)
      << "pods of StatefulSets share names, and empty UIDs do not match";
  for (int look = 0; look < 3; ++look) {
    clock_.Advance(absl::Seconds(5));
    report("b:1", "gpu-b", "uid-1");
    store_.Tick();
    EXPECT_EQ(store_.faults().shared_pods, 1);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string line =
      "event=pod_on_two_nodes namespace=team-a pod=llama-7d9c5b8f4-x2k0 "
      "uid=uid-1 node=gpu-a other_node=gpu-b";
  EXPECT_THAT(log, HasSubstr(line));
  EXPECT_EQ(log.find("pod_on_two_nodes"), log.rfind("pod_on_two_nodes"));
  clock_.Advance(absl::Seconds(5));
  report("b:1", "gpu-b", "uid-2");
  store_.Tick();
  EXPECT_EQ(store_.faults().shared_pods, 0);
}

TEST_F(FleetStoreTest, LostAgentCountsForGraceAndIsUnreadableThen) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Report("a:1", "gpu-a", 50);
  Report("b:1", "gpu-b", 90);
  EXPECT_EQ(Decided().value, 140);
  Lose("b:1");
  clock_.Advance(absl::Seconds(15));
  Report("a:1", "gpu-a", 50);
  EXPECT_EQ(Decided().value, 140) << "its pods are still serving";
  clock_.Advance(absl::Seconds(1));
  store_.Tick();
  Report("a:1", "gpu-a", 50);
  const Decision decision = Decided();
  EXPECT_EQ(decision.unreadable, 1);
  EXPECT_EQ(decision.value, 50 + 80);
  EXPECT_TRUE(decision.active);
}

TEST_F(FleetStoreTest, IdleAgentGetsGraceBeforeItsReadingsAreStale) {
  store_.Listed(Addresses{"a:1"});
  Report("a:1", "gpu-a", 90);
  clock_.Advance(absl::Seconds(6));
  store_.Tick();
  EXPECT_EQ(Decided().value, 90) << "stale, but the agent may come back";
  EXPECT_EQ(Fleet()->nodes[0].why_disconnected, "it sends nothing");
}

TEST_F(FleetStoreTest, HungDriverIsStaleWithoutGrace) {
  store_.Listed(Addresses{"a:1"});
  Report("a:1", "gpu-a", 90);
  clock_.Advance(absl::Seconds(6));
  store_.Received("a:1", {.node = "gpu-a",
                          .instance = InstanceOf("a:1"),
                          .received_at = clock_.Now(),
                          .trouble = "NVML hangs"});
  EXPECT_EQ(Decided().status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store_.Agents()[0].why, "NVML hangs");
}

TEST_F(FleetStoreTest, LostAgentIsForgottenOnceDnsHasNotListedItForForgetAfter) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Report("a:1", "gpu-a");
  Report("b:1", "gpu-b");
  Lose("b:1");
  store_.Listed(Addresses{"a:1"});
  clock_.Advance(absl::Minutes(5) - absl::Seconds(1));
  store_.Listed(Addresses{"a:1"});
  Report("a:1", "gpu-a");
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a", "gpu-b"));
  EXPECT_THAT(store_.Watched(), ElementsAre("a:1", "b:1"));
  clock_.Advance(absl::Seconds(1));
  store_.Listed(Addresses{"a:1"});
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a"));
  EXPECT_THAT(store_.Watched(), ElementsAre("a:1"));
}

TEST_F(FleetStoreTest, EmptyListIsAnEmptyFleetAfterEmptyAfter) {
  store_.Listed(Addresses{});
  EXPECT_THAT(Refusal(), HasSubstr("--empty-after=1m"));
  clock_.Advance(absl::Seconds(55));
  store_.Listed(Addresses{});
  clock_.Advance(absl::Seconds(4));
  Refusal();
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(Fleet()->nodes, IsEmpty());
  EXPECT_THAT(Fleet()->unreached, IsEmpty());
}

TEST_F(FleetStoreTest, AllNodesGoneIsAnEmptyFleetOnlyOnceTheyAreForgotten) {
  store_.Listed(Addresses{"a:1"});
  Report("a:1", "gpu-a");
  Lose("a:1");
  store_.Listed(Addresses{});
  clock_.Advance(absl::Minutes(2));
  store_.Listed(Addresses{});
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a")) << "its pods may still be there";
  clock_.Advance(absl::Minutes(3));
  store_.Listed(Addresses{});
  EXPECT_THAT(Fleet()->nodes, IsEmpty());
}

TEST_F(FleetStoreTest, NamespaceSeesItsOwnNodesAndItsOwnChanges) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Report("a:1", "gpu-a", 50, "team-a");
  Report("b:1", "gpu-b", 50, "team-b");
  EXPECT_THAT(Nodes(*Fleet("team-a")), ElementsAre("gpu-a"));
  EXPECT_THAT(Nodes(*Fleet("team-b")), ElementsAre("gpu-b"));
  EXPECT_THAT(Nodes(**store_.AllNodes()), ElementsAre("gpu-a", "gpu-b"));
  const int64_t before = Fleet("team-a")->generation;
  clock_.Advance(absl::Seconds(1));
  Report("b:1", "gpu-b", 60, "team-b");
  EXPECT_EQ(Fleet("team-a")->generation, before);
  EXPECT_GT(Fleet("team-b")->generation, before);
}

// Its GPUs may belong to any pod, so a namespace without pods has no value.
TEST_F(FleetStoreTest, NodeWithoutAKubeletHasNoPodsAmongThoseWithOne) {
  const auto report_without_owners = [this](const std::string& address, const std::string& node) {
    AgentUpdate update{.node = node, .instance = InstanceOf(address), .received_at = clock_.Now()};
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = SnapshotOf(1, clock_.Now(), node)});
    update.readings[0].snapshot.gpus[0].utilization_percent = 90;
    store_.Received(address, std::move(update));
  };
  store_.Listed(Addresses{"a:1", "b:1"});
  Report("a:1", "gpu-a", 50, "team-b");
  report_without_owners("b:1", "gpu-b");
  const Decision decision = Decided();
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable) << decision.value;
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("it queries no kubelet"));
  const int64_t before = Fleet()->generation;
  clock_.Advance(absl::Seconds(1));
  report_without_owners("a:1", "gpu-a");
  EXPECT_GT(Fleet()->generation, before) << "the last user of a kubelet has stopped";
  EXPECT_EQ(Decided().value, 180) << "all GPUs in use";
}

TEST_F(FleetStoreTest, ReturnsThePodsOnChangedNodes) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Report("a:1", "gpu-a", 50, "team-a");
  Report("b:1", "gpu-b", 50, "team-b");
  const int64_t before = store_.ChangedSince(0).generation;
  EXPECT_FALSE(store_.ChangedSince(before).affects_all);
  EXPECT_THAT(store_.ChangedSince(before).pods, IsEmpty());
  clock_.Advance(absl::Seconds(1));
  Report("b:1", "gpu-b", 60, "team-b");
  EXPECT_FALSE(store_.ChangedSince(before).affects_all);
  EXPECT_THAT(store_.ChangedSince(before).pods,
              UnorderedElementsAre(OwnerKey{"team-b", ""}, OwnerKey{"team-b", "llama"}));
  store_.Listed(Addresses{"a:1", "b:1", "c:1"});
  EXPECT_TRUE(store_.ChangedSince(before).affects_all) << "an unreached agent concerns all";
}

TEST_F(FleetStoreTest, WaitReturnsOnAChangeAndOnClose) {
  store_.Listed(Addresses{"a:1"});
  const int64_t before = store_.WaitForGeneration(-1, absl::ZeroDuration());
  std::thread agent([&] { Report("a:1", "gpu-a"); });
  EXPECT_GT(store_.WaitForGeneration(before, absl::Minutes(1)), before);
  agent.join();
  std::thread closer([&] { store_.Close(); });
  store_.WaitForGeneration(1'000'000, absl::InfiniteDuration());
  closer.join();
}

void ExpectPercentages(const FleetHistory& fleet) {
  for (const NodeState& node : fleet.nodes) {
    ASSERT_LT(node.history->Newest().gpus[0].utilization_percent, 100);
    for (const NodeRun& run : node.history->runs) {
      ASSERT_LT(run.point(0).Value(GpuReading::kUtilization), 100);
    }
  }
}

TEST_F(FleetStoreTest, ManyAgentsAndReadersAtOnce) {
  Addresses addresses;
  for (int i = 0; i < 8; ++i) addresses.push_back(absl::StrCat("10.0.0.", i, ":1"));
  store_.Listed(addresses);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) Report(addresses[i], absl::StrCat("gpu-", i), n % 100);
      Lose(addresses[i]);
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        const auto fleet = store_.NodesFor({.namespaces = {"team-a"}});
        if (fleet.ok()) ExpectPercentages(**fleet);
        store_.Tick();
        store_.Agents();
        clock_.Advance(absl::Milliseconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((*store_.AllNodes())->nodes.size(), 8u);
}

TEST_F(FleetStoreTest, HeartbeatOfAnAgentThatHadTroubleReadingIsAChange) {
  store_.Listed(Addresses{"a:1"});
  Report("a:1", "gpu-a");
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(absl::Milliseconds(1500));
    store_.Received("a:1", {.node = "gpu-a",
                            .instance = InstanceOf("a:1"),
                            .received_at = clock_.Now(),
                            .trouble = "NVML does not answer"});
  }
  EXPECT_FALSE(Decided().status.ok()) << "6 s old";
  const int64_t before = store_.ChangedSince(0).generation;
  ReportUnchanged("a:1", "gpu-a");
  EXPECT_GT(store_.ChangedSince(0).generation, before);
  EXPECT_TRUE(Decided().status.ok()) << Decided().status;
}

TEST_F(FleetStoreTest, AgentWithRecordsOfANamespaceIsActiveForIt) {
  store_.Listed(std::vector<std::string>{"a:1", "b:1"});
  Report("a:1", "gpu-a");
  Report("b:1", "gpu-b");
  const PodInterest wanted{.namespaces = {"team-z"}};
  EXPECT_THAT(store_.ActiveAgents(wanted).value(), IsEmpty());
  AgentUpdate update{.node = "gpu-b", .instance = InstanceOf("b:1"), .received_at = clock_.Now()};
  update.engine_namespaces = {"team-y", "team-z"};
  store_.Received("b:1", update);
  EXPECT_THAT(store_.ActiveAgents(wanted).value(), ElementsAre(Pair("gpu-b", "b:1")));
  ReportUnchanged("b:1", "gpu-b");
  EXPECT_THAT(store_.ActiveAgents(wanted).value(), SizeIs(1)) << "as before";
  update.engine_namespaces->clear();
  store_.Received("b:1", update);
  EXPECT_THAT(store_.ActiveAgents(wanted).value(), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
