#include "fleet/fleet_store.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
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
using testing::UnorderedElementsAre;

using Addresses = std::vector<std::string>;

constexpr absl::Duration kStaleAfter = absl::Seconds(5);

class FleetStoreTest : public testing::Test {
 protected:
  // A reading of a node of one GPU, of which a pod of `namespace_name` has one.
  void Says(const std::string& address, const std::string& node, double utilization_percent = 50,
            const std::string& namespace_name = "team-a") {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), node);
    snapshot.gpus[0].utilization_percent = utilization_percent;
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = namespace_name;
    snapshot.pods[0].name = absl::StrCat("llama-", node);
    AgentNews news{.node = node, .instance = InstanceOf(address), .heard_at = clock_.Now()};
    news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    store_.Heard(address, std::move(news));
  }
  void SaysNothingNew(const std::string& address, const std::string& node) {
    store_.Heard(address, {.node = node,
                           .instance = InstanceOf(address),
                           .heard_at = clock_.Now(),
                           .unchanged_until = clock_.Now()});
  }
  void IsLost(const std::string& address) {
    store_.Lost(address, absl::UnavailableError("connection refused"));
  }
  static uint64_t InstanceOf(const std::string& address) {
    return std::hash<std::string>()(address);
  }

  FleetStore::Fleet Fleet(const std::string& namespace_name = "team-a") {
    const auto fleet = store_.Of({.namespaces = {namespace_name}});
    EXPECT_TRUE(fleet.ok()) << fleet.status();
    return fleet.ok() ? *fleet : std::make_shared<const FleetHistory>();
  }
  static Addresses Nodes(const FleetHistory& fleet) {
    Addresses names;
    for (const NodeTrack& track : fleet.nodes) names.push_back(track.node);
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
    const auto fleet = store_.Of({.namespaces = {"team-a"}});
    EXPECT_EQ(fleet.status().code(), absl::StatusCode::kUnavailable);
    return std::string(fleet.status().message());
  }

  FakeClock clock_;
  FleetStore store_{clock_,
                    {.patience = {.grace = absl::Seconds(15),
                                  .forget_after = absl::Minutes(5),
                                  .empty_after = absl::Minutes(1)},
                     .limits = {.horizon = absl::Minutes(15), .join_within = kStaleAfter}}};
};

TEST_F(FleetStoreTest, NothingIsDecidedBeforeDnsHasAnswered) {
  EXPECT_EQ(Refusal(), "the agents are not known yet");
  store_.Listed(absl::UnavailableError("agents: Temporary failure in name resolution"));
  EXPECT_THAT(Refusal(), HasSubstr("Temporary failure"));
}

TEST_F(FleetStoreTest, NewAggregatorWaitsUntilItHasHeardOfAll) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("a:1", "gpu-a");
  EXPECT_THAT(Refusal(), HasSubstr("not heard of 1 agent yet, b:1")) << "half a fleet scales in";
  Says("b:1", "gpu-b");
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a", "gpu-b"));
}

TEST_F(FleetStoreTest, AgentThatStillReplaysItsPastIsNotHeardYet) {
  store_.Listed(Addresses{"a:1"});
  AgentNews first{.node = "gpu-a", .heard_at = clock_.Now(), .more = true};
  first.readings.push_back({.before_until = std::nullopt,
                            .snapshot = SnapshotOf(1, clock_.Now() - absl::Minutes(5), "gpu-a")});
  store_.Heard("a:1", first);
  Refusal();
  Says("a:1", "gpu-a");
  EXPECT_EQ(Fleet()->nodes[0].history->stretches.size(), 2u);
}

TEST_F(FleetStoreTest, AgentThatIsUnheardAtTheStartIsWaitedForUntilItsAbsenceIsBelieved) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("a:1", "gpu-a");
  IsLost("b:1");
  clock_.Advance(absl::Seconds(59));
  Says("a:1", "gpu-a");
  EXPECT_THAT(Refusal(), HasSubstr("b:1: connection refused"))
      << "its replicas may be serving, and other aggregators count them";
  clock_.Advance(absl::Seconds(1));
  Says("a:1", "gpu-a");
  EXPECT_THAT(Fleet()->unheard, ElementsAre("b:1"));
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a"));
}

