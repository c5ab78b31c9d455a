// The metrics that agents and aggregators export about each other.
#include <cstdlib>

#include "base/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "role/test_fleet.h"
#include "wire/channel.h"
#include "wire/client_tls.h"
#include "wire/test_certificates.h"

namespace gpuscaler {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class RoleMetricsTest : public TestFleet {
 protected:
  std::string AggregatorMetrics() const { return FetchMetrics(aggregator_->metrics_port()); }
  std::string AgentMetrics(const std::string& node) const {
    return FetchMetrics(agents_.at(node)->metrics_port());
  }

  // Blocks until the page has `line`, for 10 s at most.
  template <typename Page>
  static std::string PageWith(const std::string& line, Page page) {
    return WaitFor(page, [&](const std::string& text) {
      return text.find(absl::StrCat("\n", line, "\n")) != std::string::npos;
    });
  }
  static std::string Line(const std::string& line) { return absl::StrCat("\n", line, "\n"); }

  // Returns -1 if the page has no such series.
  static double ValueOf(const std::string& series, const std::string& page) {
    const size_t at = page.find(absl::StrCat("\n", series, " "));
    return at == std::string::npos ? -1 : std::atof(page.c_str() + at + series.size() + 2);
  }

  std::string OfAgent(const std::string& metric, const std::string& node) const {
    return absl::StrCat("keda_gpu_scaler_", metric, R"({agent=")", addresses_.at(node),
                        R"(",node=")", node, R"("})");
  }
};

TEST_F(RoleMetricsTest, AggregatorExportsItsAgents) {
  StartNode("gpu-a", {{"team-a", "llm-6d4cf56db6-x7k2p", 60}});
  StartNode("gpu-b", {{"team-a", "llm-6d4cf56db6-q2w4r", 35}});
  StartAggregator(RoleConfig(), {"127.0.0.1:1"});
  const auto page = [this] { return AggregatorMetrics(); };
  std::string text = PageWith("keda_gpu_scaler_agents_heard 2", page);
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_agents_heard 2")));
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_agents_listed 3")));
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_agents_silent 1")));
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_agents_lookup_failing 0")));
  EXPECT_THAT(text, HasSubstr(Line(OfAgent("agent_up", "gpu-a") + " 1")));
  EXPECT_THAT(text, HasSubstr(Line(R"(keda_gpu_scaler_agent_up{agent="127.0.0.1:1",node=""} 0)")));
  const std::string age = OfAgent("agent_reading_age_seconds", "gpu-b");
  text = WaitFor(page, [&](const std::string& got) { return ValueOf(age, got) >= 0; });
  EXPECT_GE(ValueOf(age, text), 0);
  EXPECT_GT(ValueOf(OfAgent("agent_received_bytes_total", "gpu-a"), text), 0);
  EXPECT_THAT(text, HasSubstr(Line(OfAgent("agent_reconnects_total", "gpu-a") + " 0")));

  agents_.erase("gpu-b");
  text = PageWith(OfAgent("agent_up", "gpu-b") + " 0", page);
  EXPECT_THAT(text, HasSubstr(Line(OfAgent("agent_up", "gpu-b") + " 0")));
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_agents_silent 2")));
  text = PageWith(OfAgent("agent_reconnects_total", "gpu-b") + " 1", page);
  EXPECT_THAT(text, HasSubstr(Line(OfAgent("agent_reconnects_total", "gpu-b") + " 1")));
  EXPECT_GE(ValueOf(age, text), 0) << "its last reading ages";
}

TEST_F(RoleMetricsTest, AggregatorCountsDecisionsByOutcome) {
  StartNode("gpu-a", {{"team-a", "llm-6d4cf56db6-x7k2p", 60}});
  StartAggregator();
  const TriggerRef trigger{
      .name = "llm", .namespace_name = "team-a", .metadata = {{"metricType", "gpu_utilization"}}};
  const auto value = WaitFor([&] { return client_->GetMetrics(trigger, "keda_gpu_metric"); },
                             [](const auto& got) { return got.ok(); });
  EXPECT_TRUE(value.ok()) << value.status();
  TriggerRef bad = trigger;
  bad.metadata = {{"metricTyp", "gpu_utilization"}};
  EXPECT_EQ(client_->IsActive(bad).status().code(), absl::StatusCode::kInvalidArgument);
  const std::string text = AggregatorMetrics();
  EXPECT_THAT(text, ContainsRegex(R"(decisions_total\{outcome="value"\} [1-9])"));
  EXPECT_THAT(text, HasSubstr(R"(decisions_total{outcome="bad_metadata"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(decisions_total{outcome="unavailable"} )"));
}

