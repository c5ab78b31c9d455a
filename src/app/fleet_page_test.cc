#include "app/fleet_page.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "app/exit_codes.h"
#include "app/fleet_gpus.h"
#include "base/test_hostile_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/free_gpus.h"
#include "nlohmann/json.hpp"
#include "role/test_fleet.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A fleet of two nodes, one of which may be lost, and of an agent that never existed.
class FleetPageTest : public TestFleet {
 protected:
  void SetUp() override {
    StartNode("gpu-a", {{"team-a", "llm-6d4cf56db6-x7k2p", 60}});
    StartNode("gpu-b", {{"team-b", "llm-6d4cf56db6-q2w4r", 35}});
    Config config = RoleConfig();
    config.grace = absl::Seconds(3);        // more than a heartbeat
    config.empty_after = absl::Seconds(1);  // how long a new aggregator waits for the third agent
    StartAggregator(config, {"127.0.0.1:1"});
  }

  // The page once `wanted` returns true for the view, or the last one after 10 s.
  template <typename Subscription>
  FleetPage PageOnce(Subscription wanted) const {
    const auto view = WaitFor([this] { return client_->View(); },
                              [&](const auto& got) { return got.ok() && wanted(*got); });
    EXPECT_TRUE(view.ok()) << view.status();
    if (!view.ok()) return {};
    auto page = FleetPageOf("localhost:6000", *view, absl::FromUnixSeconds(1'767'225'600));
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? *std::move(page) : FleetPage();
  }
  // The page once both nodes have their pods.
  FleetPage WholePage() const {
    return PageOnce([](const gpuscaler::v1::FleetView& view) {
      return view.nodes_size() == 2 && view.nodes(0).newest().has_pods() &&
             view.nodes(1).newest().has_pods();
    });
  }
  FleetPage PageWithoutNodeB() {
    WholePage();
    agents_.erase("gpu-b");
    return PageOnce([](const gpuscaler::v1::FleetView& view) {
      return view.nodes_size() == 2 && !view.nodes(1).left_out().empty();
    });
  }
};

TEST_F(FleetPageTest, TableShowsEveryNodesGpusAndTheirHolders) {
  const std::string text = FleetTable(WholePage());
  EXPECT_THAT(text, HasSubstr("2026-01-01T00:00:00.000Z localhost:6000: 2 nodes, 2 GPUs\n"));
  EXPECT_THAT(text, ContainsRegex("NODE +READ +GPU +NAME +UTIL % +MEMORY MiB +HELD BY +UUID\n"));
  EXPECT_THAT(text, ContainsRegex("gpu-a +[^\n]* 0 +- +60 +1024/8192 +team-a/"
                                  "llm-6d4cf56db6-x7k2p/main +GPU-gpu-a-0\n"));
  EXPECT_THAT(text, ContainsRegex("gpu-b +[^\n]* 0 +- +35 +1024/8192 +team-b/"
                                  "llm-6d4cf56db6-q2w4r/main +GPU-gpu-b-0\n"));
  EXPECT_THAT(text, HasSubstr("agent 127.0.0.1:1: not connected yet"));
  EXPECT_THAT(text, Not(HasSubstr("left out")));
}

TEST_F(FleetPageTest, TableHasWhatIsLeftOutAndWhy) {
  const std::string text = FleetTable(PageWithoutNodeB());
  EXPECT_THAT(text, ContainsRegex("left out: agent of node gpu-b disconnected for [3-9]s: "));
  EXPECT_THAT(text, ContainsRegex(absl::StrCat("agent ", addresses_["gpu-b"],
                                               " of node gpu-b: disconnected for [1-9]")));
  EXPECT_THAT(text, ContainsRegex("gpu-b +[1-9]s ago +0")) << "its last reading, by its age";
}

TEST_F(FleetPageTest, JsonHasTheGpusInTheFormatOfOneNode) {
  const auto json = nlohmann::json::parse(FleetJson(PageWithoutNodeB()));
  EXPECT_EQ(json["time"], "2026-01-01T00:00:00.000Z");
  EXPECT_TRUE(json["trouble"].is_null());
  const auto& a = json["nodes"][0];
  EXPECT_EQ(a["node"], "gpu-a");
  EXPECT_TRUE(a["left_out"].is_null());
  EXPECT_EQ(a["gpus"][0]["utilization_percent"], 60);
  EXPECT_EQ(a["gpus"][0]["memory_used_bytes"], 1073741824);
  EXPECT_EQ(a["gpus"][0]["holders"][0]["namespace"], "team-a");
  EXPECT_EQ(a["gpus"][0]["holders"][0]["owners"][0], "Deployment/llm");
  EXPECT_THAT(std::string(json["nodes"][1]["left_out"]), HasSubstr("gpu-b disconnected for"));
  EXPECT_GE(double{json["nodes"][1]["heard_seconds_ago"]}, 3);
  for (const auto& agent : json["agents"]) {
    if (agent["address"] != "127.0.0.1:1") continue;
    EXPECT_FALSE(agent["connected"]);
    EXPECT_TRUE(agent["heard_seconds_ago"].is_null());
    EXPECT_TRUE(agent["node"].is_null());
  }
  EXPECT_EQ(json["agents"].size(), 3u);
}

// The exit code and the output of `gpus --fleet`.
struct Shown {
  int code = 0;
  std::string out;
  std::string err;
};
Shown ShowFleetOf(const std::string& address) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Shown shown{.code = ShowFleet(address, {}, "table")};
  shown.out = testing::internal::GetCapturedStdout();
  shown.err = testing::internal::GetCapturedStderr();
  return shown;
}

TEST_F(FleetPageTest, CommandPrintsThePageOrTheError) {
  WholePage();
  const Shown shown = ShowFleetOf(absl::StrCat("127.0.0.1:", aggregator_->grpc_port()));
  EXPECT_EQ(shown.code, kExitOk) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("team-b/llm-6d4cf56db6-q2w4r/main"));
  const Shown of_agent = ShowFleetOf(addresses_["gpu-a"]);
  EXPECT_EQ(of_agent.code, kExitUnavailable);
  EXPECT_THAT(
      of_agent.err,
      HasSubstr("answers, and is no aggregator (an agent's port, or a standalone scaler's?)"));
  const Shown nobody = ShowFleetOf("127.0.0.1:1");
  EXPECT_EQ(nobody.code, kExitUnavailable);
  EXPECT_THAT(nobody.err, HasSubstr("keda-gpu-scaler gpus: 127.0.0.1:1: "));
  const Shown nowhere = ShowFleetOf("here and there");
  EXPECT_EQ(nowhere.code, kExitUsage);
  EXPECT_THAT(nowhere.err, HasSubstr("use HOST or HOST:PORT"));
}

