// A fleet in a network without IPv4, at its default addresses and ports.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "name_server.h"
#include "own_network.h"
#include "process.h"
#include "serve/test_http_client.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

constexpr char kLoopback[] = "::1";
constexpr char kAgents[] = "dns:///agents.gpu.svc:6001";

std::string Page(int port, const std::string& path) {
  const auto reply = Request(port, "GET", path, nullptr, kLoopback);
  return reply.ok() ? reply->body : reply.status().ToString();
}

std::string QueryAt(const std::string& scaler) {
  const Finished query =
      RunProgram({"query", scaler, "metricType=gpu_utilization", "targetValue=80", "window=0s"});
  return absl::StrCat(query.out, query.err);
}

class Ipv6OnlyTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made().ok()) << network_.made();
    const absl::Status asked = UseOwnNameServer(".", 1, kLoopback);
    ASSERT_TRUE(asked.ok()) << asked;
  }

  const Ipv6OnlyNetwork network_;
};

TEST_F(Ipv6OnlyTest, FleetAnswersAtAddressesAndAtNamesOfDns) {
  const NameServer dns({kLoopback});
  const std::string gpus = WriteTestFile(
      "gpus.json", R"({"gpus": [{"uuid": "GPU-a", "name": "Sim", "utilization_percent": 60}]})");
  const Process agent({"serve", "--role=agent", absl::StrCat("--gpu-source=file:", gpus),
                       "--attribution=none", "--node-name=gpu-1", "--metrics-port=9091",
                       "--probe-port=8083"});
  ASSERT_TRUE(agent.WaitForErr("event=serving")) << agent.Diagnostics();
  const Process aggregator({"serve", "--role=aggregator", absl::StrCat("--agents=", kAgents)});
  ASSERT_TRUE(aggregator.WaitForErr("event=agent_connected address=[::1]:6001"))
      << aggregator.Diagnostics();
  EXPECT_TRUE(agent.WaitForErr("event=telemetry_reader peer=::1")) << agent.Err();

  ASSERT_TRUE(Eventually([] { return Page(8081, "/readyz") == "ok\n"; })) << aggregator.Err();
  EXPECT_THAT(Page(9090, "/metrics"), HasSubstr("\nkeda_gpu_scaler_agents_heard 1\n"));
  for (const char* scaler : {"::1", "[::1]:6000", "scaler.gpu.svc", "dns:///scaler.gpu.svc:6000"}) {
    EXPECT_THAT(QueryAt(scaler), HasSubstr("value   60\n")) << scaler;
  }
  const Finished fleet = RunProgram({"gpus", "--fleet", "scaler.gpu.svc"});
  EXPECT_THAT(fleet.out, HasSubstr("gpu-1")) << fleet.err;
}

// Both resolvers use that server: getaddrinfo(), and our own, which must confirm an absence.
TEST_F(Ipv6OnlyTest, AbsenceOfAgentsComesFromDns) {
  const NameServer dns({});
  const Process aggregator({"serve", "--role=aggregator", absl::StrCat("--agents=", kAgents)});
  EXPECT_TRUE(aggregator.WaitForErr("event=no_agents_listed")) << aggregator.Diagnostics();
}

}  // namespace
}  // namespace gpuscaler
