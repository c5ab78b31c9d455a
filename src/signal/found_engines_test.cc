#include "signal/found_engines.h"

#include <thread>

#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr SignalStore::Limits kFoundLimits{.max_gap = absl::Seconds(10)};
const EngineQuery kInFlight{.metric = EngineMetric::kRequestsInFlight,
                            .window = absl::Seconds(15),
                            .look_back = absl::Seconds(30)};

SignalSource FoundIn(const std::string& namespace_name) {
  return {.namespace_name = namespace_name, .target = DiscoveredEngines()};
}

EngineAddress EngineAddressOf(const std::string& namespace_name, const std::string& pod,
                              const std::string& address) {
  return {.address = address, .port = 8000, .namespace_name = namespace_name, .pod = pod};
}

const EngineAddress kLlm0 = EngineAddressOf("team-a", "llm-0", "10.0.0.1");
const EngineAddress kLlm1 = EngineAddressOf("team-a", "llm-1", "10.0.1.1");
const EngineAddress kOther = EngineAddressOf("team-b", "chat-0", "10.0.1.2");

EngineUpdate InFlight(int second, double running) {
  return {.at = Second(second),
          .engine = "vllm",
          .reading = EngineReading{{{.model = "llama", .waiting = 0, .running = running}}}};
}

class FoundEnginesTest : public testing::Test {
 protected:
  void Lease(const SignalSource& source, int from = 0, int until = 1000) {
    ASSERT_TRUE(store_.Lease(source, kInFlight, Second(from), Second(until)).ok());
  }
  void SetNodes(const std::set<std::string>& nodes, int second = 0) {
    found_.SetNodes(found_.Subscription(Second(second)), nodes, Second(second));
  }
  void SetEngines(const std::string& node, const std::vector<EngineAddress>& engines,
                  const std::vector<std::string>& namespaces = {"team-a", "team-b"}) {
    NodeEngines found;
    for (const std::string& name : namespaces) found.namespaces[name];
    for (const EngineAddress& each : engines) found.Add(each);
    found_.SetEngines(node, found, Second(0));
  }
  // As a workload on all nodes, or on one.
  SignalHistory Of(const std::string& namespace_name, int now = 1,
                   const std::string& of_node = "") {
    SignalHistory history = store_.HistoryOf(FoundIn(namespace_name), kInFlight, Second(now));
    MarkAwaited([&](const std::string& node) { return of_node.empty() || node == of_node; },
                history);
    return history;
  }
  std::vector<std::string> PodsOf(const std::string& namespace_name) {
    std::vector<std::string> pods;
    for (const SignalSeries& series : Of(namespace_name).series) pods.push_back(series.pod);
    return pods;
  }

  SignalStore store_{kFoundLimits, [] {}};
  FoundEngines found_{store_, {{"team-b", "team-a"}}};
};

TEST_F(FoundEnginesTest, NoSubscriptionWithoutATrigger) {
  EXPECT_THAT(found_.Subscription(Second(0)).namespaces, IsEmpty());
  ASSERT_TRUE(
      store_
          .Lease({.namespace_name = "team-a", .target = EngineEndpoint{.url = "http://llm"}},
                 kInFlight, Second(0), Second(90))
          .ok());
  EXPECT_THAT(found_.Subscription(Second(0)).namespaces, IsEmpty()) << "that one is named";
}