TEST_F(FleetStoreTest, NodeThatJoinsHoldsNobodyUp) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a", 0);
  clock_.Advance(absl::Minutes(2));
  Says("a:1", "gpu-a", 0);
  store_.Listed(Addresses{"a:1", "new:1"});
  EXPECT_THAT(Fleet()->unheard, ElementsAre("new:1"));
  EXPECT_TRUE(Fleet("team-asleep")->nodes.empty());
  EXPECT_TRUE(Decided().status.ok()) << Decided().status;
  EXPECT_THAT(Decided().notes, Contains(HasSubstr("1 agent not heard yet: new:1")));
}

TEST_F(FleetStoreTest, NoneOfTheListedAnswersIsNoAnswer) {
  store_.Listed(Addresses{"a:1"});
  IsLost("a:1");
  clock_.Advance(absl::Hours(1));
  EXPECT_THAT(Refusal(), HasSubstr("a:1: connection refused"));
}

TEST_F(FleetStoreTest, AgentWithoutADriverSaysWhyThereIsNothing) {
  store_.Listed(Addresses{"a:1"});
  store_.Heard("a:1", {.heard_at = clock_.Now(), .trouble = "libnvidia-ml.so.1 not found"});
  EXPECT_THAT(Refusal(), HasSubstr("libnvidia-ml.so.1 not found"));
}

TEST_F(FleetStoreTest, AgentThatDropsOutCountsForItsGraceAndIsUnreadableThen) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("a:1", "gpu-a", 50);
  Says("b:1", "gpu-b", 90);
  EXPECT_EQ(Decided().value, 140);
  IsLost("b:1");
  clock_.Advance(absl::Seconds(15));
  Says("a:1", "gpu-a", 50);
  EXPECT_EQ(Decided().value, 140) << "its pods are still serving";
  clock_.Advance(absl::Seconds(1));
  store_.Tick();
  Says("a:1", "gpu-a", 50);
  const Decision decision = Decided();
  EXPECT_EQ(decision.unreadable, 1);
  EXPECT_EQ(decision.value, 50 + 80);
  EXPECT_TRUE(decision.active);
}

TEST_F(FleetStoreTest, CutCableIsGivenGraceBeforeItIsNoticed) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a", 90);
  clock_.Advance(absl::Seconds(6));
  store_.Tick();
  EXPECT_EQ(Decided().value, 90) << "stale, but the agent may come back";
  EXPECT_EQ(Fleet()->nodes[0].silence, "it has fallen silent");
}

TEST_F(FleetStoreTest, HungDriverIsStaleWithoutGrace) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a", 90);
  clock_.Advance(absl::Seconds(6));
  store_.Heard("a:1", {.node = "gpu-a",
                       .instance = InstanceOf("a:1"),
                       .heard_at = clock_.Now(),
                       .trouble = "NVML hangs"});
  EXPECT_EQ(Decided().status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store_.Agents()[0].why, "NVML hangs");
}

TEST_F(FleetStoreTest, LostAgentStaysAsLongAsDnsListsIt) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a");
  IsLost("a:1");
  for (int minute = 0; minute < 60; ++minute) {
    clock_.Advance(absl::Minutes(1));
    store_.Listed(Addresses{"a:1"});
  }
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a"));
}

TEST_F(FleetStoreTest, LostAgentIsForgottenOnceDnsHasNotListedItForForgetAfter) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("a:1", "gpu-a");
  Says("b:1", "gpu-b");
  IsLost("b:1");
  store_.Listed(Addresses{"a:1"});
  clock_.Advance(absl::Minutes(5) - absl::Seconds(1));
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a");
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a", "gpu-b"));
  EXPECT_THAT(store_.Watched(), ElementsAre("a:1", "b:1"));
  clock_.Advance(absl::Seconds(1));
  store_.Listed(Addresses{"a:1"});
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a"));
  EXPECT_THAT(store_.Watched(), ElementsAre("a:1"));
}

TEST_F(FleetStoreTest, FailingDnsForgetsNobody) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a");
  IsLost("a:1");
  for (int minute = 0; minute < 60; ++minute) {
    clock_.Advance(absl::Minutes(1));
    store_.Listed(absl::UnavailableError("SERVFAIL"));
    store_.Tick();
  }
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a"));
}

TEST_F(FleetStoreTest, AgentThatIsHeardIsThereWhateverDnsSays) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a");
  for (int minute = 0; minute < 10; ++minute) {
    clock_.Advance(absl::Minutes(1));
    store_.Listed(Addresses{});
    SaysNothingNew("a:1", "gpu-a");
  }
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a"));
}

