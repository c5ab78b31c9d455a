// `serve` and `query` as processes: the program as a cluster uses it.
#include <csignal>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bound_port.h"
#include "externalscaler.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "health_check.h"
#include "nlohmann/json.hpp"
#include "process.h"
#include "serve/test_http_client.h"
#include "wire/methods.h"
#include "wire/test_call.h"
#include "wire/test_certificates.h"
#include "wire/test_frames.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Property;

// Two GPUs at 90 %, in use.
constexpr char kBusyGpus[] = R"({"driver_version": "sim", "gpus": [
  {"index": 0, "uuid": "GPU-a", "name": "Sim", "utilization_percent": 90,
   "memory_used_bytes": 40000, "memory_total_bytes": 80000},
  {"index": 1, "uuid": "GPU-b", "name": "Sim", "utilization_percent": 90,
   "memory_used_bytes": 40000, "memory_total_bytes": 80000}]})";

constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";

std::string BusySource() {
  return absl::StrCat("--gpu-source=file:", WriteTestFile("gpus.json", kBusyGpus));
}

// Repeats `query` until it succeeds: a server may take long for its first GPU reading.
Finished QueryUntilRead(const std::vector<std::string>& args, const std::string& input = "") {
  Finished query;
  Eventually([&] {
    query = RunProgram(args, {}, input);
    return query.code == 0;
  });
  return query;
}

TEST(Serve, AnswersKedaAndShutsDownOnSigterm) {
  Server server({BusySource()});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const Finished query = QueryUntilRead({"query", server.Address(), "--replicas=2", "--explain",
                                         "metricType=gpu_utilization", "window=0s"});
  EXPECT_EQ(query.code, 0) << query.out << query.err;
  EXPECT_THAT(query.out, HasSubstr("metric  keda_gpu_metric, target 80 (AverageValue)"));
  EXPECT_THAT(query.out, HasSubstr("value   180\n"));
  EXPECT_THAT(query.out, HasSubstr("active  yes\n"));
  EXPECT_THAT(query.out, HasSubstr("hpa     from 2 to 3\n"));
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(), 0) << server.process().Err();
  EXPECT_THAT(server.process().Err(), HasSubstr("event=stopped"));
}

TEST(Serve, SurvivesUnusedSignals) {
  Server server({BusySource()});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  server.process().Signal(SIGUSR1);
  server.process().Signal(SIGUSR2);
  EXPECT_EQ(QueryUntilRead({"query", server.Address(), "metricType=gpu_utilization"}).code, 0)
      << server.process().Diagnostics();
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(), 0) << server.process().Err();
}

TEST(Serve, ReadsTheLevelOfItsLogAgainOnSighup) {
  const std::string config = WriteTestFile("config.yaml", "log-level: info\n");
  Server server({"--config", config, "--gpu-source=none"});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  ReplaceFile(config, "log-level: loud\n");
  server.process().Signal(SIGHUP);
  EXPECT_TRUE(server.process().WaitForErr("event=reload_failed what=log-level"))
      << server.process().Diagnostics();
  ReplaceFile(config, "log-level: error\n");
  server.process().Signal(SIGHUP);
  EXPECT_TRUE(Eventually([&] {
    const std::string log = server.process().Err();
    return log.find("event=reloading") != log.rfind("event=reloading");
  })) << server.process().Diagnostics();
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(), 0) << server.process().Err();
  EXPECT_THAT(server.process().Err(), Not(HasSubstr("event=stopped"))) << "of level info";
}

TEST(Serve, ReadsItsProfilesAgainOnSighup) {
  EXPECT_TRUE(OnceInThree([] {
    const std::string profiles =
        WriteTestFile("profiles.yaml", "profiles: {ours: {metricType: gpu_utilization}}\n");
    Server server({"--profiles", profiles, "--gpu-source=none"});
    EXPECT_TRUE(server.Ready()) << server.process().Diagnostics();
    ReplaceFile(profiles, "profiles: [\n");
    server.process().Signal(SIGHUP);
    EXPECT_TRUE(server.process().WaitForErr("event=reload_failed what=profiles"));
    ReplaceFile(profiles, "profiles: {}\n");
    server.process().Signal(SIGHUP);
    // Without the signal they are read every 5 s.
    return server.process().WaitForErr("event=reload_recovered what=profiles", absl::Seconds(3));
  }));
}

