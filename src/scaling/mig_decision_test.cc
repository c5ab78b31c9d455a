// MIG instances and their GPUs.
#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"
#include "scaling/test_decided_history.h"

namespace gpuscaler {
namespace {

TEST(MigDecision, MigInstancesCountAndTheirParentOnlyForWhatTheyLack) {
  GpuSample parent = BusyGpu(0, 0);
  parent.utilization_percent.reset();
  GpuSample instance = BusyGpu(0, 70);
  instance.uuid = "MIG-1";
  instance.parent_uuid = parent.uuid;
  instance.power_watts.reset();
  const Decision by_instance = Steady(Utilization(), {parent, instance});
  EXPECT_EQ(by_instance.value, 70);
  EXPECT_EQ(by_instance.contributions[0].name, "n/0/MIG-1");
  Trigger power;
  power.metric = MetricType::kPowerDraw;
  power.aggregation = Aggregation::kSum;
  EXPECT_EQ(Steady(power, {parent, instance}).value, 100);
}

TEST(MigDecision, SplitGpuNeverCountsBesideItsInstances) {
  GpuSample parent = BusyGpu(0, 0);
  parent.utilization_percent.reset();
  GpuSample instance = parent;
  instance.uuid = "MIG-1";
  instance.parent_uuid = parent.uuid;
  const Decision decision = Steady(Utilization(), {parent, instance, BusyGpu(1, 60)});
  EXPECT_EQ(decision.unreadable, 1) << "the instance, which has no utilization; not the parent";
  EXPECT_EQ(decision.value, 60 + 80);
}

TEST(MigDecision, MigInstancesDivideMetricsThatOnlyTheirGpuHas) {
  NodeSnapshot node = Node("gpu-1", {Llm("llm-a", 70), {.name = "x", .owner = "x", .loads = {10}}});
  GpuSample parent = FreeGpu(0);
  parent.uuid = "GPU-parent";
  for (GpuSample& instance : node.gpus.Own()) {
    instance.index = 0;
    instance.parent_uuid = parent.uuid;
    instance.power_watts.reset();
  }
  node.gpus.Own().insert(node.gpus.begin(), parent);
  EXPECT_EQ(DecidedOn(UtilizationOf("llm"), {node}).value, 70);
  Trigger watts = UtilizationOf("llm");
  watts.metric = MetricType::kPowerDraw;
  watts.aggregation = Aggregation::kSum;
  EXPECT_EQ(DecidedOn(watts, {node}).value, 50);
}

// The instance has no power readings, which only its GPU has.
NodeSnapshot NodeWithInstance(double watts_of_its_gpu) {
  NodeSnapshot node = Node("gpu-1", {{.name = "x", .owner = "x", .loads = {10}}, Llm("llm-a", 70)});
  GpuSample parent = FreeGpu(1);
  parent.uuid = "GPU-parent";
  parent.power_watts = watts_of_its_gpu;
  GpuSample& instance = node.gpus[1];
  instance.parent_uuid = parent.uuid;
  instance.power_watts.reset();
  node.gpus.Own().insert(node.gpus.begin() + 1, parent);
  return node;
}

TEST(MigDecision, GpuOfAnInstanceIsFoundThoughOthersHaveLeftItsNodeSinceHoldersWereKnown) {
  NodeSnapshot unowned = NodeWithoutOwners(NodeWithInstance(300), "no answer");
  unowned.gpus.Own().erase(unowned.gpus.begin());
  NodeSnapshot known = NodeWithInstance(100);
  known.gpus.Own().erase(known.gpus.begin());
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {NodeWithInstance(100)});
  fleet.RepeatFor(kLong, {unowned}).Tick({known});
  Trigger watts = UtilizationOf("llm");
  watts.metric = MetricType::kPowerDraw;
  watts.window = absl::Seconds(30);
  watts.window_aggregation = WindowAggregation::kMax;
  EXPECT_EQ(DecidedOn(watts, fleet).value, 300);
}

}  // namespace
}  // namespace gpuscaler