TEST_F(FleetStoreTest, NoGpuNodeAtAllIsAnEmptyFleetAfterEmptyAfter) {
  store_.Listed(Addresses{});
  EXPECT_THAT(Refusal(), HasSubstr("--empty-after=1m"));
  clock_.Advance(absl::Seconds(55));
  store_.Listed(Addresses{});
  clock_.Advance(absl::Seconds(4));
  Refusal();
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(Fleet()->nodes, IsEmpty());
  EXPECT_THAT(Fleet()->unheard, IsEmpty());
}

TEST_F(FleetStoreTest, EmptyAnswerSaysNothingOfTheTimeWhenDnsFails) {
  store_.Listed(Addresses{});
  clock_.Advance(absl::Seconds(55));
  store_.Listed(Addresses{});
  store_.Listed(absl::UnavailableError("SERVFAIL"));
  clock_.Advance(absl::Seconds(5));
  EXPECT_THAT(Refusal(), HasSubstr("SERVFAIL"));
}

TEST_F(FleetStoreTest, ForgottenAgentsThatComeBackTogetherAreWaitedFor) {
  store_.Listed(Addresses{"a:1", "b:1"});
  for (const char* agent : {"a", "b"}) {
    Says(absl::StrCat(agent, ":1"), absl::StrCat("gpu-", agent));
    IsLost(absl::StrCat(agent, ":1"));
  }
  for (int minute = 0; minute < 6; ++minute) {
    store_.Listed(Addresses{});
    clock_.Advance(absl::Minutes(1));
  }
  EXPECT_THAT(Fleet()->nodes, IsEmpty());
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("a:1", "gpu-a");
  EXPECT_THAT(Refusal(), HasSubstr("not heard of 1 agent yet, b:1")) << "half a fleet scales in";
  Says("b:1", "gpu-b");
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a", "gpu-b"));
}

TEST_F(FleetStoreTest, AllNodesGoneIsAnEmptyFleetOnlyOnceTheyAreForgotten) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a");
  IsLost("a:1");
  store_.Listed(Addresses{});
  clock_.Advance(absl::Minutes(2));
  store_.Listed(Addresses{});
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a")) << "its pods may still be there";
  clock_.Advance(absl::Minutes(3));
  store_.Listed(Addresses{});
  EXPECT_THAT(Fleet()->nodes, IsEmpty());
}

TEST_F(FleetStoreTest, SameNodeTwiceIsTheOneThatConnectedLast) {
  store_.Listed(Addresses{"old:1", "new:1"});
  Says("old:1", "gpu-a", 10);
  clock_.Advance(absl::Seconds(1));
  Says("new:1", "gpu-a", 90);
  clock_.Advance(absl::Seconds(1));
  Says("old:1", "gpu-a", 10);
  ASSERT_EQ(Fleet()->nodes.size(), 1u);
  EXPECT_EQ(Fleet()->nodes[0].history->Newest().gpus[0].utilization_percent, 90);
  const std::vector<AgentStatus> agents = store_.Agents();
  EXPECT_FALSE(agents[0].superseded);
  EXPECT_TRUE(agents[1].superseded) << agents[1].address;
}

TEST_F(FleetStoreTest, OlderAgentSpeaksAgainWhenTheNewerOneIsLost) {
  store_.Listed(Addresses{"old:1", "new:1"});
  Says("old:1", "gpu-a", 10);
  clock_.Advance(absl::Seconds(1));
  Says("new:1", "gpu-a", 90);
  IsLost("new:1");
  clock_.Advance(absl::Seconds(1));
  Says("old:1", "gpu-a", 10);
  EXPECT_EQ(Fleet()->nodes[0].history->Newest().gpus[0].utilization_percent, 10);
  EXPECT_EQ(Fleet()->nodes[0].silence, "");
}

TEST_F(FleetStoreTest, RestartedAgentOfANewAddressContinuesItsNode) {
  store_.Listed(Addresses{"old:1"});
  Says("old:1", "gpu-a");
  IsLost("old:1");
  clock_.Advance(absl::Seconds(3));
  store_.Listed(Addresses{"new:1"});
  Says("new:1", "gpu-a");
  ASSERT_EQ(Fleet()->nodes.size(), 1u);
  EXPECT_EQ(Fleet()->nodes[0].history->stretches.size(), 2u);
  clock_.Advance(absl::Minutes(10));
  store_.Listed(Addresses{"new:1"});
  Says("new:1", "gpu-a");
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a"))
      << "the old address is forgotten, not the node";
}