TEST_F(RoleMetricsTest, AgentExportsItsReadersAndMessages) {
  StartNode("gpu-a", {{"team-a", "llm-6d4cf56db6-x7k2p", 60}});
  StartAggregator();
  const std::string pod = R"(namespace="team-a",pod="llm-6d4cf56db6-x7k2p")";
  const std::string text =
      WaitFor([this] { return AgentMetrics("gpu-a"); },
              [&pod](const std::string& page) {
                return page.find("telemetry_heartbeats_total 0\n") == std::string::npos &&
                       page.find("telemetry_snapshots_total 0\n") == std::string::npos &&
                       page.find(pod) != std::string::npos;
              });
  EXPECT_THAT(text, ContainsRegex("keda_gpu_scaler_collections_total [1-9]"));
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_collection_errors_total 0")));
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_telemetry_readers 1")));
  EXPECT_THAT(text, ContainsRegex("keda_gpu_scaler_telemetry_sent_bytes_total [1-9]"));
  EXPECT_THAT(text, ContainsRegex("keda_gpu_scaler_telemetry_snapshots_total [1-9]"));
  EXPECT_THAT(text, ContainsRegex("keda_gpu_scaler_telemetry_heartbeats_total [1-9]"));
  EXPECT_THAT(text, HasSubstr(R"(telemetry_refused_total{reason="too_many"} 0)"));
  EXPECT_THAT(text, HasSubstr(pod));
}

// Without a web port too.
TEST_F(RoleMetricsTest, PricesOfTheFleetsModelsAreExported) {
  Config config = RoleConfig();
  config.node_name = "gpu-a";
  config.gpu_source =
      absl::StrCat("file:", folder_.Write("gpus.json", R"({"gpus": [{"name": "NVIDIA L4"}]})"));
  config.attribution = AttributionMode::kNone;
  config.prices =
      folder_.Write("prices.csv", "GPU model,price per hour\nNVIDIA L4,0.75\nNVIDIA H200,3.5\n");
  config.currency = "EUR";
  const auto scaler = RunningRole::Start(config, clock_);
  ASSERT_TRUE(scaler.ok()) << scaler.status();
  const std::string price =
      R"(keda_gpu_scaler_gpu_hourly_price{gpu_model="NVIDIA L4",currency="EUR"} 0.75)";
  const std::string text = PageWith(price, [&] { return FetchMetrics((*scaler)->metrics_port()); });
  EXPECT_THAT(text, HasSubstr(Line(price)));
  EXPECT_THAT(text, Not(HasSubstr("H200")));
}

// An agent and its clients, with certificates of "our CA" or invalid ones.
class RefusedCertificatesTest : public RoleMetricsTest {
 protected:
  void StartAgent(const TestCa& issuer) {
    Config config = WithTls(RoleConfig(), issuer.Issue("agent"));
    config.role = Role::kAgent;
    config.bind_address = "0.0.0.0";  // and so 127.0.0.2, which no certificate is for
    config.node_name = "gpu-a";
    config.gpu_source = "none";
    config.attribution = AttributionMode::kNone;
    auto agent = RunningRole::Start(config, clock_);
    ASSERT_TRUE(agent.ok()) << agent.status();
    agents_["gpu-a"] = *std::move(agent);
  }

  Config WithTls(Config config, const TestCertificate& pair) {
    const std::string folder = folder_.AddFolder(absl::StrCat("tls", ++folders_));
    const TlsFiles files = WriteTls(folder, pair, ca_.pem());
    config.tls_cert = files.cert;
    config.tls_key = files.key;
    config.tls_client_ca = files.client_ca;
    return config;
  }