TEST_F(FleetPageTest, ExplanationShowsNodesAgesReplicasAndWhatIsLeftOut) {
  StartNode("gpu-c", {{"team-a", "llm-6d4cf56db6-h5j6k", 35}});
  Config config = RoleConfig();
  config.grace = absl::Seconds(3);  // more than a heartbeat
  StartAggregator(config);
  const auto explain = [this] {
    return client_->Explain({.name = "llm",
                             .namespace_name = "team-a",
                             .metadata = {{"metricType", "gpu_utilization"}, {"window", "0s"}}});
  };
  auto explanation =
      WaitFor(explain, [](const auto& got) { return got.ok() && got->replicas() == 2; });
  ASSERT_TRUE(explanation.ok()) << explanation.status();
  EXPECT_FALSE(explanation->partial()) << explanation->text();
  EXPECT_THAT(explanation->text(),
              ContainsRegex("nodes: gpu-a \\(1 replica, read [^)]*\\), gpu-c"));
  agents_.erase("gpu-c");
  explanation = WaitFor(explain, [](const auto& got) { return got.ok() && got->partial(); });
  ASSERT_TRUE(explanation.ok()) << explanation.status();
  EXPECT_EQ(explanation->replicas(), 2) << explanation->text();
  EXPECT_EQ(explanation->unreadable(), 1) << explanation->text();
  ASSERT_EQ(explanation->nodes_size(), 2) << explanation->text();
  EXPECT_EQ(explanation->nodes(1).name(), "gpu-c");
  EXPECT_GE(explanation->nodes(1).age_seconds(), 1);
  EXPECT_THAT(
      explanation->text(),
      AllOf(ContainsRegex("gpu-c \\(1 replica, read [1-9]s ago: agent of node gpu-c disconnected "),
            ContainsRegex("llm-6d4cf56db6-h5j6k +unreadable"),
            HasSubstr("note: partial: agent of node gpu-c disconnected for ")));
}

// A connected node with known holders. `groups` has the link group of each GPU. The first `held`
// GPUs have one pod.
FleetPage::Node LinkedNode(const std::string& name, const std::vector<std::string>& groups,
                           size_t held) {
  NodeSnapshot snapshot{.node = name, .attribution = {.state = Attribution::State::kKnown}};
  for (size_t i = 0; i < groups.size(); ++i) {
    GpuSample gpu{.uuid = absl::StrCat("GPU-", name, "-", i), .index = static_cast<int>(i)};
    gpu.link_group = groups[i];
    gpu.utilization_percent = 0;
    if (i < held) gpu.holders = {{.pod = 0}};
    snapshot.gpus.push_back(std::move(gpu));
  }
  if (held > 0) snapshot.pods = {{.namespace_name = "shop", .name = "web-0"}};
  MarkFreeGpus(snapshot);
  return {.snapshot = std::move(snapshot)};
}

