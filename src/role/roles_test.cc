#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "role/running_role.h"
#include "serve/scaler_client.h"
#include "wire/test_certificates.h"
#include "wire/test_frames.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

// Agents with simulated GPUs and an aggregator that KEDA calls, with real ports and real time.
class RolesTest : public testing::Test {
 protected:
  Config Base() const {
    Config config;
    config.bind_address = "127.0.0.1";
    config.port = config.telemetry_port = kAnyPort;
    config.metrics_port = config.probe_port = config.web_port = 0;
    config.attribution = AttributionMode::kNone;
    config.poll_interval = absl::Milliseconds(100);
    config.stale_after = absl::Seconds(5);
    return config;
  }

  // Starts an agent on a node with one GPU of that utilization. Returns the agent's address.
  std::string StartAgent(const std::string& node, int utilization_percent) {
    const std::string gpus = WriteGpus(node, utilization_percent);
    Config config = WithTls(Base());
    config.role = Role::kAgent;
    config.aggregators = aggregators_;
    config.node_name = node;
    config.gpu_source = absl::StrCat("file:", gpus);
    auto agent = RunningRole::Start(config, clock_);
    EXPECT_TRUE(agent.ok()) << agent.status();
    if (!agent.ok()) return "";
    agents_.push_back(*std::move(agent));
    return absl::StrCat("127.0.0.1:", agents_.back()->grpc_port());
  }
  std::string WriteGpus(const std::string& node, int utilization_percent) const {
    return folder_.Write(
        node + ".json",
        absl::StrCat(R"({"gpus": [{"uuid": "GPU-)", node,
                     R"(", "name": "Sim", "utilization_percent": )", utilization_percent, "}]}\n"));
  }

  void StartAggregator(const std::string& agents) {
    Config config = WithTls(Base());
    config.role = Role::kAggregator;
    config.agents = agents;
    auto aggregator = RunningRole::Start(config, clock_);
    ASSERT_TRUE(aggregator.ok()) << aggregator.status();
    aggregator_ = *std::move(aggregator);
    ScalerClientOptions options{.address = absl::StrCat("127.0.0.1:", aggregator_->grpc_port()),
                                .tls = tls_.Enabled(),
                                .ca = tls_.client_ca,
                                .cert = tls_.cert,
                                .key = tls_.key,
                                .deadline = absl::Seconds(30)};
    auto client = ScalerClient::Open(options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  absl::StatusOr<double> Value() const {
    const TriggerRef trigger{.name = "llama",
                             .namespace_name = "team-a",
                             .metadata = {{"metricType", "gpu_utilization"},
                                          {"targetGpuUtilization", "80"},
                                          {"scope", "fleet"},
                                          {"window", "0s"}}};
    return client_->GetMetrics(trigger, "keda_gpu_metric");
  }
  // Blocks until the value is `want`, for 30 s at most.
  absl::StatusOr<double> WaitForValue(double want) const {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(30);
    absl::StatusOr<double> value = Value();
    while ((!value.ok() || *value != want) && real.Now() < deadline) value = Value();
    return value;
  }

  Config WithTls(Config config) const {
    config.tls_cert = tls_.cert;
    config.tls_key = tls_.key;
    config.tls_client_ca = tls_.client_ca;
    return config;
  }

  const TestFolder folder_;
  const SteadyClock clock_;
  TlsFiles tls_;
  std::string aggregators_;  // --aggregators of agents that start next
  std::vector<std::unique_ptr<RunningRole>> agents_;
  std::unique_ptr<RunningRole> aggregator_;
  std::unique_ptr<ScalerClient> client_;
};

TEST_F(RolesTest, AggregatorAnswersForAllNodes) {
  const std::string a = StartAgent("gpu-a", 60), b = StartAgent("gpu-b", 35);
  StartAggregator(absl::StrCat("static:", a, ",", b));
  const auto value = WaitForValue(95);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, 95);
  WriteGpus("gpu-b", 40);
  EXPECT_EQ(WaitForValue(100).value_or(-1), 100);
}

TEST_F(RolesTest, LostAgentKeepsItsLastReadingForItsGrace) {
  const std::string a = StartAgent("gpu-a", 60), b = StartAgent("gpu-b", 35);
  StartAggregator(absl::StrCat("static:", a, ",", b));
  ASSERT_EQ(WaitForValue(95).value_or(-1), 95);
  agents_.pop_back();
  const SteadyClock real;
  for (const absl::Time end = real.Now() + absl::Seconds(1); real.Now() < end;) {
    const auto value = Value();
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(*value, 95);
  }
}

TEST_F(RolesTest, AggregatorHasPriorityOverOtherReaders) {
  aggregators_ = "static:127.0.0.1:6000";
  const std::string agent = StartAgent("gpu-a", 60);
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 64; ++i) {
    strangers.push_back(std::make_unique<RawClient>(agents_.back()->grpc_port(),
                                                    absl::StrCat("127.0.1.", i).c_str()));
    strangers.back()->Begin();
    strangers.back()->Send(CallHead(1, "/gpuscaler.telemetry.v1.NodeTelemetry/Watch") +
                           DataFrame(1, ""));
    EXPECT_TRUE(strangers.back()->Read(FrameType::kData).has_value()) << i;
  }
  StartAggregator(absl::StrCat("static:", agent));
  EXPECT_EQ(WaitForValue(60).value_or(-1), 60);
}

TEST_F(RolesTest, AgentLimitsStreamsPerConnection) {
  const std::string agent = StartAgent("gpu-a", 60);
  RawClient stranger(agents_.back()->grpc_port(), "127.0.3.2");
  stranger.Begin();
  for (uint32_t i = 0; i <= 256; ++i) {
    stranger.Send(CallHead(1 + 2 * i, "/grpc.health.v1.Health/Check"));
  }
  const auto refused = stranger.Read(FrameType::kReset);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->stream, 1 + 2 * 256);
  EXPECT_EQ(refused->payload, BigEndian(7, 4)) << "REFUSED_STREAM";
  StartAggregator(absl::StrCat("static:", agent));
  EXPECT_EQ(WaitForValue(60).value_or(-1), 60);
}

TEST_F(RolesTest, AggregatorWithoutAnyAgentReturnsTheReason) {
  StartAggregator("static:127.0.0.1:1");
  const auto value = Value();
  EXPECT_EQ(value.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(value.status().message()), HasSubstr("127.0.0.1:1"));
}

TEST_F(RolesTest, AgentsAndAggregatorAuthenticateByCertificates) {
  const TestCa ca("our CA");
  tls_ = WriteTls(folder_.path(), ca.Issue("fleet"), ca.pem());
  StartAggregator(absl::StrCat("static:", StartAgent("gpu-a", 60)));
  EXPECT_EQ(WaitForValue(60).value_or(-1), 60);
}

TEST_F(RolesTest, AllThreadsEndInDrain) {
  StartAggregator(absl::StrCat("static:", StartAgent("gpu-a", 60)));
  ASSERT_EQ(WaitForValue(60).value_or(-1), 60);
  EXPECT_THAT(aggregator_->Drain(absl::Seconds(3)), testing::IsEmpty());
  EXPECT_THAT(agents_[0]->Drain(absl::Seconds(3)), testing::IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