// A health Watch does not end by itself.
TEST(Serve, EndsWithin5SecondsOfSigtermUnderAWatchOfItsHealth) {
  EXPECT_TRUE(OnceInThree([&] {
    Server server({BusySource()});
    EXPECT_TRUE(server.Ready()) << server.process().Diagnostics();
    EventLoop loop;
    Channel channel(loop, {.address = server.Address()});
    TestCall<HealthCheckRequest, HealthCheckResponse> watch(channel, kWatch);
    watch.Send({});
    EXPECT_THAT(watch.WaitForMessages(1),
                ElementsAre(Property(&HealthCheckResponse::status, HealthCheckResponse::SERVING)));
    server.process().Signal(SIGTERM);
    const bool in_time = server.process().Wait(absl::Seconds(5)).has_value();
    EXPECT_EQ(server.process().Wait(), 0) << server.process().Diagnostics();
    EXPECT_THAT(server.process().Err(), HasSubstr("event=stopped"));
    return in_time;
  }));
}

// Opens calls and resets them until each connection is closed: a client address has 30,000 resets.
void ResetCalls(std::vector<std::unique_ptr<RawClient>>& clients) {
  for (const auto& client : clients) {
    client->Begin();
    uint32_t stream = 1;
    bool is_open = true;
    while (is_open && stream < 1'000'000) {
      std::string calls;
      for (int i = 0; i < 1000; ++i, stream += 2)
        calls += CallHead(stream, kWatch) + ResetFrame(stream);
      is_open = client->Send(calls);
    }
  }
}

TEST(Serve, EndsWithin5SecondsOfSigtermUnderAttack) {
  EXPECT_TRUE(OnceInThree([&] {
    Server server({BusySource()});
    EXPECT_TRUE(server.Ready()) << server.process().Diagnostics();
    RawClient streams(server.Port("grpc"), "127.0.4.1");
    streams.Begin();
    std::string calls;
    for (uint32_t i = 0; i < 20'000; ++i) {
      calls += CallHead(1 + 2 * i, kWatch) + DataFrame(1 + 2 * i, "", kEndStream);
    }
    EXPECT_TRUE(streams.Send(calls));
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 2; i < 100; ++i) {
      clients.push_back(
          std::make_unique<RawClient>(server.Port("grpc"), absl::StrCat("127.0.4.", i).c_str()));
    }
    std::thread attack([&] { ResetCalls(clients); });
    EXPECT_TRUE(server.process().WaitForErr("event=grpc_limit limit=resets"));
    server.process().Signal(SIGTERM);
    const bool in_time = server.process().Wait(absl::Seconds(5)).has_value();
    EXPECT_EQ(server.process().Wait(), 0) << server.process().Diagnostics();
    attack.join();
    return in_time;
  }));
}

TEST(Serve, ReadsItsCertificatesAgainOnSighup) {
  const TestCa ca("ours");
  const TestCertificate first = ca.Issue("first"), second = ca.Issue("second");
  EXPECT_TRUE(OnceInThree([&] {
    const std::string folder = NewTestFolder();
    const TlsFiles files = WriteTls(folder, first, "");
    Server server({"--gpu-source=none", "--tls-cert", files.cert, "--tls-key", files.key});
    EXPECT_TRUE(server.Ready()) << server.process().Diagnostics();
    WriteTls(folder, second, "");
    server.process().Signal(SIGHUP);
    // Without the signal a change is used after two reads, 5 s apart.
    return server.process().WaitForErr("event=tls_reloaded", absl::Seconds(3));
  }));
}

TEST(Serve, OnlyHealthOfTheScalerServiceFollowsTheReadings) {
  const std::string gpus = WriteTestFile("gpus.json", kBusyGpus);
  Server server({absl::StrCat("--gpu-source=file:", gpus), "--poll-interval=50ms"});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  EXPECT_TRUE(Eventually([&] { return Health(server, kScalerService) == "SERVING"; }));
  ReplaceFile(gpus, "{");
  EXPECT_TRUE(Eventually([&] { return Health(server, kScalerService) == "NOT_SERVING"; }));
  EXPECT_EQ(Health(server, ""), "SERVING");
  ReplaceFile(gpus, kBusyGpus);
  EXPECT_TRUE(Eventually([&] { return Health(server, kScalerService) == "SERVING"; }));
}

