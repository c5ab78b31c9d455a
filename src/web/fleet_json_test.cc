#include "web/fleet_json.h"

#include <optional>
#include <string>
#include <utility>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/free_gpus.h"
#include "nlohmann/json.hpp"
#include "web/gzip.h"
#include "web/test_web_sources.h"

namespace gpuscaler {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr StalenessLimits kStaleness = {.stale_after = absl::Seconds(6),
                                        .grace = absl::Seconds(15)};

class FleetJsonTest : public testing::Test {
 protected:
  FleetJsonTest() { fleet_.queries_kubelets = true; }

  NodeSnapshot Node(const std::string& name, int gpus) const {
    NodeSnapshot snapshot = SnapshotOf(gpus, clock_.Now(), name);
    snapshot.attribution.state = Attribution::State::kKnown;
    return snapshot;
  }

  void Add(NodeSnapshot snapshot) {
    MarkFreeGpus(snapshot);
    fleet_.nodes.push_back(StateWith(std::move(snapshot)));
  }

  json Fleet() const {
    const std::string text = FleetJson(fleet_, kStaleness, clock_.Now(), "scaler-0");
    json parsed = json::parse(text, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << text;
    return parsed;
  }

  FakeClock clock_;
  FleetHistory fleet_;
};

TEST_F(FleetJsonTest, EachGpuHasItsStateOwnerAndReadings) {
  NodeSnapshot node = Node("gpu-1", 5);
  NodeSnapshot held = node;
  AddPods(held);
  node.pods = held.pods;
  for (const int gpu : {0, 1, 2, 4}) node.gpus[gpu].holders = held.gpus[gpu].holders;
  node.gpus[1].utilization_percent = 0;
  node.pods[2].ready = node.pods[2].was_ready = false;
  node.pods[2].listed_since = clock_.Now();
  node.gpus[4].utilization_percent = std::nullopt;
  node.gpus[3].in_use = false;
  node.gpus[3].name = "AMD Instinct MI300X";
  Add(std::move(node));
  const json fleet = Fleet();
  EXPECT_EQ(fleet["instance"], "scaler-0");
  EXPECT_EQ(fleet["now"], 1'767'225'600);
  EXPECT_EQ(fleet["gpu"]["state"], "bhsfu");
  EXPECT_EQ(fleet["gpu"]["utilization"], json({87, 0, 87, 87, nullptr}));
  EXPECT_EQ(fleet["gpu"]["memory"], json({91, 91, 91, 91, 91}));
  EXPECT_EQ(fleet["gpu"]["index"], json({"0", "1", "2", "3", "4"}));
  EXPECT_EQ(fleet["owners"], json({"", "team-a/llama"}));
  EXPECT_EQ(fleet["gpu"]["owner"], json({1, 1, 1, 0, 1}));
  EXPECT_EQ(fleet["models"], json({"NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"}));
  EXPECT_EQ(fleet["gpu"]["model"], json({0, 0, 0, 1, 0}));
  EXPECT_EQ(fleet["vendors"], json({"NVIDIA", "AMD"}));
  EXPECT_EQ(fleet["nodes"][0], json({{"name", "gpu-1"},
                                     {"age_seconds", 0},
                                     {"why", ""},
                                     {"gpus", 5},
                                     {"free", 1},
                                     {"free_groups", {1}}}));
}

TEST_F(FleetJsonTest, NodesAreSortedAndFreeGroupsAreThoseOfLinkedGpus) {
  NodeSnapshot b = Node("b", 7);
  for (int gpu = 0; gpu < 7; ++gpu) b.gpus[gpu].link_group = gpu < 3 ? "x" : "y";
  Add(std::move(b));
  Add(Node("a", 1));
  const json fleet = Fleet();
  EXPECT_EQ(fleet["nodes"][0]["name"], "a");
  EXPECT_EQ(fleet["nodes"][1]["free_groups"], json({4, 3}));
}

TEST_F(FleetJsonTest, StaleNodeHasAReasonAndNoReadings) {
  Add(Node("gpu-1", 2));
  clock_.Advance(absl::Minutes(1));
  const json fleet = Fleet();
  EXPECT_EQ(fleet["gpu"]["state"], "uu");
  EXPECT_EQ(fleet["gpu"]["utilization"], json({nullptr, nullptr}));
  EXPECT_EQ(fleet["nodes"][0]["age_seconds"], 60);
  EXPECT_NE(fleet["nodes"][0]["why"], "");
  EXPECT_EQ(fleet["nodes"][0]["free"], 0);
  EXPECT_THAT(WhyPartial(fleet_, kStaleness, clock_.Now()), HasSubstr("not known now: gpu-1"));
}

TEST_F(FleetJsonTest, DividedGpuIsShownAsItsInstances) {
  NodeSnapshot node = Node("gpu-1", 3);
  for (const int gpu : {1, 2}) {
    node.gpus[gpu].parent_uuid = node.gpus[0].uuid;
    node.gpus[gpu].index = 0;
    node.gpus[gpu].gpu_instance = gpu;
    node.gpus[gpu].utilization_percent = std::nullopt;
  }
  Add(std::move(node));
  EXPECT_EQ(CountShownGpus(fleet_), 2);
  EXPECT_EQ(Fleet()["gpu"]["index"], json({"0-1", "0-2"}));
}

TEST_F(FleetJsonTest, NamesOfAnyBytesAreValidJson) {
  NodeSnapshot node = Node("gpu-\"1\"\n\x01\xff", 1);
  AddPods(node);
  node.gpus[0].name = "\\ <script> \xe2\x82";
  node.pods[0].namespace_name = "\"";
  Add(std::move(node));
  EXPECT_EQ(Fleet()["nodes"].size(), 1u);
}

TEST_F(FleetJsonTest, NodeHasTheDetailsOfItsGpus) {
  NodeSnapshot node = Node("gpu-1", 2);
  AddPods(node);
  node.gpus[0].held_since = clock_.Now() - absl::Seconds(90);
  node.gpus[1].temperature_celsius = std::nullopt;
  node.gpus[1].gaps = {{.field = GpuField::kTemperature,
                        .reason = GpuGap::Reason::kFailed,
                        .detail = "NVML error 15"}};
  Add(std::move(node));
  const auto text = NodeJson(fleet_, kStaleness, clock_.Now(), "gpu-1");
  ASSERT_TRUE(text.ok()) << text.status();
  const json details = json::parse(*text);
  EXPECT_EQ(details["node"]["gpus"], 2);
  const json& first = details["gpus"][0];
  EXPECT_EQ(first["pods"], json({"team-a/llama-7d9c5b8f4-x2k0"}));
  EXPECT_EQ(first["owner"], "team-a/llama");
  EXPECT_EQ(first["state"], "b");
  EXPECT_EQ(first["memory_used"], int64_t{73} << 30);
  EXPECT_EQ(first["power"], 512.317);
  EXPECT_EQ(first["since"], 1'767'225'510);
  EXPECT_EQ(details["gpus"][1]["temperature"], nullptr);
  EXPECT_EQ(details["gpus"][1]["since"], nullptr);
  EXPECT_EQ(details["gpus"][1]["gap"], "temperature: NVML error 15");
  EXPECT_EQ(NodeJson(fleet_, kStaleness, clock_.Now(), "gpu-2").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(FleetJsonTest, UnreachedAgentsMakeTheFleetPartial) {
  EXPECT_EQ(WhyPartial(fleet_, kStaleness, clock_.Now()), "");
  fleet_.unreached = {"10.0.0.1:6001", "10.0.0.2:6001"};
  fleet_.unreached_count = 5;
  EXPECT_EQ(WhyPartial(fleet_, kStaleness, clock_.Now()),
            "never reported: 10.0.0.1:6001, 10.0.0.2:6001 and 3 more");
}

// 5,000 nodes of 8 GPUs.
TEST_F(FleetJsonTest, LargeFleetIsCompact) {
  NodeSnapshot node = Node("", 8);
  AddPods(node);
  for (int i = 0; i < 5'000; ++i) {
    node.node = absl::StrCat("gpu-node-", i);
    for (int gpu = 0; gpu < 8; ++gpu) node.gpus[gpu].utilization_percent = (i * 8 + gpu) % 101;
    Add(node);
  }
  const std::string text = FleetJson(fleet_, kStaleness, clock_.Now(), "scaler-0");
  EXPECT_EQ(json::parse(text)["gpu"]["state"].get<std::string>().size(), 40'000u);
  EXPECT_LT(text.size(), 40'000u * 40);
  EXPECT_LT(Gzip(text).size(), 400'000u);
}

}  // namespace
}  // namespace gpuscaler
