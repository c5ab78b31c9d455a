#include "web/workload_rows.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "web/test_web_sources.h"

namespace gpuscaler {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class WorkloadRowsTest : public testing::Test {
 protected:
  json Row(size_t index = 0) {
    const auto rows = ReadRows(workloads_.Source());
    EXPECT_GT(rows.size(), index);
    json row = json::parse(rows.at(index).Json(), nullptr, false);
    EXPECT_TRUE(row.is_object()) << rows.at(index).Json();
    return row;
  }

  TestWorkloads workloads_;
};

TEST_F(WorkloadRowsTest, RowHasTheAnswerOfTheTrigger) {
  auto& llm = workloads_.Add("shop", "llm", {{"targetValue", "60"}});
  llm.decision.value = 130.5;
  llm.decision.active = true;
  llm.decision.active_because = "pod llm-0 is busy";
  llm.decision.replicas = 2;
  llm.decision.starting = 1;
  EXPECT_EQ(Row(), json({{"namespace", "shop"},
                         {"name", "llm"},
                         {"trigger", "keda_gpu_metric"},
                         {"metric", "gpu_utilization"},
                         {"profile", ""},
                         {"code", 0},
                         {"message", ""},
                         {"value", 130.5},
                         {"target", 60},
                         {"target_type", "AverageValue"},
                         {"replicas", 2},
                         {"starting", 1},
                         {"unreadable", 0},
                         {"terminating", 0},
                         {"active", true},
                         {"active_because", "pod llm-0 is busy"},
                         {"desired", 3},
                         {"trouble", ""},
                         {"requested_at", 1'767'225'590}}));
}

TEST_F(WorkloadRowsTest, DesiredIsExactInThousandths) {
  auto& llm = workloads_.Add("shop", "llm", {{"targetValue", "0.8"}});
  llm.decision.value = 2.4;
  EXPECT_EQ(Row()["desired"], 3);
}

TEST_F(WorkloadRowsTest, ValueTargetHasNoDesiredReplicas) {
  auto& llm = workloads_.Add("shop", "llm", {{"targetType", "Value"}});
  llm.decision.value = 90;
  EXPECT_EQ(Row()["desired"], nullptr);
  EXPECT_EQ(Row()["target_type"], "Value");
}

TEST_F(WorkloadRowsTest, ReplicasAreNullIfTheMetricBelongsToNone) {
  auto& work = workloads_.Add("shop", "work");
  work.decision.value = 160;
  work.decision.by_queue = true;
  const json row = Row();
  for (const char* count : {"replicas", "starting", "unreadable", "terminating"}) {
    EXPECT_EQ(row[count], nullptr) << count;
  }
  EXPECT_EQ(row["desired"], 2) << "160 at 80 each";
}

TEST_F(WorkloadRowsTest, UnknownValueIsNullWithItsReason) {
  workloads_.Add("shop", "llm").status = absl::UnavailableError("no GPU snapshot yet");
  const json row = Row();
  EXPECT_EQ(row["value"], nullptr);
  EXPECT_EQ(row["desired"], nullptr);
  EXPECT_EQ(row["code"], 14);
  EXPECT_EQ(row["message"], "no GPU snapshot yet");
  EXPECT_EQ(row["trouble"], "no GPU snapshot yet");
}

TEST_F(WorkloadRowsTest, BadMetadataIsARowToo) {
  auto& llm = workloads_.Add("shop", "llm", {{"aggregation", "p90"}});
  llm.status = llm.live.parsed->trigger.status();
  const json row = Row();
  EXPECT_EQ(row["metric"], "");
  EXPECT_EQ(row["code"], 3);
  EXPECT_THAT(row["trouble"].get<std::string>(), HasSubstr("p90"));
}

TEST_F(WorkloadRowsTest, UnreadableReplicaIsTroubleAndAHoldIsNot) {
  auto& held = workloads_.Add("shop", "held");
  held.decision.held_because = "a replica starts";
  held.decision.replicas = 1;
  EXPECT_EQ(Row()["trouble"], "");
  auto& partial = workloads_.Add("shop", "partial");
  partial.decision.replicas = partial.decision.unreadable = 1;
  partial.decision.contributions = {
      {.name = "partial-0", .state = Contribution::State::kUnreadable, .because = "GPU\nis lost"}};
  EXPECT_EQ(Row()["name"], "partial") << "trouble comes first";
  EXPECT_EQ(Row()["trouble"], "partial-0 GPU?is lost") << "one line";
}

TEST_F(WorkloadRowsTest, RowsAreSortedByTroubleThenName) {
  workloads_.Add("b", "x");
  workloads_.Add("a", "z");
  workloads_.Add("a", "y");
  workloads_.Add("c", "w").status = absl::UnavailableError("no");
  std::string names;
  for (const WorkloadRow& row : ReadRows(workloads_.Source())) names += row.key.scaled_object;
  EXPECT_EQ(names, "wyzx");
}

TEST(Spark, HasTheNewest60ValuesAndGaps) {
  const absl::Time start = absl::FromUnixSeconds(1'767'225'600);
  TriggerHistory history({}, start);
  const TriggerKey key = {"shop", "llm", "keda_gpu_metric"};
  for (const int step : {0, 1, 3}) {
    HistoryPoint point{.at = start + step * kHistoryStep, .code = absl::StatusCode::kOk};
    point.value = step + 0.5;
    history.Record(key, point);
  }
  // The step of `now` is not recorded yet.
  const json spark = json::parse(SparkJson(history, key, start + 4 * kHistoryStep));
  ASSERT_EQ(spark.size(), 60u);
  EXPECT_EQ(spark[55], nullptr);
  EXPECT_EQ(json({spark[56], spark[57], spark[58], spark[59]}), json({0.5, 1.5, nullptr, 3.5}));
  EXPECT_EQ(json::parse(SparkJson(history, {"shop", "other", ""}, start)),
            json(std::vector<json>(60, nullptr)));
}

}  // namespace
}  // namespace gpuscaler