TEST(Serve, QueryReadsAScaledObject) {
  Server server({BusySource()});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const std::string manifest = WriteTestFile("so.yaml", R"(
kind: ScaledObject
metadata: {name: llm, namespace: prod}
spec:
  maxReplicaCount: 2
  triggers:
    - type: external
      metadata: {scalerAddress: "scaler:6000", metricType: gpu_utilization, window: 0s}
)");
  const Finished query = QueryUntilRead({"query", server.Address(), "--file", manifest,
                                         "--replicas=2", "--explain", "--format=json"});
  ASSERT_EQ(query.code, 0) << query.out << query.err;
  const auto json = nlohmann::json::parse(query.out);
  EXPECT_EQ(json[0]["trigger"], "ScaledObject prod/llm, trigger 0");
  EXPECT_EQ(json[0]["value"], 180);
  EXPECT_EQ(json[0]["active"], true);
  EXPECT_EQ(json[0]["desired_replicas"], 2) << "maxReplicaCount";
  EXPECT_EQ(json[0]["explanation"]["replicas"], 2);
}

TEST(Serve, BadMetadataIsNamedByQuery) {
  Server server({BusySource()});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const Finished query = RunProgram({"query", server.Address(), "targetValeu=80"});
  EXPECT_EQ(query.code, 1);
  EXPECT_THAT(query.out, HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(query.out, HasSubstr("targetValue"));
  EXPECT_THAT(query.out, HasSubstr("metric  keda_gpu_metric")) << "the spec always answers";
}

TEST(Serve, WithoutGpusItIsReadyAndAnswersUnavailable) {
  Server server({"--gpu-source=none"});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  EXPECT_EQ(Request(server.Port("probe"), "GET", "/healthz")->status, 200);
  EXPECT_EQ(Request(server.Port("probe"), "GET", "/readyz")->status, 200);
  EXPECT_EQ(Health(server, ""), "SERVING");
  EXPECT_EQ(Health(server, kScalerService), "NOT_SERVING");
  const Finished query = RunProgram({"query", server.Address()});
  EXPECT_EQ(query.code, 1) << query.out;
  EXPECT_THAT(query.out, HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(query.out, HasSubstr("--gpu-source none"));
}

TEST(Query, WaitsForAllAnswersAtOnce) {
  Server server({"--gpu-source=none"});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  EXPECT_TRUE(OnceInThree([&] {
    const absl::Time before = absl::Now();
    const Finished query = RunProgram({"query", server.Address(), "--explain"});
    EXPECT_EQ(query.code, 1);
    EXPECT_THAT(query.out, HasSubstr("metric  keda_gpu_metric")) << query.out;
    return absl::Now() - before < absl::Seconds(4);
  })) << "three answers of 1.5 s each";
}

TEST(Serve, MetricsPageShowsTheGpus) {
  Server server({BusySource()});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  std::string body;
  EXPECT_TRUE(Eventually([&] {
    const auto reply = Request(server.Port("metrics"), "GET", "/metrics");
    body = reply.ok() ? reply->body : "";
    return body.find("keda_gpu_scaler_gpu_utilization_percent{") != std::string::npos;
  })) << body;
  EXPECT_THAT(body, HasSubstr("gpu_uuid=\"GPU-b\""));
}

TEST(Serve, PortsTurnedOffAreNotOpened) {
  Server server({"--gpu-source=none", "--metrics-port=0", "--probe-port=0", "--web-port=0"});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  EXPECT_EQ(server.Port("metrics"), 0);
  EXPECT_EQ(server.Port("probe"), 0);
  EXPECT_EQ(server.Port("web"), 0);
}

TEST(Serve, BadConfigurationExits2AndNamesTheLayer) {
  const std::string file = WriteTestFile("config.yaml", "poll-interval: 2s\nprot: 6000\n");
  const std::string bad_profiles = WriteTestFile("profiles.yaml", "profiles: [\n");
  const TestCa ca("our CA");
  const TlsFiles tls = WriteTls(NewTestFolder(), ca.Issue("server"), ca.pem());
  const TlsFiles other = WriteTls(NewTestFolder(), ca.Issue("other"), ca.pem());
  const std::string wrong_key = WriteTestFile(
      "wrong_key.yaml", absl::StrCat("tls-cert: ", tls.cert, "\ntls-key: ", other.key, "\n"));
  struct Case {
    std::vector<std::string> args;
    Variables variables;
    std::string want;
  };
  const std::vector<Case> cases = {
      {{"--port=abc"}, {}, "flag --port=abc: use a port"},
      {{}, {{"KEDA_GPU_SCALER_PORT", "abc"}}, "environment KEDA_GPU_SCALER_PORT=abc: use a port"},
      {{"--config", file}, {}, file + ":2: unknown option prot; did you mean \"port\"?"},
      {{"--gpu-source=nvmll"},
       {},
       "flag --gpu-source=nvmll: use auto, nvml, amd, file:PATH, dcgm:URL, amd-exporter:URL or "
       "none"},
      {{"--tls-cert=/no/cert.pem", "--tls-key=/no/key.pem"},
       {},
       "flag --tls-cert=/no/cert.pem: cannot be read"},
      {{},
       {{"KEDA_GPU_SCALER_PORT", "any"},
        {"KEDA_GPU_SCALER_TLS_CERT", "/no/c.pem"},
        {"KEDA_GPU_SCALER_TLS_KEY", "/no/k.pem"}},
       "environment KEDA_GPU_SCALER_TLS_CERT=/no/c.pem: cannot be read"},
      {{"--config", wrong_key},
       {},
       absl::StrCat("file ", wrong_key, ":2: tls-key=", other.key, ": is not the key of")},
      {{"--metrics-tls-cert=/no/m.pem", "--metrics-tls-key=/no/k.pem"},
       {},
       "flag --metrics-tls-cert=/no/m.pem: cannot be read"},
      {{"--profiles=/no/profiles.yaml"}, {}, "flag --profiles=/no/profiles.yaml: cannot be read"},
      {{},
       {{"KEDA_GPU_SCALER_PORT", "any"}, {"KEDA_GPU_SCALER_PROFILES", "/no/p.yaml"}},
       "environment KEDA_GPU_SCALER_PROFILES=/no/p.yaml: cannot be read"},
      {{"--profiles", bad_profiles}, {}, absl::StrCat("flag --profiles=", bad_profiles, ": ")},
      {{"--role=aggregator", "--agents=static:a b:6001"},
       {},
       "flag --agents=static:a b:6001: \"a b\" is no host"},
      {{"--role=aggregator", "--agents=static:a:6001", "--gpu-source=none"},
       {},
       "flag --gpu-source is for role standalone or agent; here is role=aggregator (flag --role)"},
      {{"--agents=static:a:6001"},
       {},
       "flag --agents is for role aggregator; here is role=standalone (default)"},
      {{"--prot=1"}, {}, "serve has no flag --prot; did you mean \"--port\"?"},
  };
  for (const Case& test : cases) {
    std::vector<std::string> args = test.args;
    // Free ports, so that a busy port is not the reason; a flag would override the environment's
    // port.
    if (test.variables.empty() && test.args[0] != "--port=abc") args.push_back("--port=any");
    for (const char* flag : {"--metrics-port=any", "--probe-port=any"}) args.emplace_back(flag);
    const Finished serve = RunProgram(args, test.variables);
    EXPECT_EQ(serve.code, 2) << test.want << "\n" << serve.err;
    EXPECT_THAT(serve.err, HasSubstr(test.want));
  }
}

TEST(Serve, UnknownVariableOfOurPrefixIsAWarning) {
  Server server({"--gpu-source=none"}, {{"KEDA_GPU_SCALER_PROT", "1"}});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  EXPECT_THAT(server.process().Err(), HasSubstr("event=unknown_environment_variable"));
}

// Both roles use one ConfigMap.
TEST(Serve, SettingOfAnotherRoleFromTheEnvironmentIsAWarning) {
  Server server({"--role=aggregator", "--agents=static:127.0.0.1:1"},
                {{"KEDA_GPU_SCALER_GPU_SOURCE", "none"}});
  ASSERT_TRUE(server.Ready()) << server.process().Err();
  EXPECT_THAT(server.process().Err(),
              HasSubstr("level=warn event=setting_ignored "
                        "setting=\"environment KEDA_GPU_SCALER_GPU_SOURCE\" role=aggregator"));
}

std::string LineOf(const std::string& log, const std::string& event) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(absl::StrCat("event=", event, " ")) != std::string::npos) return line;
  }
  return "";
}