TEST_F(FleetStoreTest, TwoAddressesOfOneAgentAreOneVoice) {
  store_.Listed(Addresses{"10.0.0.7:1", "[fd00::7]:1"});
  for (const char* address : {"10.0.0.7:1", "[fd00::7]:1"}) {
    AgentNews news{.node = "gpu-a", .instance = 42, .heard_at = clock_.Now()};
    news.readings.push_back(
        {.before_until = std::nullopt, .snapshot = SnapshotOf(1, clock_.Now(), "gpu-a")});
    store_.Heard(address, news);
  }
  EXPECT_EQ(Fleet()->nodes.size(), 1u);
  EXPECT_THAT(Fleet()->unheard, IsEmpty());
}

// The second stream tells changes of readings that were passed over while the first one spoke.
TEST_F(FleetStoreTest, OtherStreamOfAnAgentSpeaksOnceItHasToldAllAgain) {
  store_.Listed(Addresses{"10.0.0.7:1", "[fd00::7]:1"});
  const auto says = [this](const std::string& address, std::optional<double> utilization_percent) {
    AgentNews news{.node = "gpu-a", .instance = 42, .heard_at = clock_.Now()};
    if (utilization_percent) {
      NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), "gpu-a");
      snapshot.gpus[0].utilization_percent = utilization_percent;
      news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    } else {
      news.unchanged_until = clock_.Now();
    }
    store_.Heard(address, std::move(news));
  };
  const auto newest = [this] { return (*store_.All())->nodes[0].history; };
  says("10.0.0.7:1", 10);
  says("[fd00::7]:1", 10);
  EXPECT_THAT(store_.LackingPast(), IsEmpty());
  clock_.Advance(absl::Seconds(1));
  const absl::Time read_at = newest()->NewestAt();
  says("[fd00::7]:1", 95);
  IsLost("10.0.0.7:1");
  clock_.Advance(absl::Seconds(1));
  says("[fd00::7]:1", std::nullopt);
  EXPECT_EQ(newest()->NewestAt(), read_at) << "the 10 % were not found again";
  ASSERT_THAT(store_.LackingPast(), ElementsAre("[fd00::7]:1"));
  store_.TellsAgain("[fd00::7]:1");
  says("[fd00::7]:1", 95);
  EXPECT_EQ(newest()->Newest().gpus[0].utilization_percent, 95);
  EXPECT_EQ((*store_.All())->nodes[0].silence, "");
  EXPECT_THAT(store_.LackingPast(), IsEmpty());
}

TEST_F(FleetStoreTest, AgentIsForgottenSoLongAfterItsLastWordThoughItWasUnlistedBefore) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("a:1", "gpu-a");
  Says("b:1", "gpu-b");
  for (int minute = 0; minute < 10; ++minute) {
    clock_.Advance(absl::Minutes(1));
    store_.Listed(Addresses{"a:1"});
    SaysNothingNew("b:1", "gpu-b");
  }
  IsLost("b:1");
  clock_.Advance(absl::Minutes(5) - absl::Seconds(1));
  Says("a:1", "gpu-a");
  store_.Tick();
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a", "gpu-b"));
  clock_.Advance(absl::Seconds(1));
  store_.Tick();
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a"));
}

TEST_F(FleetStoreTest, NamespaceSeesItsOwnNodesAndItsOwnChanges) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("a:1", "gpu-a", 50, "team-a");
  Says("b:1", "gpu-b", 50, "team-b");
  EXPECT_THAT(Nodes(*Fleet("team-a")), ElementsAre("gpu-a"));
  EXPECT_THAT(Nodes(*Fleet("team-b")), ElementsAre("gpu-b"));
  EXPECT_THAT(Nodes(**store_.All()), ElementsAre("gpu-a", "gpu-b"));
  const int64_t before = Fleet("team-a")->generation;
  clock_.Advance(absl::Seconds(1));
  Says("b:1", "gpu-b", 60, "team-b");
  EXPECT_EQ(Fleet("team-a")->generation, before);
  EXPECT_GT(Fleet("team-b")->generation, before);
}

