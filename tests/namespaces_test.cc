// One agent, and aggregators of a part of the cluster (--namespaces) and of all of it: their values
// are the same, and a part gets less.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "nlohmann/json.hpp"
#include "process.h"
#include "serve/test_http_client.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

class NamespacesProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    SetPods({"a", "b"});
    SetLoads({40, 70});
    agent_ = std::make_unique<Server>(std::vector<std::string>{
        "--role=agent", "--node-name=gpu-1", absl::StrCat("--gpu-source=file:", gpu_file_),
        "--attribution=kubelet",
        absl::StrCat("--pod-resources-socket=", kubelet_.pod_resources_socket()),
        absl::StrCat("--pods-api-socket=", kubelet_.pods_api_socket()), "--poll-interval=100ms",
        "--stale-after=5s"});
    ASSERT_TRUE(agent_->Ready()) << agent_->process().Diagnostics();
    a_ = StartAggregator({"--namespaces=a"});
    b_ = StartAggregator({"--namespaces=b"});
    all_ = StartAggregator({});
  }

  // The two GPUs are held by pods of these namespaces; "": by none.
  void SetPods(const std::vector<std::string>& namespaces) {
    std::vector<FakeKubelet::Pod> pods;
    for (size_t i = 0; i < namespaces.size(); ++i) {
      if (namespaces[i].empty()) continue;
      const std::string name = i == 0 ? "llm-6d4cf56db6-x7k2p" : "llm-6d4cf56db6-q2w4r";
      pods.push_back({.devices = {.namespace_name = namespaces[i],
                                  .name = name,
                                  .devices = {{.container = "main",
                                               .resource = "nvidia.com/gpu",
                                               .id = absl::StrCat("GPU-", i)}}},
                      .of_api = {.namespace_name = namespaces[i], .name = name}});
    }
    kubelet_.SetPods(pods);
  }
  void SetLoads(const std::vector<int>& percent) const {
    std::vector<std::string> gpus;
    for (size_t i = 0; i < percent.size(); ++i) {
      gpus.push_back(absl::StrCat(R"({"uuid": "GPU-)", i, R"(", "name": "Sim", )",
                                  R"("memory_used_bytes": 40000, "memory_total_bytes": 80000, )",
                                  R"("utilization_percent": )", percent[i], "}"));
    }
    ReplaceFile(gpu_file_, absl::StrCat(R"({"gpus": [)", absl::StrJoin(gpus, ", "), "]}"));
  }

  std::unique_ptr<Server> StartAggregator(const std::vector<std::string>& flags) const {
    std::vector<std::string> args = {"--role=aggregator",
                                     absl::StrCat("--agents=static:", agent_->Address()),
                                     "--poll-interval=100ms", "--stale-after=5s", "--grace=12s"};
    args.insert(args.end(), flags.begin(), flags.end());
    auto aggregator = std::make_unique<Server>(args);
    EXPECT_TRUE(aggregator->Ready()) << aggregator->process().Diagnostics();
    return aggregator;
  }

  static std::string Query(const Server& aggregator, const std::string& name_space,
                           const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {
        "query",      aggregator.Address(),         absl::StrCat("--namespace=", name_space),
        "--name=llm", "metricType=gpu_utilization", "window=0s"};
    args.insert(args.end(), more.begin(), more.end());
    const Finished query = RunProgram(args);
    return absl::StrCat(query.out, query.err);
  }
  static void ExpectValue(const Server& aggregator, const std::string& name_space,
                          const std::string& value) {
    std::string answer;
    EXPECT_TRUE(Eventually([&] {
      answer = Query(aggregator, name_space);
      return answer.find(absl::StrCat("value   ", value, "\n")) != std::string::npos;
    })) << value
        << " is not the value in " << answer;
  }

  static double ReceivedBytes(const Server& aggregator) {
    const auto reply = Request(aggregator.Port("metrics"), "GET", "/metrics");
    const std::string name = "\nkeda_gpu_scaler_agent_received_bytes_total{";
    const size_t line = reply.ok() ? reply->body.find(name) : std::string::npos;
    if (line == std::string::npos) return -1;
    return std::atof(reply->body.c_str() + reply->body.find("} ", line) + 2);
  }
  // Returns how many GPUs have readings.
  static int GpusRead(const Server& aggregator) {
    const Finished gpus = RunProgram({"gpus", "--fleet", aggregator.Address(), "--format=json"});
    const auto json = nlohmann::json::parse(gpus.out, nullptr, false);
    if (json.is_discarded() || json["nodes"].empty()) return -1;
    int read = 0;
    for (const auto& gpu : json["nodes"][0]["gpus"]) {
      read += gpu["utilization_percent"].is_null() ? 0 : 1;
    }
    return read;
  }

  const TestFolder folder_;
  const std::string gpu_file_ = folder_.Write("gpus.json", R"({"gpus": []})");
  FakeKubelet kubelet_{folder_.path()};
  std::unique_ptr<Server> agent_;
  std::unique_ptr<Server> a_;    // --namespaces=a
  std::unique_ptr<Server> b_;    // --namespaces=b
  std::unique_ptr<Server> all_;  // without
};

TEST_F(NamespacesProgramTest, PartsHaveTheValuesOfTheWholeAndGetLess) {
  for (const Server* aggregator : {a_.get(), all_.get()}) ExpectValue(*aggregator, "a", "40");
  for (const Server* aggregator : {b_.get(), all_.get()}) ExpectValue(*aggregator, "b", "70");
  EXPECT_EQ(GpusRead(*a_), 1);
  EXPECT_EQ(GpusRead(*all_), 2);

  // Only the other namespace's GPU changes: every change is a reading for `all_` and `b_` alone.
  const double before_a = ReceivedBytes(*a_);
  const double before_all = ReceivedBytes(*all_);
  for (int i = 0; i < 20; ++i) {
    SetLoads({40, 50 + i});
    ExpectValue(*b_, "b", absl::StrCat(50 + i));
  }
  EXPECT_LT((ReceivedBytes(*a_) - before_a) * 2, ReceivedBytes(*all_) - before_all);
  ExpectValue(*a_, "a", "40");

  // A pod of `a` ends, and one of `b` gets its GPU.
  SetPods({"b", "b"});
  for (const Server* aggregator : {b_.get(), all_.get()}) ExpectValue(*aggregator, "b", "109");
  for (const Server* aggregator : {a_.get(), all_.get()}) ExpectValue(*aggregator, "a", "0");
  SetPods({"a", ""});
  for (const Server* aggregator : {a_.get(), all_.get()}) ExpectValue(*aggregator, "a", "40");
}

TEST_F(NamespacesProgramTest, TriggersOfAnotherPartAreRefusedWithWhatToDo) {
  EXPECT_THAT(Query(*a_, "b"),
              HasSubstr("this aggregator does not serve namespace b: it has --namespaces=a; let "
                        "scalerAddress name the Service of an aggregator that does"));
  EXPECT_THAT(Query(*a_, "a", {"scope=fleet"}),
              HasSubstr("scope: fleet counts GPUs of all namespaces"));
  EXPECT_THAT(RunProgram({"gpus", "--fleet", a_->Address()}).out,
              HasSubstr("covers pods of these namespaces only (--namespaces): a\n"));
}

}  // namespace
}  // namespace gpuscaler
