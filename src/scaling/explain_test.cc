#include <algorithm>
#include <string>

#include "base/test_hostile_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_decided_fleet.h"
#include "scaling/test_decided_history.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

TEST(Explain, ListsValueActivityAndEveryReplicaWithItsReason) {
  HistoryBuilder builder;
  builder.RepeatFor(kLong, {LostGpu(0), BusyGpu(1, 60), FreeGpu(2)});
  const std::string text = Explain(Utilization(), After(Utilization(), builder));
  EXPECT_THAT(text, HasSubstr("value: 140 % of gpu_utilization, target 80 (AverageValue)"));
  EXPECT_THAT(text, HasSubstr("active: yes, n/1 was at 60 within 1m"));
  EXPECT_THAT(text, HasSubstr("replicas: 2 (GPUs in use; 1 unreadable)"));
  EXPECT_THAT(text, HasSubstr("GPU_IS_LOST"));
  EXPECT_THAT(text, HasSubstr("not in use: no replica"));
}

TEST(Explain, AReplicaThatWasFirstSeenNowHasNoAge) {
  GpuSample without = BusyGpu(1, 0);
  without.utilization_percent.reset();
  HistoryBuilder builder;
  builder.Tick({BusyGpu(0, 60), without});
  EXPECT_THAT(Explain(Utilization(), After(Utilization(), builder)), HasSubstr(" unreadable: "));
  builder.RepeatFor(absl::Seconds(20), {BusyGpu(0, 60), without});
  EXPECT_THAT(Explain(Utilization(), After(Utilization(), builder)),
              HasSubstr("unreadable for at least 20s: "));
}

TEST(Explain, ListsNodesAgesPodsAndMissingParts) {
  const NodeSnapshot first = Node("gpu-1", {Llm("llm-a", 60)});
  FleetBuilder fleet;
  fleet.RepeatFor(kLong, {first, Node("gpu-7", {Llm("llm-b", 40)})});
  fleet.Disconnect("gpu-7", "connection refused").RepeatFor(absl::Seconds(42), {first});
  const std::string text = Explain(UtilizationOf("llm"), DecidedOn(UtilizationOf("llm"), fleet));
  EXPECT_THAT(text, HasSubstr("replicas: 2 (pods of Deployment/llm; 1 unreadable)"));
  EXPECT_THAT(text, HasSubstr("nodes: gpu-1 (1 replica, read now), gpu-7 (1 replica, read 42s"));
  EXPECT_THAT(text,
              HasSubstr("on gpu-7  agent of node gpu-7 disconnected for 42s: connection refused"));
  EXPECT_THAT(text, HasSubstr("note: partial: agent of node gpu-7"));
}

TEST(Explain, NamesTheEvidenceForSharesOfGpus) {
  NodeSnapshot node = Node("gpu-1", {Llm("llm-a", 60), {.name = "x", .owner = "x", .loads = {60}}});
  const auto text = [](const NodeSnapshot& shared) {
    FleetBuilder fleet;
    fleet.RepeatFor(kLong, {shared});
    return Explain(UtilizationOf("llm"), DecidedOn(UtilizationOf("llm"), fleet));
  };
  EXPECT_THAT(text(node), testing::Not(HasSubstr("shared GPUs")));
  node.gpus[0].holders.push_back({.pod = 1, .container = "main"});
  const std::pair<SharedBy, const char*> rows[] = {
      {SharedBy::kEqually, "note: pods divide the load of shared GPUs equally: gpu-1/0"},
      {SharedBy::kParts, "by the parts that they requested (gpu-fraction, gpu-memory): gpu-1/0"},
      {SharedBy::kProcesses, "by their processes: gpu-1/0"},
  };
  for (const auto& [shared_by, want] : rows) {
    node.gpus[0].shared_by = shared_by;
    EXPECT_THAT(text(node), HasSubstr(want));
  }
  node.gpus[0].holders[1].is_possible = true;
  EXPECT_THAT(text(node), testing::Not(HasSubstr("shared GPUs"))) << "it may be no holder";
}

TEST(Explain, AProfileThatCountsLoadInsteadOfMemoryNamesNoMemory) {
  Trigger trigger;
  trigger.profile = "llama-70b";
  trigger.metric = MetricType::kMemoryUsedPercent;
  Decision decision;
  decision.value = 97;
  EXPECT_THAT(Explain(trigger, decision), HasSubstr("value: 97 % of memory_used_percent, "));
  trigger.preallocated_memory = PreallocatedMemory::kPressure;
  EXPECT_THAT(Explain(trigger, decision), HasSubstr("value: 97 % by profile llama-70b, target 80"));
}

TEST(Explain, AMetricWithoutAUnitLeavesNoBlankForIt) {
  Trigger trigger;
  trigger.metric = MetricType::kPrometheus;
  Decision decision;
  decision.value = 5;
  decision.contributions = {{.name = "gateway", .load = 5}};
  const std::string text = Explain(trigger, decision);
  EXPECT_THAT(text, HasSubstr("value: 5 of prometheus, target "));
  EXPECT_THAT(text, testing::EndsWith(" 5\n"));
}

TEST(Explain, EscapesHostileNames) {
  const std::string hostile = "::error::" + std::string(kHostileName);
  const std::string escaped = "::error::" + std::string(kEscapedName);
  Decision decision;
  decision.active_because = hostile;
  decision.replicas_from = "pods of Deployment/" + hostile;
  decision.nodes = {{.name = hostile, .why = hostile}};
  decision.contributions = {{.name = hostile, .because = hostile}};
  decision.notes = {hostile};
  const std::string text = Explain(Utilization(), decision);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
  EXPECT_EQ(text.find_first_of("\r\x1b\xe2"), std::string::npos) << text;
  EXPECT_THAT(text, HasSubstr("active: no, " + escaped + "\n"));
  EXPECT_THAT(text,
              HasSubstr("replicas: 0 (pods of Deployment/" + escaped + ")\nnodes: " + escaped));
  EXPECT_THAT(text, HasSubstr("\n  \\x3a" + escaped.substr(1)));
  EXPECT_THAT(text, HasSubstr("note: " + escaped + "\n"));
}

}  // namespace
}  // namespace gpuscaler