// Its GPUs may be anybody's: they are not those of a namespace that has none.
TEST_F(FleetStoreTest, NodeThatAsksNoKubeletIsNobodysAmongThoseThatDo) {
  const auto says_without_owners = [this](const std::string& address, const std::string& node) {
    AgentNews news{.node = node, .instance = InstanceOf(address), .heard_at = clock_.Now()};
    news.readings.push_back(
        {.before_until = std::nullopt, .snapshot = SnapshotOf(1, clock_.Now(), node)});
    news.readings[0].snapshot.gpus[0].utilization_percent = 90;
    store_.Heard(address, std::move(news));
  };
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("a:1", "gpu-a", 50, "team-b");
  says_without_owners("b:1", "gpu-b");
  const Decision decision = Decided();
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable) << decision.value;
  EXPECT_THAT(std::string(decision.status.message()), HasSubstr("it asks no kubelet"));
  const int64_t before = Fleet()->generation;
  clock_.Advance(absl::Seconds(1));
  says_without_owners("a:1", "gpu-a");
  EXPECT_GT(Fleet()->generation, before) << "the last that asked one asks no more";
  EXPECT_EQ(Decided().value, 180) << "GPUs in use, whoever holds them";
}

TEST_F(FleetStoreTest, AgentFallsSilentWhenItsTracksWereSaidToStandNoLonger) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("a:1", "gpu-a");
  Says("b:1", "gpu-b");
  clock_.Advance(absl::Seconds(1));
  Says("b:1", "gpu-b");
  const FleetStore::Fleet before = Fleet();
  EXPECT_EQ(before->stands_until, clock_.Now() + absl::Seconds(3)) << "of the one heard first";
  clock_.Advance(absl::Seconds(3));
  EXPECT_EQ(Fleet()->nodes[0].silence, "");
  clock_.Advance(absl::Nanoseconds(1));
  store_.Tick();
  EXPECT_EQ(Fleet()->nodes[0].silence, "it has fallen silent");
  EXPECT_EQ(Fleet()->nodes[1].silence, "");
  EXPECT_EQ(Fleet()->generation, before->generation) << "nothing was heard";
}

TEST_F(FleetStoreTest, TellsWhoseNodesHaveChanged) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("a:1", "gpu-a", 50, "team-a");
  Says("b:1", "gpu-b", 50, "team-b");
  const int64_t before = store_.ChangedSince(0).generation;
  EXPECT_FALSE(store_.ChangedSince(before).of_all);
  EXPECT_THAT(store_.ChangedSince(before).pods, IsEmpty());
  clock_.Advance(absl::Seconds(1));
  Says("b:1", "gpu-b", 60, "team-b");
  EXPECT_FALSE(store_.ChangedSince(before).of_all);
  EXPECT_THAT(store_.ChangedSince(before).pods,
              UnorderedElementsAre(PodsOf{"team-b", ""}, PodsOf{"team-b", "llama"}));
  store_.Listed(Addresses{"a:1", "b:1", "c:1"});
  EXPECT_TRUE(store_.ChangedSince(before).of_all) << "an agent that is unheard is everybody's";
}

TEST_F(FleetStoreTest, KeepsAsMuchOfThePastAsIsLookedBackOn) {
  Leases leases;
  FleetStore store(clock_, {.patience = {.grace = absl::Seconds(15)},
                            .limits = {.horizon = absl::Minutes(15), .join_within = kStaleAfter},
                            .leases = &leases});
  store.Listed(Addresses{"a:1", "b:1"});
  const auto read_for = [&](absl::Duration duration) {
    for (const absl::Time end = clock_.Now() + duration; clock_.Now() < end;) {
      clock_.Advance(absl::Seconds(1));
      for (const std::string team : {"a", "b"}) {
        NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-", team));
        snapshot.gpus[0].power_watts = static_cast<double>(absl::ToUnixSeconds(clock_.Now()) % 100);
        AddPods(snapshot);
        snapshot.pods[0].namespace_name = absl::StrCat("team-", team);
        AgentNews news{
            .node = snapshot.node, .instance = InstanceOf(team), .heard_at = clock_.Now()};
        news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
        store.Heard(absl::StrCat(team, ":1"), std::move(news));
      }
    }
  };
  const auto kept = [&](const std::string& team) {
    const auto fleet = store.Of({.namespaces = {absl::StrCat("team-", team)}});
    EXPECT_EQ((*fleet)->nodes.size(), 1u);
    const NodeHistory& history = *(*fleet)->nodes[0].history;
    return history.NewestAt() - history.stretches.front().first;
  };
  // Of the two minutes, a reading before them and a margin.
  const absl::Duration always = kShortestLookBack + kStaleAfter + absl::Seconds(10);
  read_for(absl::Minutes(20));
  EXPECT_EQ(kept("a"), always);
  leases.RenewLookBack({"team-a"}, absl::Minutes(5), clock_.Now(), clock_.Now() + absl::Hours(1));
  read_for(absl::Minutes(20));
  EXPECT_EQ(kept("a"), always + absl::Minutes(3));
  EXPECT_EQ(kept("b"), always) << "another namespace's node";
  leases.RenewLookBack({}, absl::Minutes(15), clock_.Now(), clock_.Now() + absl::Hours(1));
  read_for(absl::Minutes(20));
  EXPECT_EQ(kept("b"), absl::Minutes(15)) << "no more than the limits";
}