// The records are the agent's: a list without one removes it.
TEST_F(FoundEnginesTest, RecordsOfANodeAreThoseOfItsNewestList) {
  const auto record = [](const EngineAddress& engine_address) {
    auto engine =
        std::make_shared<SignalSeries>(SignalSeries{.name = "vllm at " + engine_address.address});
    engine->namespace_name = engine_address.namespace_name;
    engine->pod = engine_address.pod;
    engine->pod_with_owners = std::make_shared<const Pod>(Pod{.name = engine_address.pod});
    engine->batch = std::make_shared<const EngineBatch>(EngineBatch{.learnt_limit = 8});
    engine->demand = std::make_shared<const EngineDemand>(
        EngineDemand{.first_at = absl::InfinitePast(), .newest_at = Second(0)});
    return engine;
  };
  const auto list = [&](const std::string& node, const CapacityRecords& records) {
    NodeEngines found{.namespaces = {{"team-a", {}}, {"team-b", {}}}};
    for (const auto& each : records) found.Add(each);
    found_.SetEngines(node, found, Second(0));
  };
  const EngineQuery about_demand{.metric = EngineMetric::kPressurePercent,
                                 .look_back = absl::Minutes(5),
                                 .demand_window = absl::Minutes(15)};
  ASSERT_TRUE(store_.Lease(FoundIn("team-a"), about_demand, Second(0), Second(1000)).ok());
  const auto pods = [&] {
    std::vector<std::string> pods;
    const SignalHistory history = store_.HistoryOf(FoundIn("team-a"), about_demand, Second(1));
    for (const auto& each : history.capacity_records) pods.push_back(each->pod);
    return pods;
  };
  SetNodes({"n-1", "n-2"});
  list("n-1", {record(kLlm0), record(kOther)});
  list("n-2", {record(kLlm1)});
  EXPECT_THAT(pods(), UnorderedElementsAre("llm-0", "llm-1")) << "of the namespace alone";
  list("n-1", {});
  SetNodes({"n-1", "n-2"});
  EXPECT_THAT(pods(), ElementsAre("llm-1"));
}

TEST_F(FoundEnginesTest, OtherNamespacesAreNotStored) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-7"});
  SetEngines("gpu-7", {kLlm0, kOther});
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-0"));
  Lease(FoundIn("team-b"));
  SetNodes({"gpu-7"}, 1);
  EXPECT_FALSE(Of("team-b", 2).status.ok()) << "it has to be sent anew";
  SetEngines("gpu-7", {kLlm0, kOther});
  EXPECT_THAT(PodsOf("team-b"), UnorderedElementsAre("chat-0", "llm-0"));
}

TEST_F(FoundEnginesTest, SubscribesToTheNamespacesThatTriggersMaySee) {
  Lease(FoundIn("team-a"), 0, 100);
  const EngineQuery latency{.metric = EngineMetric::kTimeToFirstTokenMs,
                            .look_back = absl::Seconds(60)};
  ASSERT_TRUE(store_.Lease(FoundIn("team-b"), latency, Second(0), Second(90)).ok());
  const EngineSubscription::Interest interest{.histograms = true, .look_back = absl::Seconds(60)};
  EXPECT_THAT(
      found_.Subscription(Second(0)).namespaces,
      UnorderedElementsAre(testing::Pair("team-a", interest), testing::Pair("team-b", interest)))
      << "team-b sees the pods of team-a";
  const EngineSubscription::Interest shorter{.look_back = absl::Seconds(45)};
  EXPECT_THAT(found_.Subscription(Second(90)).namespaces,
              ElementsAre(testing::Pair("team-a", shorter)))
      << "the other lease has ended";
}

TEST_F(FoundEnginesTest, ASourceHasTheEnginesOfItsNamespacesOnAllNodes) {
  Lease(FoundIn("team-a"));
  Lease(FoundIn("team-b"));
  SetNodes({"gpu-1", "gpu-2"});
  SetEngines("gpu-1", {kLlm0});
  SetEngines("gpu-2", {kLlm1, kOther});
  EXPECT_TRUE(Of("team-a").status.ok()) << Of("team-a").status;
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-0", "llm-1"));
  EXPECT_THAT(PodsOf("team-b"), ElementsAre("llm-0", "llm-1", "chat-0"))
      << "it was opened for them";
}

TEST_F(FoundEnginesTest, ReadingsGoToAllSourcesOfTheEngine) {
  Lease(FoundIn("team-a"));
  Lease(FoundIn("team-b"));
  SetNodes({"gpu-1"});
  SetEngines("gpu-1", {kLlm0, kOther});
  found_.AddReading("gpu-1", kLlm0, InFlight(1, 5));
  found_.AddReading("gpu-1", kOther, InFlight(1, 7));
  ASSERT_EQ(Of("team-a").series.size(), 1u);
  EXPECT_THAT(Of("team-a").series.front().points, ElementsAre(SignalPoint{Second(1), 5}));
  EXPECT_EQ(Of("team-b").series.size(), 2u);
}

