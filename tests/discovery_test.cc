// Engines without an address in a trigger, discovered by the whole program on its own node.
#include "engine_pods.h"
#include "gmock/gmock.h"

namespace gpuscaler {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class DiscoveryTest : public EnginePodsTest {
 protected:
  void Serve(const std::vector<std::string>& more = {"--discover-engines"}) {
    std::vector<std::string> args = NodeFlags();
    args.insert(args.end(), more.begin(), more.end());
    server_ = std::make_unique<Server>(args);
    ASSERT_TRUE(server_->Ready()) << server_->process().Diagnostics();
  }
};

TEST_F(DiscoveryTest, ThreeLineTriggerCountsThePressureOfDiscoveredEngines) {
  AddPod("llm-6d4cf56db6-x7k2p");
  AddPod("llm-6d4cf56db6-q2w4r");
  const auto sidecar = StartSidecar(0, 8080);  // llama.cpp's default port
  const auto busy = StartEngine(0, 8000);
  const auto idle = StartEngine(1, 8000);
  const auto load = StartLoad(0, 8000);
  Serve();
  EXPECT_THAT(QueryUntil("by their engines"),
              ContainsRegex("replicas: 2 .pods of Deployment/llm, by their engines."));
  EXPECT_THAT(
      QueryUntil("value   50\n", {"profile=vllm-inference", "maxConcurrency=10", "window=0s"}),
      HasSubstr("value   50\n"))
      << "5 of 10 requests in one of two replicas, though both GPUs are at 100 %";
  EXPECT_THAT(server_->process().Err(), ContainsRegex("event=engine_found .*port=8000"));
  const auto page = Request(server_->Port("metrics"), "GET", "/metrics");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(page->body, HasSubstr("keda_gpu_scaler_engines_found{engine=\"vllm\"} 2\n"));
}

TEST_F(DiscoveryTest, ByDefaultEnginesAreFoundWhereThePodsApiAnswers) {
  AddPod("llm-6d4cf56db6-x7k2p");
  const auto engine = StartEngine(0, 8000);
  Serve({});
  EXPECT_THAT(QueryUntil("by their engines"), HasSubstr("by their engines"));
  EXPECT_THAT(server_->process().Err(), HasSubstr("event=engine_discovery by=\"addresses"));
}

TEST_F(DiscoveryTest, TheEnginesProfileIsSuggestedToATriggerWithoutOne) {
  AddPod("llm-6d4cf56db6-x7k2p");
  const auto engine = StartEngine(0, 8000);
  Serve({});
  EXPECT_THAT(QueryUntil("note: engines of vLLM", {"targetValue=70"}),
              HasSubstr("engines of vLLM found in this workload's pods: profile vllm-inference "
                        "reads their requests and KV cache"));
  EXPECT_THAT(server_->process().Err(), HasSubstr("event=profile_suggested"));
}

TEST_F(DiscoveryTest, WithoutDiscoveryTheErrorNamesEngineEndpoint) {
  AddPod("llm-6d4cf56db6-x7k2p");
  Serve({"--discover-engines=false"});
  EXPECT_THAT(Query({"metricType=requests_waiting"}), HasSubstr("engineEndpoint is missing"));
}

TEST_F(DiscoveryTest, ADeadEngineIsAGapAndIsFoundOnItsNextPort) {
  AddPod("llm-6d4cf56db6-x7k2p");
  auto engine = StartEngine(0, 8000);
  Serve();
  const std::vector<std::string> running = {"metricType=requests_running", "targetValue=10",
                                            "window=0s"};
  EXPECT_THAT(QueryUntil("value   0\n", running), HasSubstr("value   0\n"));
  engine.reset();
  EXPECT_THAT(QueryUntil("UNAVAILABLE", running), HasSubstr("UNAVAILABLE"));
  EXPECT_TRUE(server_->process().WaitForErr("event=engine_lost"));
  engine = StartEngine(0, 30000);
  const auto load = StartLoad(0, 30000);
  EXPECT_THAT(QueryUntil("value   5\n", running), HasSubstr("value   5\n"));
  EXPECT_TRUE(server_->process().WaitForErr("port=30000 engine=vllm"));
}

TEST_F(DiscoveryTest, FrozenGaugesOnIdleGpusAreReportedInExplanationLogAndMetric) {
  AddPod("llm-6d4cf56db6-x7k2p");
  ReplaceFile(gpu_file_, R"({"gpus": [{"uuid": "GPU-1", "utilization_percent": 0}]})");
  const auto engine = StartEngine(0, 8000, {"--freeze-gauges"});
  auto load = StartLoad(0, 8000);
  Serve();
  const std::vector<std::string> in_flight = {"metricType=requests_in_flight", "targetValue=10",
                                              "window=0s", "frozenWindow=10s"};
  EXPECT_THAT(QueryUntil("value   5\n", in_flight), HasSubstr("value   5\n"));
  load.reset();  // at once: vLLM's gauges stay at their last values
  EXPECT_THAT(QueryUntil("note: frozen", in_flight), HasSubstr("value   0\n"));
  EXPECT_TRUE(
      server_->process().WaitForErr("outcome=frozen why=\"frozen: the engines of 1 replica"))
      << server_->process().Err();
  const auto page = Request(server_->Port("metrics"), "GET", "/metrics");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(page->body,
              ContainsRegex("keda_gpu_scaler_decisions_total.outcome=\"frozen\". [1-9]"));
}

TEST_F(DiscoveryTest, APodWithoutEngineHasTheReasons) {
  AddPod("llm-6d4cf56db6-x7k2p");
  const auto sidecar = StartSidecar(0, 8000);
  Serve();
  EXPECT_THAT(QueryUntil("8000/metrics", {"metricType=requests_running"}),
              HasSubstr("no engine is found in it: none of its servers is a known engine: "));
  EXPECT_THAT(QueryUntil("note: "), HasSubstr("no engine is found in llm-6d4cf56db6-x7k2p: "));
}

}  // namespace
}  // namespace gpuscaler
