// Engines without an address in a trigger, discovered by an agent and sent to an aggregator.
#include <csignal>

#include "engine_pods.h"
#include "gmock/gmock.h"

namespace gpuscaler {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

const std::vector<std::string> kRunningRequests = {"metricType=requests_running", "targetValue=10",
                                                   "window=0s"};

class FleetDiscoveryTest : public EnginePodsTest {
 protected:
  void StartAgent(const std::vector<std::string>& more = {"--discover-engines"}) {
    std::vector<std::string> args = NodeFlags();
    args.insert(args.end(), {"--role=agent", "--node-name=gpu-1"});
    args.insert(args.end(), more.begin(), more.end());
    agent_ = std::make_unique<Server>(args);
    ASSERT_TRUE(agent_->Ready()) << agent_->process().Diagnostics();
  }
  void StartAggregator() {
    server_ = std::make_unique<Server>(std::vector<std::string>{
        "--role=aggregator", absl::StrCat("--agents=static:", agent_->Address()), "--grace=6s",
        "--poll-interval=100ms", "--engine-interval=200ms", "--stale-after=5s"});
    ASSERT_TRUE(server_->Ready()) << server_->process().Diagnostics();
  }
  // Starts one replica with five requests.
  void StartAll() {
    AddPod("llm-6d4cf56db6-x7k2p");
    engine_ = StartEngine(0, 8000);
    load_ = StartLoad(0, 8000);
    StartAgent();
    StartAggregator();
    ASSERT_THAT(QueryUntil("value   5\n", kRunningRequests), HasSubstr("value   5\n"))
        << agent_->process().Err();
  }
  static double MetricOf(const Server& server, const std::string& name) {
    const auto page = Request(server.Port("metrics"), "GET", "/metrics");
    if (!page.ok()) return -1;
    const std::string line = absl::StrCat("\nkeda_gpu_scaler_", name, " ");
    const size_t at = page->body.find(line);
    return at == std::string::npos ? -1 : std::stod(page->body.substr(at + line.size()));
  }

  std::unique_ptr<Process> engine_;
  std::unique_ptr<Process> load_;
  std::unique_ptr<Server> agent_;
};

TEST_F(FleetDiscoveryTest, ThreeLineTriggerCountsThePressureOfEnginesThatAgentsFind) {
  AddPod("llm-6d4cf56db6-x7k2p");
  AddPod("llm-6d4cf56db6-q2w4r");
  const auto busy = StartEngine(0, 8000);
  const auto idle = StartEngine(1, 8000);
  const auto load = StartLoad(0, 8000);
  StartAgent();
  EXPECT_EQ(MetricOf(*agent_, "telemetry_engine_readers"), 0) << "no aggregator subscribes yet";
  StartAggregator();
  EXPECT_THAT(QueryUntil("by their engines"),
              ContainsRegex("replicas: 2 .pods of Deployment/llm, by their engines."))
      << agent_->process().Err();
  EXPECT_THAT(
      QueryUntil("value   50\n", {"profile=vllm-inference", "maxConcurrency=10", "window=0s"}),
      HasSubstr("value   50\n"));
  EXPECT_EQ(MetricOf(*agent_, "telemetry_engine_readers"), 1);
  EXPECT_EQ(MetricOf(*server_, "engine_streams"), 1);
  EXPECT_GT(MetricOf(*server_, "engine_readings_received_total"), 0);
}

TEST_F(FleetDiscoveryTest, AnAgentWithoutDiscoveryIsTheReason) {
  AddPod("llm-6d4cf56db6-x7k2p");
  StartAgent({"--discover-engines=false"});
  StartAggregator();
  EXPECT_THAT(QueryUntil("looks for no engines", kRunningRequests),
              HasSubstr("its agent looks for no engines (--discover-engines=false)"));
}

TEST_F(FleetDiscoveryTest, AnAgentWithoutThePodsApiNamesTheRemedy) {
  kubelet_.ServePodsApi(false);
  AddPod("llm-6d4cf56db6-x7k2p");
  StartAgent({});
  StartAggregator();
  EXPECT_THAT(QueryUntil("has no Pods API", kRunningRequests),
              HasSubstr("set --discover-engines=true (agent.discoverEngines=true)"));
}

TEST_F(FleetDiscoveryTest, ARestartedAggregatorHasThePastAtOnce) {
  StartAll();
  ASSERT_TRUE(Eventually([&] { return MetricOf(*server_, "engine_readings_received_total") > 30; },
                         absl::Seconds(30)));
  const std::vector<std::string> over_a_window = {"metricType=requests_running", "targetValue=10",
                                                  "window=5s"};
  QueryUntil("value   5\n", over_a_window);
  EXPECT_TRUE(OnceInThree([&] {
    server_->process().Signal(SIGKILL);
    server_->process().Wait();
    StartAggregator();
    std::string first;
    EXPECT_TRUE(Eventually(
        [&] {
          first = Query(over_a_window);
          return testing::Value(first, ContainsRegex("value   [0-9]"));
        },
        absl::Seconds(30)));
    EXPECT_THAT(first, HasSubstr("value   5\n"));
    const auto readings_of_5_s = MetricOf(*server_, "engine_readings_received_total");
    return readings_of_5_s >= 20;  // at most five a second; fewer if the machine paused
  }));
}

TEST_F(FleetDiscoveryTest, ADeadAgentIsAGapUntilItsReplacementReports) {
  StartAll();
  const std::string port = absl::StrCat("--telemetry-port=", agent_->Port("grpc"));
  agent_->process().Signal(SIGKILL);
  agent_->process().Wait();
  EXPECT_THAT(QueryUntil("UNAVAILABLE", kRunningRequests), HasSubstr("UNAVAILABLE"));
  StartAgent({"--discover-engines", port});
  EXPECT_THAT(QueryUntil("value   5\n", kRunningRequests), HasSubstr("value   5\n"));
}

TEST_F(FleetDiscoveryTest, AHangingAgentIsAGap) {
  StartAll();
  agent_->process().Signal(SIGSTOP);
  EXPECT_THAT(QueryUntil("UNAVAILABLE", kRunningRequests), HasSubstr("UNAVAILABLE"));
  agent_->process().Signal(SIGCONT);
  EXPECT_THAT(QueryUntil("value   5\n", kRunningRequests), HasSubstr("value   5\n"));
}

}  // namespace
}  // namespace gpuscaler