TEST(Serve, StartLogListsTheRolesSources) {
  Server aggregator({"--role=aggregator", "--agents=static:127.0.0.1:1"},
                    {{"KEDA_GPU_SCALER_GPU_SOURCE", "none"}});
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Err();
  const std::string log = aggregator.process().Err();
  EXPECT_THAT(LineOf(log, "serving"), HasSubstr("role=aggregator"));
  EXPECT_THAT(LineOf(log, "serving"), HasSubstr("agents=static:127.0.0.1:1"));
  EXPECT_THAT(LineOf(log, "serving"), Not(HasSubstr("gpu_source=")));
  EXPECT_THAT(LineOf(log, "serving"), Not(HasSubstr("node=")));
  EXPECT_THAT(LineOf(log, "starting"), HasSubstr("role=aggregator (flag --role)"));
  EXPECT_THAT(LineOf(log, "starting"), Not(HasSubstr("gpu-source")));
  Server agent({"--role=agent", "--gpu-source=none", "--node-name=gpu-7"});
  ASSERT_TRUE(agent.Ready()) << agent.process().Err();
  EXPECT_THAT(LineOf(agent.process().Err(), "serving"), HasSubstr("node=gpu-7 gpu_source=none"));
  EXPECT_THAT(LineOf(agent.process().Err(), "starting"), HasSubstr("gpu-source=none"));
}

