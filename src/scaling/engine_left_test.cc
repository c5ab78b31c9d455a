// Engines that are no longer listed: their past still counts.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_engine_workload_builder.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using State = Contribution::State;

// DNS may omit an address for a moment, and does omit a pod that ends.
TEST(EngineLeft, AnUnlistedEngineKeepsItsWorkloadActiveAndAddsItsPast) {
  EngineWorkloadBuilder llm(FleetBuilder().RepeatFor(kLong, {Node("n", {})}));
  llm.EngineAt("10.1.0.7", 12);
  llm.EngineAt("10.1.0.8", 0);
  llm.Unlist("vllm at 10.1.0.7", absl::Seconds(10));
  const Trigger trigger = Named(InFlight());
  const Decision decision = llm.Decide(trigger);
  EXPECT_EQ(decision.value, 3.2) << "4 s of 15 at 12";
  EXPECT_EQ(decision.replicas, 1);
  EXPECT_TRUE(decision.active);
  EXPECT_THAT(decision.active_because, HasSubstr("vllm at 10.1.0.7 was at 12 within 1m"));
  EXPECT_THAT(StatesOf(decision), testing::ElementsAre(State::kCounted, State::kGone));
  EXPECT_LE(decision.active_until, llm.now() + absl::Seconds(50));

  Trigger short_window = trigger;
  short_window.activation_window = absl::Seconds(9);
  EXPECT_FALSE(llm.Decide(short_window).active) << "it left before";

  EngineWorkloadBuilder idle(FleetBuilder().RepeatFor(kLong, {Node("n", {})}));
  idle.EngineAt("10.1.0.7", 0);
  idle.ChangeEngineIn("10.1.0.7", absl::Seconds(20), std::nullopt);
  idle.Unlist("vllm at 10.1.0.7", absl::Seconds(10));
  EXPECT_FALSE(idle.Decide(trigger).active) << "a gap at its end is no sign of activity";
}

TEST(EngineLeft, ABusyPodWithAnUnlistedAddressKeepsItsWorkloadActive) {
  NodeSnapshot node = Node("n", {LlmPod("llm-a"), LlmPod("llm-b")});
  node.pods[0].address = "10.1.0.7";
  node.pods[1].address = "10.1.0.8";
  EngineWorkloadBuilder llm(FleetBuilder().RepeatFor(kLong, {node}));
  llm.EngineAt("10.1.0.7", 12);
  llm.EngineAt("10.1.0.8", 0);
  llm.Unlist("vllm at 10.1.0.7", absl::Seconds(10));
  const Decision decision = llm.Decide(Named(InFlight()));
  EXPECT_EQ(decision.value, 3.2) << "4 s of 15 at 12";
  EXPECT_TRUE(decision.active) << decision.active_because;
}

TEST(EngineLeft, PodsThatAreGoneWithTheirIdleEnginesLeaveTheirWorkloadInactive) {
  const auto decide = [](double observed) {
    FleetBuilder nodes;
    nodes.RepeatFor(kLong, {Node("n", {LlmPod("llm-a")})});
    nodes.RepeatFor(absl::Seconds(20), {Node("n", {})});
    EngineWorkloadBuilder llm(nodes);
    llm.EngineIn("llm-a", observed);
    llm.Unlist("vllm at llm-a", absl::Seconds(20));
    return llm.Decide(InFlight());
  };
  EXPECT_FALSE(decide(0).active) << decide(0).active_because;
  EXPECT_EQ(decide(0).contributions.size(), 1);
  EXPECT_TRUE(decide(7).active) << decide(7).active_because;
  EXPECT_EQ(decide(7).value, 0);
}

TEST(EngineLeft, GonePodsWithoutKnownAddressesAreMatchedToUnlistedEngines) {
  FleetBuilder nodes;
  nodes.RepeatFor(absl::Minutes(12), {Node("n", {LlmPod("llm-a"), LlmPod("llm-b")})});
  nodes.RepeatFor(absl::Seconds(20), {Node("n", {})});
  EngineWorkloadBuilder llm(nodes);
  llm.EngineAt("10.1.0.7", 0);
  llm.EngineAt("10.1.0.8", 0);
  llm.Unlist("vllm at 10.1.0.7", absl::Seconds(20));
  llm.Unlist("vllm at 10.1.0.8", absl::Seconds(20));
  EXPECT_FALSE(llm.Decide(Named(InFlight())).active)
      << llm.Decide(Named(InFlight())).active_because;

  llm.signals().departed.pop_back();
  EXPECT_TRUE(llm.Decide(Named(InFlight())).active) << "the load of one of them is not known";
}

}  // namespace
}  // namespace gpuscaler
