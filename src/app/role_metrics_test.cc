// What agents and aggregators show of each other on their pages.
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <cstdlib>

#include "app/test_fleet.h"
#include "base/log.h"
#include "fleet/test_certificates.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class RoleMetricsTest : public TestFleet {
 protected:
  std::string AggregatorsPage() const { return MetricsPage(aggregator_->metrics_port()); }
  std::string AgentsPageOf(const std::string& node) const {
    return MetricsPage(agents_.at(node)->metrics_port());
  }

  // The page once it has `line`; what it is after 10 s.
  template <typename Page>
  static std::string PageWith(const std::string& line, Page page) {
    return WaitFor(page, [&](const std::string& text) {
      return text.find(absl::StrCat("\n", line, "\n")) != std::string::npos;
    });
  }
  static std::string Line(const std::string& line) { return absl::StrCat("\n", line, "\n"); }

  // -1: the page has no such series.
  static double ValueOf(const std::string& series, const std::string& page) {
    const size_t at = page.find(absl::StrCat("\n", series, " "));
    return at == std::string::npos ? -1 : std::atof(page.c_str() + at + series.size() + 2);
  }

  std::string OfAgent(const std::string& metric, const std::string& node) const {
    return absl::StrCat("keda_gpu_scaler_", metric, R"({agent=")", addresses_.at(node),
                        R"(",node=")", node, R"("})");
  }
};

TEST_F(RoleMetricsTest, AggregatorShowsItsAgents) {
  StartNode("gpu-a", {{"team-a", "llm-6d4cf56db6-x7k2p", 60}});
  StartNode("gpu-b", {{"team-a", "llm-6d4cf56db6-q2w4r", 35}});
  StartAggregator(RoleConfig(), {"127.0.0.1:1"});
  const auto page = [this] { return AggregatorsPage(); };
  std::string text = PageWith("keda_gpu_scaler_agents_heard 2", page);
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_agents_heard 2")));
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_agents_listed 3")));
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_agents_silent 1")));
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_agents_lookup_failing 0")));
  EXPECT_THAT(text, HasSubstr(Line(OfAgent("agent_up", "gpu-a") + " 1")));
  EXPECT_THAT(text, HasSubstr(Line(R"(keda_gpu_scaler_agent_up{agent="127.0.0.1:1",node=""} 0)")));
  EXPECT_GE(ValueOf(OfAgent("agent_reading_age_seconds", "gpu-b"), text), 0);
  EXPECT_GT(ValueOf(OfAgent("agent_received_bytes_total", "gpu-a"), text), 0);
  EXPECT_THAT(text, HasSubstr(Line(OfAgent("agent_reconnects_total", "gpu-a") + " 0")));

  agents_.erase("gpu-b");
  text = PageWith(OfAgent("agent_up", "gpu-b") + " 0", page);
  EXPECT_THAT(text, HasSubstr(Line(OfAgent("agent_up", "gpu-b") + " 0")));
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_agents_silent 2")));
  text = PageWith(OfAgent("agent_reconnects_total", "gpu-b") + " 1", page);
  EXPECT_THAT(text, HasSubstr(Line(OfAgent("agent_reconnects_total", "gpu-b") + " 1")));
  EXPECT_GE(ValueOf(OfAgent("agent_reading_age_seconds", "gpu-b"), text), 0)
      << "what it said last grows old";
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
  const std::string text = AggregatorsPage();
  EXPECT_THAT(text, ContainsRegex(R"(decisions_total\{outcome="value"\} [1-9])"));
  EXPECT_THAT(text, HasSubstr(R"(decisions_total{outcome="bad_metadata"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(decisions_total{outcome="unavailable"} )"));
}

