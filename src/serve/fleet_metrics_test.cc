#include "serve/fleet_metrics.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

const absl::Time kFleetNow = absl::UnixEpoch() + absl::Hours(1);

TEST(FleetMetrics, EachAgentHasItsSeries) {
  const AgentsPage page = {
      .agents = {{.address = "10.0.0.7:6001",
                  .node = "gpu-a",
                  .listed = true,
                  .connected = true,
                  .read_at = kFleetNow - absl::Milliseconds(1500)},
                 {.address = "10.0.0.8:6001", .listed = true, .why = "connection refused"}},
      .counts = {{"10.0.0.7:6001", {.attempts = 3, .messages = 9, .bytes = 4711}}},
      .faults = {.forgotten = 2, .disputed_nodes = 1, .shared_pods = 2}};
  const std::string text = AgentsMetrics(page, kFleetNow);
  for (const char* line : {
           R"(keda_gpu_scaler_agent_up{agent="10.0.0.7:6001",node="gpu-a"} 1)",
           R"(keda_gpu_scaler_agent_up{agent="10.0.0.8:6001",node=""} 0)",
           R"(keda_gpu_scaler_agent_reading_age_seconds{agent="10.0.0.7:6001",node="gpu-a"} 1.5)",
           R"(keda_gpu_scaler_agent_reconnects_total{agent="10.0.0.7:6001",node="gpu-a"} 2)",
           R"(keda_gpu_scaler_agent_reconnects_total{agent="10.0.0.8:6001",node=""} 0)",
           R"(keda_gpu_scaler_agent_received_bytes_total{agent="10.0.0.7:6001",node="gpu-a"} 4711)",
           "keda_gpu_scaler_agents_listed 2",
           "keda_gpu_scaler_agents_heard 1",
           "keda_gpu_scaler_agents_silent 1",
           "keda_gpu_scaler_agents_forgotten_total 2",
           "keda_gpu_scaler_agents_lookup_failing 0",
           "keda_gpu_scaler_nodes_claimed_twice 1",
           "keda_gpu_scaler_pods_on_two_nodes 2",
       }) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n", line, "\n")));
  }
  EXPECT_THAT(text, Not(HasSubstr(R"(reading_age_seconds{agent="10.0.0.8)")))
      << "nothing was read: unknown is not 0";
}

TEST(FleetMetrics, DnsFailureIsExported) {
  EXPECT_THAT(
      AgentsMetrics({.faults = {.lookup_error = "agents.gpu: Temporary failure"}}, kFleetNow),
      HasSubstr("\nkeda_gpu_scaler_agents_lookup_failing 1\n"));
}

TEST(FleetMetrics, MessagesWithReadingsAndWithoutAreTwoCounters) {
  const std::string text = TelemetryMetrics(
      {.readers = 2, .messages = 10, .heartbeats = 7, .bytes = 512, .refused_as_too_many = 1});
  for (const char* line : {
           "keda_gpu_scaler_telemetry_readers 2",
           "keda_gpu_scaler_telemetry_sent_bytes_total 512",
           "keda_gpu_scaler_telemetry_snapshots_total 3",
           "keda_gpu_scaler_telemetry_heartbeats_total 7",
           R"(keda_gpu_scaler_telemetry_refused_total{reason="too_many"} 1)",
           R"(keda_gpu_scaler_telemetry_refused_total{reason="stopping"} 0)",
       }) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n", line, "\n")));
  }
}

TEST(FleetMetrics, ReadingsOfEnginesAreCountedOnBothSides) {
  const std::string reported = EngineReaderMetrics({.readers = 2, .readings = 7, .bytes = 512});
  EXPECT_THAT(reported, HasSubstr("\nkeda_gpu_scaler_telemetry_engine_readers 2\n"));
  EXPECT_THAT(reported, HasSubstr("\nkeda_gpu_scaler_telemetry_engine_readings_total 7\n"));
  EXPECT_THAT(reported, HasSubstr("\nkeda_gpu_scaler_telemetry_engine_sent_bytes_total 512\n"));
  const std::string received =
      EngineStreamMetrics(3, {.attempts = 4, .messages = 5, .readings = 6, .bytes = 7});
  EXPECT_THAT(received, HasSubstr("\nkeda_gpu_scaler_engine_streams 3\n"));
  EXPECT_THAT(received, HasSubstr("\nkeda_gpu_scaler_engine_streams_begun_total 4\n"));
  EXPECT_THAT(received, HasSubstr("\nkeda_gpu_scaler_engine_readings_received_total 6\n"));
  EXPECT_THAT(received, HasSubstr("\nkeda_gpu_scaler_engine_received_bytes_total 7\n"));
}

TEST(FleetMetrics, LimitsThatClientsHitAreCountedByName) {
  WireServerCounts counts{.connections = 3};
  counts.limits[static_cast<size_t>(Limit::kStreamsPerAddress)] = 4;
  const std::string text = GrpcMetrics(counts);
  EXPECT_THAT(text, HasSubstr("\nkeda_gpu_scaler_grpc_connections 3\n"));
  EXPECT_THAT(text,
              HasSubstr("\nkeda_gpu_scaler_grpc_limits_total{limit=\"streams_per_address\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("\nkeda_gpu_scaler_grpc_limits_total{limit=\"resets\"} 0\n"));
}

TEST(FleetMetrics, RefusedRepliesOfTheWebPortAreCounted) {
  EXPECT_THAT(WebMetrics(3), HasSubstr("\nkeda_gpu_scaler_web_replies_refused_total 3\n"));
}

TEST(FleetMetrics, NamespacesOfAPartAreListed) {
  EXPECT_THAT(AgentsMetrics({.namespaces = {"team-a"}}, kFleetNow),
              testing::HasSubstr("keda_gpu_scaler_served_namespace{namespace=\"team-a\"} 1\n"));
  EXPECT_THAT(AgentsMetrics({}, kFleetNow), testing::Not(testing::HasSubstr("served_namespace{")));
}

}  // namespace
}  // namespace gpuscaler
