#include "fleet/fleet_watch.h"

#include "fleet/test_agent.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

// Real agents, streams and time; the test sets the answers of the resolver.
class FleetWatchTest : public testing::Test {
 protected:
  PeerAddresses::Resolver Resolver() {
    return [this](const std::string&, int) -> PeerAddresses::Answer {
      MutexLock lock(mutex_);
      return listed_;
    };
  }
  void List(PeerAddresses::Answer addresses) {
    MutexLock lock(mutex_);
    listed_ = std::move(addresses);
  }
  FleetWatchOptions Options() {
    return {.agents = {.host = "agents", .port = 6001},
            .stream = {.history = absl::Minutes(2)},
            .resolve_interval = absl::Milliseconds(20),
            .resolver = Resolver()};
  }

  // Blocks until `is_wanted` holds. Empty after 10 s.
  std::optional<FleetHistory> WaitForFleet(
      const std::function<bool(const FleetHistory&)>& is_wanted) {
    const absl::Time deadline = clock_.Now() + absl::Seconds(10);
    int64_t generation = -1;
    while (clock_.Now() < deadline) {
      const auto fleet = store_.AllNodes();
      if (fleet.ok() && is_wanted(**fleet)) return **fleet;
      generation = store_.WaitForGeneration(generation, absl::Milliseconds(50));
    }
    return std::nullopt;
  }
  static double Utilization(const NodeState& state) {
    return state.history->Newest().gpus[0].utilization_percent.value_or(-1);
  }

  const SteadyClock clock_;
  Mutex mutex_;
  PeerAddresses::Answer listed_ ABSL_GUARDED_BY(mutex_) = std::vector<std::string>();
  EventLoop loop_;
  FleetStore store_{clock_,
                    {.limits = {.horizon = absl::Minutes(2), .join_within = absl::Seconds(5)}}};
};

TEST_F(FleetWatchTest, EveryListedAgentReportsItsPast) {
  TestAgent a(0, "gpu-a"), b(0, "gpu-b");
  for (int i = 1; i <= 3; ++i) a.Read(i);
  b.Read(50);
  List(std::vector<std::string>{a.address(), b.address()});
  const FleetWatch watch(Options(), clock_, loop_, store_);
  const auto fleet =
      WaitForFleet([](const FleetHistory& fleet) { return fleet.nodes.size() == 2; });
  ASSERT_TRUE(fleet);
  EXPECT_EQ(fleet->nodes[0].node, "gpu-a");
  EXPECT_EQ(Utilization(fleet->nodes[0]), 3);
  EXPECT_EQ(Utilization(fleet->nodes[1]), 50);
  const auto counts = watch.CountsOfAgents();
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_GE(counts.at(a.address()).messages, 1);
  EXPECT_GT(counts.at(b.address()).bytes, 0);
}

TEST_F(FleetWatchTest, ChangeOfAGpuIsAChangeOfTheFleet) {
  TestAgent agent(0, "gpu-a");
  agent.Read(1);
  List(std::vector<std::string>{agent.address()});
  const FleetWatch watch(Options(), clock_, loop_, store_);
  ASSERT_TRUE(WaitForFleet([](const FleetHistory& fleet) { return fleet.nodes.size() == 1; }));
  agent.Read(99);
  EXPECT_TRUE(
      WaitForFleet([](const FleetHistory& fleet) { return Utilization(fleet.nodes[0]) == 99; }));
}

TEST_F(FleetWatchTest, NodeThatJoinsIsFoundByDns) {
  TestAgent a(0, "gpu-a"), b(0, "gpu-b");
  a.Read(1);
  b.Read(2);
  List(std::vector<std::string>{a.address()});
  const FleetWatch watch(Options(), clock_, loop_, store_);
  ASSERT_TRUE(WaitForFleet([](const FleetHistory& fleet) { return fleet.nodes.size() == 1; }));
  List(std::vector<std::string>{a.address(), b.address()});
  EXPECT_TRUE(WaitForFleet([](const FleetHistory& fleet) { return fleet.nodes.size() == 2; }));
}

TEST_F(FleetWatchTest, KilledAgentIsLostWithItsReason) {
  auto agent = std::make_unique<TestAgent>(0, "gpu-a");
  agent->Read(1);
  List(std::vector<std::string>{agent->address()});
  const FleetWatch watch(Options(), clock_, loop_, store_);
  ASSERT_TRUE(WaitForFleet([](const FleetHistory& fleet) { return fleet.nodes.size() == 1; }));
  agent = nullptr;
  const auto fleet = WaitForFleet(
      [](const FleetHistory& fleet) { return !fleet.nodes[0].why_disconnected.empty(); });
  ASSERT_TRUE(fleet);
  EXPECT_EQ(Utilization(fleet->nodes[0]), 1) << "its last reading still counts";
}