TEST_F(RoleMetricsTest, AgentShowsWhomItTellsAndHowMuch) {
  StartNode("gpu-a", {{"team-a", "llm-6d4cf56db6-x7k2p", 60}});
  StartAggregator();
  const std::string text =
      WaitFor([this] { return AgentsPageOf("gpu-a"); },
              [](const std::string& page) {
                return page.find("telemetry_heartbeats_total 0\n") == std::string::npos &&
                       page.find("telemetry_snapshots_total 0\n") == std::string::npos;
              });
  EXPECT_THAT(text, HasSubstr(Line("keda_gpu_scaler_telemetry_readers 1")));
  EXPECT_THAT(text, ContainsRegex("keda_gpu_scaler_telemetry_sent_bytes_total [1-9]"));
  EXPECT_THAT(text, ContainsRegex("keda_gpu_scaler_telemetry_snapshots_total [1-9]"));
  EXPECT_THAT(text, ContainsRegex("keda_gpu_scaler_telemetry_heartbeats_total [1-9]"));
  EXPECT_THAT(text, HasSubstr(R"(telemetry_refused_total{reason="too_many"} 0)"));
  EXPECT_THAT(text, HasSubstr(R"(namespace="team-a",pod="llm-6d4cf56db6-x7k2p")"));
}

// An agent that wants certificates of "our CA".
class RefusedCertificatesTest : public RoleMetricsTest {
 protected:
  void SetUp() override {
    const std::string folder = absl::StrCat(testing::TempDir(), "/refused.", getpid());
    mkdir(folder.c_str(), 0700);
    files_ = WriteTls(folder, ca_.Issue("agent"), ca_.pem());
    Config config = RoleConfig();
    config.role = Role::kAgent;
    config.node_name = "gpu-a";
    config.gpu_source = "none";
    config.attribution = AttributionMode::kNone;
    config.tls_cert = files_.cert;
    config.tls_key = files_.key;
    config.tls_client_ca = files_.client_ca;
    auto agent = Agent::Start(config, clock_);
    ASSERT_TRUE(agent.ok()) << agent.status();
    agents_["gpu-a"] = *std::move(agent);
  }

  // A client with that certificate, or none, tries to connect.
  void Knock(const TestPair& pair) const {
    const auto channel =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", agents_.at("gpu-a")->grpc_port()),
                            grpc::SslCredentials({.pem_root_certs = ca_.pem(),
                                                  .pem_private_key = pair.key,
                                                  .pem_cert_chain = pair.cert}));
    channel->GetState(true);
    knocking_.push_back(channel);
  }

  int Refused(const std::string& reason) const {
    const std::string page = AgentsPageOf("gpu-a");
    const std::string series =
        absl::StrCat("keda_gpu_scaler_tls_handshakes_failed_total{reason=\"", reason, "\"} ");
    const size_t at = page.find(series);
    return at == std::string::npos ? -1 : std::atoi(page.c_str() + at + series.size());
  }

  const TestCa ca_{"our CA"};
  TlsFiles files_;
  mutable std::vector<std::shared_ptr<grpc::Channel>> knocking_;
};

TEST_F(RefusedCertificatesTest, ClientWithoutAValidCertificateIsCountedAndLoggedByItsFault) {
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  const int none = Refused("no_certificate"), untrusted = Refused("untrusted_certificate");
  ASSERT_GE(none, 0);
  Knock({});
  EXPECT_GT(WaitFor([&] { return Refused("no_certificate"); }, [&](int n) { return n > none; }),
            none);
  EXPECT_EQ(Refused("untrusted_certificate"), untrusted);
  Knock(TestCa("their CA").Issue("aggregator"));
  EXPECT_GT(WaitFor([&] { return Refused("untrusted_certificate"); },
                    [&](int n) { return n > untrusted; }),
            untrusted);
  EXPECT_THAT(AgentsPageOf("gpu-a"), HasSubstr(Line("keda_gpu_scaler_telemetry_readers 0")));
  knocking_.clear();
  agents_.clear();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("event=tls_handshake_failed reason=no_certificate"));
  EXPECT_THAT(log, HasSubstr("event=tls_handshake_failed reason=untrusted_certificate"));
}

}  // namespace
}  // namespace gpuscaler