TEST_F(FoundEnginesTest, ReadingsOfAnotherNodesEnginesAreIgnored) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1", "gpu-2"});
  SetEngines("gpu-1", {kLlm0});
  SetEngines("gpu-2", {kLlm1});
  found_.AddReading("gpu-2", kLlm0, InFlight(1, 1000));
  found_.AddReading("gpu-3", kLlm0, InFlight(1, 1000));
  EXPECT_THAT(Of("team-a").series.front().points, IsEmpty());
}

TEST_F(FoundEnginesTest, UnavailableUntilEachNodeHasReported) {
  Lease(FoundIn("team-a"));
  EXPECT_EQ(Of("team-a").status.code(), absl::StatusCode::kUnavailable);
  SetNodes({"gpu-1", "gpu-2"});
  SetEngines("gpu-1", {kLlm0});
  EXPECT_EQ(Of("team-a").status.code(), absl::StatusCode::kUnavailable);
  SetEngines("gpu-2", {kOther}, {"team-b"});
  EXPECT_EQ(Of("team-a").status.code(), absl::StatusCode::kUnavailable)
      << "gpu-2 has not looked in team-a";
  SetEngines("gpu-2", {});
  EXPECT_TRUE(Of("team-a").status.ok());
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-0"));
}

TEST_F(FoundEnginesTest, UnavailableWhileANodeSendsItsPast) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1"});
  NodeEngines found = {.namespaces = {{"team-a", {.engines = {kLlm0}}}},
                       .past_readings_pending = true};
  found_.SetEngines("gpu-1", found, Second(0));
  found_.AddReading("gpu-1", kLlm0, InFlight(0, 3));
  EXPECT_TRUE(Of("team-a").is_awaited);
  found.past_readings_pending = false;
  found_.SetEngines("gpu-1", found, Second(0));
  EXPECT_TRUE(Of("team-a").status.ok());
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-0"));
}

TEST_F(FoundEnginesTest, AMissingReportDoesNotDelayWorkloadsOnOtherNodes) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1", "gpu-2", "gpu-3"});
  EXPECT_TRUE(Of("team-a", 1, "gpu-1").is_awaited);
  SetEngines("gpu-1", {kLlm0});
  EXPECT_TRUE(Of("team-a", 1, "gpu-1").status.ok());
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-0"));
  EXPECT_TRUE(Of("team-a", 1, "gpu-2").is_awaited);
  EXPECT_EQ(Of("team-a", 1, "gpu-2").status.code(), absl::StatusCode::kUnavailable);
  SetEngines("gpu-2", {});
  SetNodes({"gpu-1", "gpu-2", "gpu-3"}, 1);
  EXPECT_TRUE(Of("team-a", 1, "gpu-2").status.ok()) << "that it has none is known, too";
  EXPECT_EQ(Of("team-a", 1, "gpu-3").status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(FoundEnginesTest, EnginesOfALateNodeCountFromTheStart) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1", "gpu-2"});
  SetEngines("gpu-1", {kLlm0});
  SetEngines("gpu-2", {kLlm1});
  for (const SignalSeries& series : Of("team-a").series) {
    EXPECT_EQ(series.listed_since, absl::InfinitePast()) << series.pod;
  }
  SetEngines("gpu-2", {kLlm1, EngineAddressOf("team-a", "llm-2", "10.0.1.3")});
  EXPECT_EQ(Of("team-a").series.back().listed_since, Second(0)) << "it is new";
}

TEST_F(FoundEnginesTest, AMissingReportIsAwaitedForThreeSeconds) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1", "gpu-2"});
  SetEngines("gpu-1", {kLlm0});
  SetNodes({"gpu-1", "gpu-2"}, 2);
  EXPECT_FALSE(Of("team-a").status.ok());
  SetNodes({"gpu-1", "gpu-2"}, 3);
  EXPECT_TRUE(Of("team-a").status.ok());
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-0"));
  EXPECT_THAT(*Of("team-a").missing_engines,
              ElementsAre(MissingEngine{.node = "gpu-2", .why = "no agent has looked there yet"}));
}