TEST_F(FleetStoreTest, PastThatIsToldAgainTakesThePlaceOfWhatIsKeptOnceItIsComplete) {
  Leases leases;
  FleetStore store(clock_, {.patience = {.grace = absl::Seconds(15)},
                            .limits = {.horizon = absl::Minutes(15), .join_within = kStaleAfter},
                            .leases = &leases});
  store.Listed(Addresses{"a:1"});
  const absl::Time start = clock_.Now();
  clock_.Advance(absl::Minutes(10));
  // Readings of each second from `from` to `until`.
  const auto tell = [&](absl::Duration from, absl::Duration until, bool more) {
    AgentNews news{.node = "gpu-a", .instance = 1, .heard_at = clock_.Now(), .more = more};
    for (absl::Duration at = from; at < until; at += absl::Seconds(1)) {
      NodeSnapshot snapshot = SnapshotOf(1, start + at, "gpu-a");
      snapshot.gpus[0].power_watts = absl::ToDoubleSeconds(at);
      AddPods(snapshot);
      news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    }
    store.Heard("a:1", std::move(news));
  };
  const auto kept = [&] {
    const NodeHistory& history = *(*store.Of({.namespaces = {"team-a"}}))->nodes[0].history;
    return history.NewestAt() - history.stretches.front().first;
  };
  const absl::Duration now = absl::Minutes(10);
  tell(absl::ZeroDuration(), now, false);
  EXPECT_LT(kept(), absl::Minutes(3));
  EXPECT_THAT(store.LackingPast(), IsEmpty());
  leases.RenewLookBack({"team-a"}, absl::Minutes(5), clock_.Now(), clock_.Now() + absl::Hours(1));
  EXPECT_THAT(store.LackingPast(), ElementsAre("a:1"));
  store.TellsAgain("a:1");
  EXPECT_THAT(store.LackingPast(), IsEmpty()) << "it is at it";
  tell(absl::ZeroDuration(), now / 2, true);
  EXPECT_EQ((*store.Of({.namespaces = {"team-a"}}))->nodes[0].history->NewestAt(),
            start + now - absl::Seconds(1))
      << "half of it says nothing of now";
  tell(now / 2, now, false);
  EXPECT_GE(kept(), absl::Minutes(5));
  EXPECT_THAT(store.LackingPast(), IsEmpty());
  tell(now, now + absl::Seconds(1), false);
  EXPECT_GE(kept(), absl::Minutes(5)) << "and goes on";
}

TEST_F(FleetStoreTest, PastThatCannotBeToldIsAskedForOnce) {
  Leases leases;
  FleetStore store(clock_, {.limits = {.horizon = absl::Minutes(15), .join_within = kStaleAfter},
                            .leases = &leases});
  store.Listed(Addresses{"a:1"});
  const auto tell = [&](absl::Time at) {
    AgentNews news{.node = "gpu-a", .instance = 1, .heard_at = clock_.Now()};
    news.readings.push_back({.before_until = std::nullopt, .snapshot = SnapshotOf(1, at, "gpu-a")});
    store.Heard("a:1", std::move(news));
  };
  const absl::Time start = clock_.Now();
  clock_.Advance(absl::Minutes(4));
  for (const int minute : {0, 1, 4}) tell(start + absl::Minutes(minute));
  leases.RenewLookBack({}, absl::Minutes(5), clock_.Now(), clock_.Now() + absl::Hours(1));
  ASSERT_THAT(store.LackingPast(), ElementsAre("a:1"));
  store.TellsAgain("a:1");
  store.Lost("a:1", absl::UnavailableError("connection refused"));
  tell(clock_.Now() + absl::Seconds(1));
  EXPECT_THAT(store.LackingPast(), IsEmpty());
  EXPECT_EQ((*store.All())->nodes[0].history->forgotten_until, start) << "what is kept stays";
}