TEST(Serve, AggregatorWarnsOfAnAgentWithATooLongInterval) {
  Server agent({"--role=agent", "--node-name=gpu-7", "--attribution=none", "--poll-interval=15s",
                BusySource()});
  ASSERT_TRUE(agent.Ready()) << agent.process().Err();
  Server aggregator(
      {"--role=aggregator", absl::StrCat("--agents=static:", agent.Address()), "--stale-after=5s"});
  EXPECT_TRUE(aggregator.process().WaitForErr(
      absl::StrCat("event=agent_interval_too_long address=", agent.Address(),
                   " node=gpu-7 read_every_seconds=15 stale_after_seconds=5")))
      << aggregator.process().Err();
  std::string explained;
  EXPECT_TRUE(Eventually([&] {
    explained = RunProgram({"query", aggregator.Address(), "--explain", "scope=fleet",
                            "metricType=gpu_utilization"})
                    .out;
    return explained.find("it is read every 15s, for which --stale-after=5s is too short") !=
           std::string::npos;
  })) << explained;
}

TEST(Serve, TakenPortExits3AndNamesIt) {
  Server server({"--gpu-source=none"});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  for (const std::string which : {"grpc", "metrics", "probe", "web"}) {
    const std::string flag = which == "grpc" ? "--port=" : absl::StrCat("--", which, "-port=");
    std::vector<std::string> args = {
        "--bind-address=127.0.0.1", "--gpu-source=none", "--port=any",
        "--metrics-port=any",       "--probe-port=any",  "--web-port=any"};
    args.push_back(absl::StrCat(flag, server.Port(which)));
    const Finished second = RunProgram(args);
    EXPECT_EQ(second.code, 3) << which << "\n" << second.err;
    EXPECT_THAT(second.err, HasSubstr(absl::StrCat(server.Port(which)))) << which;
  }
}

TEST(Serve, ServesTlsToClientsOfItsCa) {
  const TestCa ca("our CA");
  const TlsFiles tls = WriteTls(NewTestFolder(), ca.Issue("server"), ca.pem());
  Server server({BusySource(), "--tls-cert", tls.cert, "--tls-key", tls.key, "--tls-client-ca",
                 tls.client_ca});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const std::vector<std::string> trusted = {"query",       server.Address(), "--tls-ca",
                                            tls.client_ca, "--tls-cert",     tls.cert,
                                            "--tls-key",   tls.key,          "window=0s"};
  EXPECT_EQ(QueryUntilRead(trusted).code, 0);
  EXPECT_EQ(RunProgram({"query", server.Address(), "--tls-ca", tls.client_ca}).code, 4)
      << "without a certificate";
  EXPECT_EQ(RunProgram({"query", server.Address()}).code, 4) << "without TLS";
}

TEST(Serve, LogIsJsonIfConfigured) {
  Process process({"serve", "--gpu-source=none", "--port=any", "--metrics-port=0", "--probe-port=0",
                   "--web-port=0", "--log-format=json"});
  ASSERT_TRUE(process.WaitForErr("\"event\":\"serving\"")) << process.Err();
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(), 0);
  std::istringstream lines(process.Err());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  }
}