TEST_F(FleetWatchTest, RestartedAgentReconnectsWithinSeconds) {
  auto agent = std::make_unique<TestAgent>(0, "gpu-a");
  const int port = agent->port();
  agent->Read(1);
  List(std::vector<std::string>{agent->address()});
  const FleetWatch watch(Options(), clock_, loop_, store_);
  ASSERT_TRUE(WaitForFleet([](const FleetHistory& fleet) { return fleet.nodes.size() == 1; }));
  agent = nullptr;
  ASSERT_TRUE(WaitForFleet(
      [](const FleetHistory& fleet) { return !fleet.nodes[0].why_disconnected.empty(); }));
  agent = std::make_unique<TestAgent>(port, "gpu-a");
  agent->Read(77);
  EXPECT_TRUE(WaitForFleet([](const FleetHistory& fleet) {
    return fleet.nodes[0].why_disconnected.empty() && Utilization(fleet.nodes[0]) == 77;
  }));
}

TEST_F(FleetWatchTest, RestartedAgentGetsTheOwnersTimesOfItsPods) {
  auto agent = std::make_unique<TestAgent>(0, "gpu-a");
  const int port = agent->port();
  agent->ReadPods();
  List(std::vector<std::string>{agent->address()});
  const FleetWatch watch(Options(), clock_, loop_, store_);
  ASSERT_TRUE(WaitForFleet([](const FleetHistory& seen) { return seen.nodes.size() == 1; }));
  EXPECT_THAT(agent->former_pods(), testing::IsEmpty());
  agent = nullptr;
  agent = std::make_unique<TestAgent>(port, "gpu-a");
  agent->ReadPods();
  const absl::Time deadline = clock_.Now() + absl::Seconds(10);
  while (agent->former_pods().empty() && clock_.Now() < deadline) {
    store_.WaitForGeneration(1 << 30, absl::Milliseconds(10));
  }
  const std::vector<Pod> former = agent->former_pods();
  ASSERT_EQ(former.size(), 2u);
  EXPECT_EQ(former[0].namespace_name, "team-a");
  EXPECT_THAT(former[0].owners, testing::ElementsAre(PodOwner{"Deployment", "llama"}));
  const absl::Time since = absl::FromUnixSeconds(1'767'000'000);
  EXPECT_LT(absl::AbsDuration(*former[0].owner_listed_since - since), absl::Seconds(20));
}

TEST_F(FleetWatchTest, CostlyReadingsSubscriptionReachesEveryAgent) {
  TestAgent a(0, "gpu-a"), b(0, "gpu-b");
  a.Read(1);
  b.Read(1);
  List(std::vector<std::string>{a.address(), b.address()});
  FleetWatch watch(Options(), clock_, loop_, store_);
  watch.Subscribe({.pcie = true}, absl::Seconds(90));
  const absl::Time deadline = clock_.Now() + absl::Seconds(10);
  const auto both = [&] {
    return a.leases().Subscription(a.clock().Now()).pcie &&
           b.leases().Subscription(b.clock().Now()).pcie;
  };
  while (!both() && clock_.Now() < deadline)
    store_.WaitForGeneration(1 << 30, absl::Milliseconds(10));
  EXPECT_TRUE(both());
}

TEST_F(FleetWatchTest, TwoAggregatorsSeeTheSame) {
  TestAgent a(0, "gpu-a"), b(0, "gpu-b");
  for (int i = 1; i <= 20; ++i) {
    a.Read(i);
    b.Read(100 - i);
  }
  List(std::vector<std::string>{a.address(), b.address()});
  const FleetWatch watch(Options(), clock_, loop_, store_);
  FleetStore other(clock_,
                   {.limits = {.horizon = absl::Minutes(2), .join_within = absl::Seconds(5)}});
  const FleetWatch other_watch(Options(), clock_, loop_, other);
  const auto both = WaitForFleet([&](const FleetHistory& fleet) {
    return fleet.nodes.size() == 2 && other.AllNodes().ok() &&
           (*other.AllNodes())->nodes.size() == 2;
  });
  ASSERT_TRUE(both);
  const auto theirs = *other.AllNodes();
  for (size_t node = 0; node < 2; ++node) {
    const auto& ours = both->nodes[node].history->runs;
    const auto& others = theirs->nodes[node].history->runs;
    ASSERT_EQ(ours.size(), others.size());
    for (size_t i = 0; i < ours.size(); ++i) {
      ASSERT_EQ(ours[i].block->gpus(), others[i].block->gpus());
      for (size_t gpu = 0; gpu < ours[i].block->gpus(); ++gpu) {
        EXPECT_TRUE(ours[i].point(gpu) == others[i].point(gpu)) << gpu << " of " << i;
      }
    }
  }
}

TEST_F(FleetWatchTest, StopsWithoutWaiting) {
  FleetWatch watch(Options(), clock_, loop_, store_);
  EXPECT_THAT(StopAll(watch.Threads(), absl::Seconds(10)), testing::IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