TEST_F(FleetStoreTest, AgentThatHasJustBegunTakesNothingOfThePastAway) {
  Leases leases;
  FleetStore store(clock_, {.limits = {.horizon = absl::Minutes(15), .join_within = kStaleAfter},
                            .leases = &leases});
  store.Listed(Addresses{"a:1"});
  const absl::Time start = clock_.Now();
  const auto tell = [&](uint64_t instance, const std::vector<int>& minutes, bool more) {
    AgentNews news{.node = "gpu-a", .instance = instance, .heard_at = clock_.Now(), .more = more};
    for (const int minute : minutes) {
      news.readings.push_back({.before_until = std::nullopt,
                               .snapshot = SnapshotOf(1, start + absl::Minutes(minute), "gpu-a")});
    }
    store.Heard("a:1", std::move(news));
  };
  const auto history = [&] { return (*store.All())->nodes[0].history; };
  clock_.Advance(absl::Minutes(10));
  tell(1, {0, 1, 8, 9}, false);
  const absl::Time kept_since = history()->stretches.front().first;
  leases.RenewLookBack({}, absl::Minutes(5), clock_.Now(), clock_.Now() + absl::Hours(1));
  store.TellsAgain("a:1");
  tell(2, {10}, true);
  EXPECT_EQ(history()->NewestAt(), start + absl::Minutes(10)) << "what is new is not held up";
  tell(2, {11}, false);
  EXPECT_EQ(history()->stretches.front().first, kept_since);
  EXPECT_EQ(history()->NewestAt(), start + absl::Minutes(11));
  EXPECT_THAT(store.LackingPast(), IsEmpty()) << "there is no more to be told";
}

TEST_F(FleetStoreTest, PodsThatEndedBeforeAnAggregatorBeganAreLookedBackOn) {
  store_.Listed(Addresses{"a:1"});
  AgentNews past{.node = "gpu-a", .heard_at = clock_.Now()};
  for (const int minutes_ago : {10, 5, 0}) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now() - absl::Minutes(minutes_ago), "gpu-a");
    AddPods(snapshot);
    snapshot.gpus[0].utilization_percent = 10 + minutes_ago;
    snapshot.pods[0].namespace_name = minutes_ago == 10 ? "team-a" : "team-b";
    past.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
  }
  store_.Heard("a:1", past);
  EXPECT_THAT(Nodes(*Fleet("team-a")), ElementsAre("gpu-a")) << "else inactive at once";
}

TEST_F(FleetStoreTest, NamespaceOfAReadingThatStoodForHoursIsLookedBackOn) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a", 0, "team-a");
  for (int minute = 0; minute < 60; ++minute) {
    clock_.Advance(absl::Minutes(1));
    SaysNothingNew("a:1", "gpu-a");
  }
  clock_.Advance(absl::Seconds(1));
  Says("a:1", "gpu-a", 0, "team-b");
  EXPECT_THAT(Nodes(*Fleet("team-a")), ElementsAre("gpu-a")) << "its pod was there a second ago";
}

TEST_F(FleetStoreTest, AgentThatDoesNotKnowItsNodeYetSpeaksForNone) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a", 90);
  IsLost("a:1");
  clock_.Advance(absl::Seconds(16));
  store_.Heard("a:1", {.heard_at = clock_.Now(), .trouble = "no GPU snapshot yet"});
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a")) << "its pods are still there";
  EXPECT_EQ(Fleet()->nodes[0].silence, "connection refused");
  EXPECT_EQ(store_.Agents()[0].why, "no GPU snapshot yet");
  Says("a:1", "gpu-a", 80);
  EXPECT_EQ(Fleet()->nodes[0].silence, "");
}

TEST_F(FleetStoreTest, AddressThatIsAnotherNodesNowLeavesItsNodeSilentUntilItIsForgotten) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a", 90);
  clock_.Advance(absl::Seconds(1));
  Says("a:1", "gpu-b", 10);
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a", "gpu-b"));
  EXPECT_EQ(Fleet()->nodes[0].silence, "its agent is of node gpu-b now");
  clock_.Advance(absl::Minutes(5) - absl::Seconds(1));
  Says("a:1", "gpu-b", 20);
  store_.Tick();
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a", "gpu-b"));
  clock_.Advance(absl::Seconds(1));
  store_.Tick();
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-b"));
}