TEST(Serve, FailedStartIsOneLogLineInTheConfiguredFormat) {
  const Finished serve = RunProgram({"serve", "--gpu-source=none", "--port=any", "--metrics-port=0",
                                     "--probe-port=0", "--web-port=0", "--log-format=json",
                                     "--log-level=error", "--profiles=/no/profiles.yaml"});
  EXPECT_EQ(serve.code, 2);
  const auto line = nlohmann::json::parse(serve.err, nullptr, false);
  ASSERT_TRUE(line.is_object()) << serve.err;
  EXPECT_EQ(line["event"], "cannot_serve");
  EXPECT_EQ(line["level"], "error");
  EXPECT_THAT(line["why"].get<std::string>(), HasSubstr("/no/profiles.yaml"));
}

TEST(Serve, SurvivesTheEndOfItsLogReader) {
  Server server({"--gpu-source=none"});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  server.process().Signal(SIGPIPE);
  const auto ready = Request(server.Port("probe"), "GET", "/readyz");
  EXPECT_TRUE(ready.ok()) << ready.status();
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(), 0) << server.process().Err();
}

TEST(Query, UnreachableScalerExits4) {
  const auto silent = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(silent.ok()) << silent.status();
  EXPECT_EQ(RunProgram({"query", absl::StrCat("127.0.0.1:", silent->port())}).code, 4);
}

TEST(Query, AgentIsReportedAsNoScaler) {
  Server agent({"--role=agent", "--gpu-source=none"});
  ASSERT_TRUE(agent.Ready()) << agent.process().Err();
  const Finished query = RunProgram({"query", agent.Address(), "--explain"});
  EXPECT_EQ(query.code, 4) << query.out;
  EXPECT_THAT(query.out, HasSubstr(absl::StrCat("  metric  UNIMPLEMENTED: ", agent.Address(),
                                                " answers, and is no external scaler (an agent's "
                                                "port?)\n")));
}

TEST(Query, ServerWithoutTlsIsNamed) {
  Server server({"--gpu-source=none"});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const Finished query = RunProgram({"query", server.Address(), "--tls"});
  EXPECT_EQ(query.code, 4) << query.out;
  EXPECT_THAT(query.out, HasSubstr("the server has no TLS"));
  EXPECT_EQ(query.err, "");
}

TEST(Query, ProtobufLogsInOurFormat) {
  const auto server = WireServer::Start(
      {.bind_address = "127.0.0.1"},
      {Unary<externalscaler::ScaledObjectRef>("/externalscaler.ExternalScaler/GetMetricSpec",
                                              [](const auto& call, const auto& /*request*/) {
                                                // invalid UTF-8
                                                call->Write("\x0a\x03\x0a\x01\xff");
                                                call->Finish(absl::OkStatus());
                                              })});
  ASSERT_TRUE(server.ok()) << server.status();
  const Finished query = RunProgram({"query", absl::StrCat("127.0.0.1:", (*server)->port())});
  EXPECT_THAT(query.out, HasSubstr("metric  INTERNAL: "));
  EXPECT_THAT(query.err, HasSubstr("level=warn event=protobuf message="));
  EXPECT_THAT(query.err, Not(HasSubstr("[libprotobuf")));
}

TEST(Query, AScaledJobHasNoHpaOutput) {
  Server server({BusySource()});
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  const std::string manifest = R"(
kind: ScaledJob
metadata: {name: llm}
spec:
  triggers:
    - type: external
      metadata: {scalerAddress: "scaler:6000", metricType: gpu_utilization, window: 0s}
)";
  const Finished query =
      QueryUntilRead({"query", server.Address(), "--file=-", "--replicas=2"}, manifest);
  EXPECT_EQ(query.code, 0) << query.out << query.err;
  EXPECT_THAT(query.out, HasSubstr("KEDA starts Jobs"));
  EXPECT_THAT(query.out, Not(HasSubstr("hpa  ")));
}

TEST(Query, BadArgumentsExit2) {
  EXPECT_EQ(RunProgram({"query"}).code, 2);
  EXPECT_EQ(RunProgram({"query", "localhost:1", "profile"}).code, 2);
  EXPECT_EQ(RunProgram({"query", "localhost:99999"}).code, 2);
  EXPECT_EQ(RunProgram({"query", "localhost:1", "window=0s", "window=1s"}).code, 2);
  EXPECT_EQ(RunProgram({"query", "localhost:1", "--file", "/no/such.yaml"}).code, 2);
}

}  // namespace
}  // namespace gpuscaler