  // Blocks until a client with that certificate, or none, has failed to connect.
  void FailToConnect(const TestCertificate& pair) const {
    EventLoop loop;
    Channel channel(
        loop, {.address = absl::StrCat("127.0.0.1:", agents_.at("gpu-a")->grpc_port()), .tls = [&] {
                 return ClientTls({.cert = pair.cert, .key = pair.key, .ca = ca_.pem()});
               }});
    const CallEnd end = channel
                            .CallRaw("/gpuscaler.telemetry.v1.NodeTelemetry/Watch", "",
                                     {.timeout = absl::Seconds(10)})
                            .end;
    EXPECT_TRUE(absl::IsUnavailable(end.status)) << end.status;
    EXPECT_TRUE(end.connect_fault.has_value()) << end.status;
  }

  // Starts an aggregator with a valid certificate and the agent's address `address`.
  void Watch(const std::string& address) {
    Config config = WithTls(RoleConfig(), ca_.Issue("aggregator"));
    config.role = Role::kAggregator;
    config.agents = absl::StrCat("static:", address, ":", agents_.at("gpu-a")->grpc_port());
    auto aggregator = RunningRole::Start(config, clock_);
    ASSERT_TRUE(aggregator.ok()) << aggregator.status();
    aggregator_ = *std::move(aggregator);
  }

  // In tests both sides are one process, which counts for both.
  static int Refused(const std::string& reason, const std::string& page) {
    const std::string series =
        absl::StrCat("keda_gpu_scaler_tls_handshakes_failed_total{reason=\"", reason, "\"} ");
    const size_t at = page.find(series);
    return at == std::string::npos ? -1 : std::atoi(page.c_str() + at + series.size());
  }
  int RefusedByAgent(const std::string& reason) const {
    return Refused(reason, AgentMetrics("gpu-a"));
  }
  int RefusedByAggregator(const std::string& reason) const {
    return Refused(reason, AggregatorMetrics());
  }

  const TestCa ca_{"our CA"};
  int folders_ = 0;
};

TEST_F(RefusedCertificatesTest, ClientWithoutAValidCertificateIsCountedAndLogged) {
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  StartAgent(ca_);
  const int none = RefusedByAgent("no_certificate");
  const int untrusted = RefusedByAgent("untrusted_certificate");
  ASSERT_GE(none, 0);
  FailToConnect({});
  EXPECT_GT(
      WaitFor([&] { return RefusedByAgent("no_certificate"); }, [&](int n) { return n > none; }),
      none);
  EXPECT_EQ(RefusedByAgent("untrusted_certificate"), untrusted);
  FailToConnect(TestCa("their CA").Issue("aggregator"));
  EXPECT_GT(WaitFor([&] { return RefusedByAgent("untrusted_certificate"); },
                    [&](int n) { return n > untrusted; }),
            untrusted);
  EXPECT_THAT(AgentMetrics("gpu-a"), HasSubstr(Line("keda_gpu_scaler_telemetry_readers 0")));
  agents_.clear();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("event=tls_handshake_failed reason=no_certificate"));
  EXPECT_THAT(log, HasSubstr("event=tls_handshake_failed reason=untrusted_certificate"));
}

TEST_F(RefusedCertificatesTest, AgentOfAnotherCaIsRefusedAndCountedByTheAggregator) {
  StartAgent(TestCa("their CA"));
  const int untrusted = RefusedByAgent("untrusted_certificate");
  const int wrong_name = RefusedByAgent("wrong_name");
  Watch("127.0.0.1");
  EXPECT_GT(WaitFor([&] { return RefusedByAggregator("untrusted_certificate"); },
                    [&](int n) { return n > untrusted; }),
            untrusted);
  EXPECT_EQ(RefusedByAggregator("wrong_name"), wrong_name);
  EXPECT_THAT(AggregatorMetrics(), HasSubstr(Line("keda_gpu_scaler_agents_heard 0")));
}

TEST_F(RefusedCertificatesTest, AgentWithACertificateForAnotherNameIsRefusedCountedAndLogged) {
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  StartAgent(ca_);
  const int wrong_name = RefusedByAgent("wrong_name");
  Watch("127.0.0.2");
  EXPECT_GT(WaitFor([&] { return RefusedByAggregator("wrong_name"); },
                    [&](int n) { return n > wrong_name; }),
            wrong_name);
  EXPECT_THAT(AggregatorMetrics(), HasSubstr(Line("keda_gpu_scaler_agents_heard 0")));
  aggregator_.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              ContainsRegex("event=agent_lost address=127.0.0.2:.*certificate is for another name: "
                            "its certificate must be for the host in --agents"));
}

}  // namespace
}  // namespace gpuscaler