TEST_F(FleetStoreTest, NodeThatLostItsAddressIsHeardFromAnother) {
  store_.Listed(Addresses{"a:1", "b:1"});
  Says("b:1", "gpu-b");
  Says("a:1", "gpu-a");
  clock_.Advance(absl::Seconds(1));
  Says("a:1", "gpu-b");
  EXPECT_EQ(Fleet()->nodes[0].silence, "its agent is of node gpu-b now");
  Says("b:1", "gpu-a");
  ASSERT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a", "gpu-b"));
  EXPECT_EQ(Fleet()->nodes[0].silence, "");
  EXPECT_EQ(Fleet()->nodes[1].silence, "");
  clock_.Advance(absl::Minutes(6));
  store_.Tick();
  EXPECT_THAT(Nodes(*Fleet()), ElementsAre("gpu-a", "gpu-b"));
}

TEST_F(FleetStoreTest, AgentsThatAreHeardAreUnheardNoMore) {
  store_.Listed(Addresses{"a:1", "b:1", "c:1"});
  Says("b:1", "gpu-b");
  clock_.Advance(absl::Minutes(5));
  EXPECT_THAT(Fleet()->unheard, ElementsAre("a:1", "c:1"));
  Says("c:1", "gpu-c");
  Says("b:1", "gpu-b");
  EXPECT_THAT(Fleet()->unheard, ElementsAre("a:1"));
  const int64_t before = store_.ChangedSince(0).generation;
  Says("a:1", "gpu-a");
  EXPECT_THAT(Fleet()->unheard, IsEmpty());
  EXPECT_TRUE(store_.ChangedSince(before).of_all);
}

TEST_F(FleetStoreTest, WaiterHearsOfAChangeAndOfTheEnd) {
  store_.Listed(Addresses{"a:1"});
  const int64_t before = store_.WaitForGeneration(-1, absl::ZeroDuration());
  std::thread agent([&] { Says("a:1", "gpu-a"); });
  EXPECT_GT(store_.WaitForGeneration(before, absl::Minutes(1)), before);
  agent.join();
  std::thread closer([&] { store_.Close(); });
  store_.WaitForGeneration(1'000'000, absl::InfiniteDuration());
  closer.join();
}

TEST_F(FleetStoreTest, ManyAgentsAndReadersAtOnce) {
  Addresses addresses;
  for (int i = 0; i < 8; ++i) addresses.push_back(absl::StrCat("10.0.0.", i, ":1"));
  store_.Listed(addresses);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) Says(addresses[i], absl::StrCat("gpu-", i), n % 100);
      IsLost(addresses[i]);
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        static_cast<void>(store_.Of({.namespaces = {"team-a"}}));
        store_.Tick();
        store_.Agents();
        clock_.Advance(absl::Milliseconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((*store_.All())->nodes.size(), 8u);
}

TEST_F(FleetStoreTest, HeartbeatIsNoChangeUntilTheNodeWasSilentOrStale) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a");
  const auto changes = [&](absl::Duration after) {
    const int64_t before = store_.ChangedSince(0).generation;
    clock_.Advance(after);
    SaysNothingNew("a:1", "gpu-a");
    EXPECT_EQ(Fleet()->nodes[0].heard_at, clock_.Now());
    EXPECT_EQ(Fleet()->nodes[0].history->NewestAt(), clock_.Now());
    return store_.ChangedSince(0).generation != before;
  };
  EXPECT_FALSE(changes(absl::Milliseconds(1500)));
  EXPECT_FALSE(changes(absl::Milliseconds(3500)));
  EXPECT_TRUE(changes(absl::Milliseconds(4500))) << "it had fallen silent";
  EXPECT_FALSE(changes(absl::Milliseconds(1500)));
  IsLost("a:1");
  EXPECT_TRUE(changes(absl::Milliseconds(100))) << "it is back";
}

TEST_F(FleetStoreTest, HeartbeatOfAnAgentThatHadTroubleReadingIsAChange) {
  store_.Listed(Addresses{"a:1"});
  Says("a:1", "gpu-a");
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(absl::Milliseconds(1500));
    store_.Heard("a:1", {.node = "gpu-a",
                         .instance = InstanceOf("a:1"),
                         .heard_at = clock_.Now(),
                         .trouble = "NVML does not answer"});
  }
  EXPECT_FALSE(Decided().status.ok()) << "6 s old";
  const int64_t before = store_.ChangedSince(0).generation;
  SaysNothingNew("a:1", "gpu-a");
  EXPECT_GT(store_.ChangedSince(0).generation, before);
  EXPECT_TRUE(Decided().status.ok()) << Decided().status;
}

}  // namespace
}  // namespace gpuscaler
