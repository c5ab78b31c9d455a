// Nodes with simulated GPUs, fake kubelets and agents, and an aggregator, for tests with real ports
// and real time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/test_folder.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "role/running_role.h"
#include "serve/scaler_client.h"
#include "serve/test_http_client.h"

namespace gpuscaler {

// A pod with a GPU of its own.
struct TestPod {
  std::string namespace_name;
  std::string name;  // "llm-6d4cf56db6-x7k2p" belongs to Deployment/llm
  int utilization_percent = 0;
};

class TestFleet : public testing::Test {
 protected:
  static Config RoleConfig() {
    Config config;
    config.bind_address = "127.0.0.1";
    config.port = config.telemetry_port = config.metrics_port = kAnyPort;
    config.probe_port = config.web_port = 0;
    config.poll_interval = absl::Milliseconds(100);
    config.stale_after = absl::Seconds(5);
    return config;
  }

  // Each pod has one GPU, in their order: "GPU-<node>-<index>".
  void StartNode(const std::string& node, const std::vector<TestPod>& pods) {
    auto kubelet = std::make_unique<FakeKubelet>(folder_.PathOf(node));
    std::vector<std::string> gpus;
    for (const TestPod& pod : pods) {
      const std::string uuid = absl::StrCat("GPU-", node, "-", gpus.size());
      kubelet->AddPod(pod.namespace_name, pod.name,
                      {{.container = "main", .resource = "nvidia.com/gpu", .id = uuid}});
      gpus.push_back(absl::StrCat(R"({"uuid": ")", uuid, R"(", "utilization_percent": )",
                                  pod.utilization_percent, R"(, "memory_used_bytes": 1073741824)",
                                  R"(, "memory_total_bytes": 8589934592})"));
    }
    const std::string path = folder_.Write(
        node + ".json", absl::StrCat(R"({"gpus": [)", absl::StrJoin(gpus, ","), "]}\n"));
    Config config = RoleConfig();
    config.role = Role::kAgent;
    config.node_name = node;
    config.gpu_source = absl::StrCat("file:", path);
    config.attribution = AttributionMode::kKubelet;
    config.pod_resources_socket = kubelet->pod_resources_socket();
    config.pods_api_socket = kubelet->pods_api_socket();
    kubelets_.push_back(std::move(kubelet));
    auto agent = RunningRole::Start(config, clock_);
    ASSERT_TRUE(agent.ok()) << agent.status();
    addresses_[node] = absl::StrCat("127.0.0.1:", (*agent)->grpc_port());
    agents_[node] = *std::move(agent);
  }

  // Starts an aggregator of all nodes started so far and of `others`, which are host:port.
  void StartAggregator(Config config = RoleConfig(), std::vector<std::string> others = {}) {
    for (const auto& [node, address] : addresses_) others.push_back(address);
    config.role = Role::kAggregator;
    config.agents = absl::StrCat("static:", absl::StrJoin(others, ","));
    auto aggregator = RunningRole::Start(config, clock_);
    ASSERT_TRUE(aggregator.ok()) << aggregator.status();
    aggregator_ = *std::move(aggregator);
    ScalerClientOptions options{.address = absl::StrCat("127.0.0.1:", aggregator_->grpc_port())};
    auto client = ScalerClient::Open(options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  // Calls `get` until its result fulfils `condition`, for 10 s at most. Returns the last result.
  template <typename Get, typename Condition>
  static auto WaitFor(Get get, Condition condition) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    auto got = get();
    while (!condition(got) && real.Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(20));
      got = get();
    }
    return got;
  }

  static std::string FetchMetrics(int port) {
    const auto reply = Request(port, "GET", "/metrics");
    return reply.ok() ? reply->body : reply.status().ToString();
  }

  const TestFolder folder_;
  const SteadyClock clock_;
  std::vector<std::unique_ptr<FakeKubelet>> kubelets_;
  std::map<std::string, std::string> addresses_;                // the agents', keyed by node
  std::map<std::string, std::unique_ptr<RunningRole>> agents_;  // keyed by node
  std::unique_ptr<RunningRole> aggregator_;
  std::unique_ptr<ScalerClient> client_;
};

}  // namespace gpuscaler