// The line of the table on free GPUs.
std::string FreeLineOf(std::vector<FleetPage::Node> nodes) {
  const FleetPage page{.address = "localhost:6000", .nodes = std::move(nodes)};
  const std::vector<std::string> lines = absl::StrSplit(FleetTable(page), '\n');
  for (const std::string& line : lines) {
    if (absl::StrContains(line, " free")) return line;
  }
  return "";
}

TEST(FleetTable, ShowsFreeGpusAndTheRoomForReplicasOfThePresentSizes) {
  const std::string a = "nvlink-0";
  const std::string b = "nvlink-1";
  const FleetPage::Node eight = LinkedNode("gpu-a", {a, a, a, a, b, b, b, b}, 4);
  EXPECT_EQ(FreeLineOf({eight}), "4 free in 4: room for one replica of 4");
  EXPECT_EQ(FreeLineOf({eight, LinkedNode("gpu-b", {a, a, a}, 1), LinkedNode("gpu-c", {a}, 0),
                        LinkedNode("gpu-d", {""}, 0)}),
            "8 free in 1+1+2+4: room for 8 replicas of 1, or one replica of 4");
  EXPECT_EQ(FreeLineOf({LinkedNode("gpu-a", {a, a, a}, 2)}),
            "1 free in 1: room for no replica of 2");
  EXPECT_EQ(FreeLineOf({LinkedNode("gpu-a", {a, a}, 2)}), "none free");
}

TEST(FleetTable, WithoutPodsTheLargestGroupIsOneReplica) {
  EXPECT_EQ(FreeLineOf({LinkedNode("gpu-a", {"nvlink-0", "nvlink-0", ""}, 0)}),
            "3 free in 1+2: room for one replica of 2");
}

TEST(FleetTable, GpusThatMayBeFreeAreNotCounted) {
  FleetPage::Node lost = LinkedNode("gpu-b", {"", ""}, 0);
  lost.left_out = "agent of node gpu-b disconnected for 20s";
  EXPECT_EQ(FreeLineOf({LinkedNode("gpu-a", {""}, 0), lost}),
            "1 free in 1: room for one replica of 1; unknown of 2");
  FleetPage::Node older_agent = LinkedNode("gpu-a", {""}, 0);
  older_agent.snapshot.gpus[0].is_free.reset();
  EXPECT_EQ(FreeLineOf({older_agent}), "");
}

TEST(FleetJsonPage, HasTheFreeGpusOfEachGroup) {
  FleetPage page{.address = "localhost:6000"};
  page.nodes.push_back(LinkedNode("gpu-a", {"nvlink-0", "nvlink-0", ""}, 1));
  const auto json = nlohmann::json::parse(FleetJson(page));
  EXPECT_EQ(json["free"]["unknown"], 0);
  ASSERT_EQ(json["free"]["groups"].size(), 2u);
  EXPECT_TRUE(json["free"]["groups"][0]["link_group"].is_null());
  EXPECT_EQ(json["free"]["groups"][1]["link_group"], "nvlink-0");
  EXPECT_EQ(json["free"]["groups"][1]["gpus"], 1);
  EXPECT_EQ(json["nodes"][0]["gpus"][0]["link_group"], "nvlink-0");
}

TEST(FleetTable, EscapesHostileNames) {
  const std::string hostile = kHostileName;
  const std::string escaped = kEscapedName;
  FleetPage page{.address = "localhost:6000", .time = absl::UnixEpoch()};
  page.nodes.push_back(
      {.snapshot = {.node = "::error::" + hostile, .gpus = {{.uuid = "GPU-0", .name = hostile}}},
       .left_out = hostile});
  auto& agent = *page.view.add_agents();
  agent.set_address("10.0.0.7:6001");
  agent.set_why(hostile);
  page.view.set_trouble(hostile);
  const std::string text = FleetTable(page);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
  EXPECT_EQ(text.find_first_of("\r\x1b\xe2"), std::string::npos) << text;
  EXPECT_THAT(text, HasSubstr(absl::StrCat("\n\\x3a:error::", escaped)));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("left out: ", escaped,
                                           "\nagent 10.0.0.7:6001: not connected yet: ", escaped,
                                           "\nnothing is decided on: ", escaped, "\n")));
}

}  // namespace
}  // namespace gpuscaler