TEST_F(FoundEnginesTest, ANodeThatJoinsLaterIsNotAwaited) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1"});
  SetEngines("gpu-1", {kLlm0});
  SetNodes({"gpu-1", "gpu-2"}, 1);
  EXPECT_TRUE(Of("team-a").status.ok());
  SetEngines("gpu-2", {kLlm1});
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-0", "llm-1"));
}

TEST_F(FoundEnginesTest, AnErrorOfOneNodeIsNotTheSources) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1", "gpu-2"});
  SetEngines("gpu-1", {kLlm0});
  found_.SetEngines("gpu-2", absl::UnimplementedError("its agent is too old"), Second(0));
  EXPECT_TRUE(Of("team-a").status.ok());
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-0"));
  EXPECT_THAT(*Of("team-a").missing_engines,
              ElementsAre(MissingEngine{.node = "gpu-2", .why = "its agent is too old"}));
}

TEST_F(FoundEnginesTest, EnginesStayWhileTheirNodeReportsAnError) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1"});
  SetEngines("gpu-1", {kLlm0});
  found_.AddReading("gpu-1", kLlm0, InFlight(1, 5));
  found_.SetEngines("gpu-1", absl::UnavailableError("/proc cannot be read"), Second(1));
  found_.AddReading("gpu-1", kLlm0, InFlight(2, 6));
  ASSERT_THAT(PodsOf("team-a"), ElementsAre("llm-0"));
  EXPECT_EQ(Of("team-a", 2).series.front().points.size(), 2u);
}

TEST_F(FoundEnginesTest, EnginesOfANamespaceStayUntilItIsSearchedAgain) {
  Lease(FoundIn("team-a"));
  Lease(FoundIn("team-b"));
  SetNodes({"gpu-1"});
  SetEngines("gpu-1", {kLlm0, kOther});
  found_.AddReading("gpu-1", kLlm0, InFlight(1, 5));
  SetEngines("gpu-1", {}, {"team-b"});
  found_.AddReading("gpu-1", kLlm0, InFlight(2, 6));
  ASSERT_THAT(PodsOf("team-a"), ElementsAre("llm-0"));
  EXPECT_EQ(Of("team-a", 2).series.front().points.size(), 2u);
  SetEngines("gpu-1", {kLlm1}, {"team-a"});
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-1"));
}

TEST_F(FoundEnginesTest, ANamespaceMustBeReportedAgainAfterALapsedSubscription) {
  Lease(FoundIn("team-a"), 0, 10);
  SetNodes({"gpu-1"});
  SetEngines("gpu-1", {kLlm0});
  SetNodes({"gpu-1"}, 10);
  Lease(FoundIn("team-a"), 11);
  SetNodes({"gpu-1"}, 11);
  EXPECT_FALSE(Of("team-a", 11).status.ok()) << "it may be gone by now";
  SetEngines("gpu-1", {});
  EXPECT_TRUE(Of("team-a", 11).status.ok());
}

TEST_F(FoundEnginesTest, AnEmptyListIsNoError) {
  Lease(FoundIn("team-a"));
  EXPECT_TRUE(Of("team-a").is_awaited);
  SetNodes({"gpu-1"});
  EXPECT_TRUE(Of("team-a").is_awaited);
  SetEngines("gpu-1", {});
  EXPECT_FALSE(Of("team-a").is_awaited);
}

TEST_F(FoundEnginesTest, PodsWithoutEngineAreListedWithTheReason) {
  Lease(FoundIn("team-a"));
  const MissingEngine in_a{.node = "gpu-1",
                           .namespace_name = "team-a",
                           .pod = "llm-0",
                           .why = "no process listens in it"};
  const MissingEngine in_b{.node = "gpu-1",
                           .namespace_name = "team-b",
                           .pod = "chat-0",
                           .why = "no process listens in it"};
  SetNodes({"gpu-1"});
  found_.SetEngines("gpu-1",
                    NodeEngines{.namespaces = {{"team-a", {.missing_engines = {in_a}}},
                                               {"team-b", {.missing_engines = {in_b}}}}},
                    Second(0));
  EXPECT_THAT(*Of("team-a").missing_engines, ElementsAre(in_a));
}

TEST_F(FoundEnginesTest, EnginesOfANodeThatIsNotListedAreRemoved) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1", "gpu-2"});
  SetEngines("gpu-1", {kLlm0});
  SetEngines("gpu-2", {kLlm1});
  SetNodes({"gpu-2"}, 1);
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-1"));
  SetEngines("gpu-1", {kLlm0});
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-1")) << "its stream may have a word left";
}

TEST_F(FoundEnginesTest, ReasonsAreUpdatedByTheNextExpect) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1", "gpu-2"});
  SetEngines("gpu-1", {kLlm0});
  SetEngines("gpu-2", {});
  const int64_t before = Of("team-a").generation;
  found_.SetEngines("gpu-2", absl::UnavailableError("its agent does not look for engines"),
                    Second(1));
  EXPECT_EQ(Of("team-a").generation, before)
      << "each agent of a fleet reports it, one after another";
  SetNodes({"gpu-1", "gpu-2"}, 2);
  EXPECT_THAT(
      *Of("team-a", 2).missing_engines,
      ElementsAre(MissingEngine{.node = "gpu-2", .why = "its agent does not look for engines"}));
}

TEST_F(FoundEnginesTest, NoEnginesWithoutNodes) {
  Lease(FoundIn("team-a"));
  SetNodes({});
  EXPECT_TRUE(Of("team-a").status.ok());
  EXPECT_THAT(Of("team-a").series, IsEmpty());
}

TEST_F(FoundEnginesTest, ALaterSourceGetsTheKnownEngines) {
  Lease(FoundIn("team-b"));
  SetNodes({"gpu-1"});
  SetEngines("gpu-1", {kLlm0, kOther});
  SignalSource with_token = FoundIn("team-b");
  with_token.credentials.bearer_token = "hunter2";
  Lease(with_token, 1);
  SetNodes({"gpu-1"}, 1);
  EXPECT_EQ(store_.HistoryOf(with_token, kInFlight, Second(1)).series.size(), 2u);
}

TEST_F(FoundEnginesTest, AnExpiredSourceGetsTheKnownEnginesAgain) {
  Lease(FoundIn("team-a"), 0, 10);
  SetNodes({"gpu-1"});
  SetEngines("gpu-1", {kLlm0});
  Lease(FoundIn("team-b"), 10);  // removes expired leases
  Lease(FoundIn("team-a"), 11);
  EXPECT_FALSE(Of("team-a", 11).status.ok());
  SetNodes({"gpu-1"}, 11);
  EXPECT_TRUE(Of("team-a", 11).status.ok());
  EXPECT_EQ(Of("team-a", 11).series.size(), 1u);
}

TEST_F(FoundEnginesTest, ASourceAddedWhileNodesAreChosenWaits) {
  const EngineSubscription before = found_.Subscription(Second(0));
  Lease(FoundIn("team-a"));
  found_.SetNodes(before, {}, Second(0));
  EXPECT_EQ(Of("team-a").status.code(), absl::StatusCode::kUnavailable)
      << "the nodes of its pods are not among these";
}

TEST_F(FoundEnginesTest, IsThreadSafe) {
  Lease(FoundIn("team-a"));
  SetNodes({"gpu-1", "gpu-2"});
  const auto tell = [this](const std::string& node, const EngineAddress& engine_address) {
    for (int i = 1; i <= 500; ++i) {
      SetEngines(node, {engine_address});
      found_.AddReading(node, engine_address, InFlight(i, i));
    }
  };
  std::thread first(tell, "gpu-1", kLlm0);
  std::thread second(tell, "gpu-2", kLlm1);
  for (int i = 0; i < 500; ++i) SetNodes({"gpu-1", "gpu-2"}, 1);
  first.join();
  second.join();
  EXPECT_THAT(PodsOf("team-a"), ElementsAre("llm-0", "llm-1"));
}

}  // namespace
}  // namespace gpuscaler
