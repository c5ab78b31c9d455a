#include "role/settings.h"

#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "role/option_value.h"
#include "role/options.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Setting Flag(const std::string& name, const std::string& value) {
  return {name, value, "flag --" + name};
}

TEST(Settings, EachLayerOverridesTheOneBelowIt) {
  const TestFolder folder;
  const std::string path =
      folder.Write("config.yaml", "port: 7001\nprobe-port: 7002\nmetrics-port: 7003\n");
  const Environment environment = {{"KEDA_GPU_SCALER_CONFIG", path},
                                   {"KEDA_GPU_SCALER_PORT", "8001"},
                                   {"KEDA_GPU_SCALER_PROBE_PORT", "8002"}};
  const auto resolved = ResolveSettings({Flag("port", "9001"), Flag("port", "9002")}, environment);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->config.port, 9002) << "the last of two flags";
  EXPECT_EQ(resolved->config.probe_port, 8002);
  EXPECT_EQ(resolved->config.metrics_port, 7003);
  EXPECT_EQ(resolved->config.poll_interval, absl::Seconds(2)) << "the default";
  EXPECT_EQ(resolved->origins.at("metrics-port"), "file " + path + ":3: metrics-port");
  EXPECT_EQ(resolved->origins.at("probe-port"), "environment KEDA_GPU_SCALER_PROBE_PORT");
  EXPECT_FALSE(resolved->origins.contains("poll-interval"));
}

TEST(Settings, EngineDiscoveryIsAutomaticByDefault) {
  const auto mode = [](const std::vector<Setting>& flags) {
    const auto resolved = ResolveSettings(flags, {});
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    return resolved->config.discover_engines;
  };
  EXPECT_EQ(mode({}), DiscoverEngines::kAuto);
  EXPECT_EQ(mode({Flag("discover-engines", "auto")}), DiscoverEngines::kAuto);
  EXPECT_EQ(mode({Flag("discover-engines", "true")}), DiscoverEngines::kTrue);
  EXPECT_EQ(mode({Flag("discover-engines", "false")}), DiscoverEngines::kFalse);
}

TEST(Settings, ErrorsHaveLayerValueAndWhatIsAllowed) {
  struct Case {
    std::vector<Setting> flags;
    Environment environment;
    std::string want;
  };
  const std::vector<Case> cases = {
      {{Flag("port", "abc")}, {}, "flag --port=abc: use a port from 0 to 65535, or any"},
      {{Flag("port", "65536")}, {}, "flag --port=65536: use a port"},
      {{}, {{"KEDA_GPU_SCALER_PORT", "abc"}}, "environment KEDA_GPU_SCALER_PORT=abc: use a port"},
      {{Flag("poll-interval", "2")}, {}, "flag --poll-interval=2: use a duration with its unit"},
      {{Flag("poll-interval", "1ms")}, {}, "from 50ms to 5m"},
      {{Flag("log-level", "warm")}, {}, "use debug, info, warn, error; did you mean \"warn\"?"},
      {{Flag("discover-engines", "yes")}, {}, "--discover-engines=yes: use auto, true, false"},
      {{Flag("gpu-source", "file:")},
       {},
       "use auto, nvml, amd, file:PATH, dcgm:URL, amd-exporter:URL or none"},
      {{Flag("gpu-source", "dcgm:10.0.0.7:9400")},
       {},
       "flag --gpu-source=dcgm:10.0.0.7:9400: neither http:// nor https://: use "
       "http://HOST:PORT/PATH or https://HOST:PORT/PATH"},
      {{Flag("attribution", "page")},
       {},
       "attribution=page (flag --attribution) is for gpu-source=dcgm:URL or amd-exporter:URL; here "
       "is gpu-source=auto "
       "(default)"},
      {{Flag("gpu-source-credentials", "/c")}, {}, "is for gpu-source=dcgm:URL"},
      {{Flag("gpu-source", "amd-exporter:http://10.0.0.7"), Flag("attribution", "kubelet")},
       {},
       "attribution=kubelet (flag --attribution) cannot be used with "
       "gpu-source=amd-exporter:http://10.0.0.7 (flag --gpu-source): the page of "
       "device-metrics-exporter has no id of a GPU that the kubelet has too. Use page or none"},
      {{Flag("bind-address", "[::1]")}, {}, "use an IPv4 or IPv6 address, without brackets"},
      {{Flag("bind-address", std::string("::1\0", 4))}, {}, "use an IPv4 or IPv6 address"},
      {{Flag("cluster-domain", "cluster.local.")},
       {},
       "flag --cluster-domain=cluster.local.: use a DNS name in lower case, without a dot at its "
       "end, such as cluster.local"},
      {{Flag("allow-namespaces", "team-a:team-b,team-c")},
       {},
       "flag --allow-namespaces=team-a:team-b,team-c: use FROM:TO,... with the names of "
       "namespaces; \"team-c\" is not two names"},
      {{Flag("agents", "dns:///no such host!:6001")},
       {},
       "flag --agents=dns:///no such host!:6001: \"no such host!\" is no host: a name has letters, "
       "digits, hyphens, underscores and dots, or it is an IP address; use dns:///HOST:PORT or "
       "static:HOST:PORT,HOST:PORT"},
      {{Flag("aggregators", "dns:///aggregators")},
       {},
       "flag --aggregators=dns:///aggregators: no port 1-65535 in \"aggregators\""},
      {{},
       {{"KEDA_GPU_SCALER_AGGREGATORS", "static:10.0.0.7:6000,[fd00::7]:6000,scaler:6000"}},
       "scaler:6000: \"scaler\" is no IP address; use static:IP:PORT,IP:PORT, or "
       "dns:///HOST:PORT"},
      {{},
       {{"KEDA_GPU_SCALER_AGENTS", "static:a:6001,"}},
       "environment KEDA_GPU_SCALER_AGENTS=static:a:6001,: an entry of the list is empty"},
      {{Flag("pod-resources-socket", "kubelet.sock")},
       {},
       "flag --pod-resources-socket=kubelet.sock: use an absolute path of at most 107 bytes"},
      {{Flag("pod-resources-socket", "")}, {}, "use an absolute path"},
      {{Flag("pods-api-socket", "/" + std::string(107, 'x'))}, {}, "of at most 107 bytes"},
      {{Flag("own-pod", "agent-x7k2p")}, {}, "use NAMESPACE/NAME"},
      {{Flag("own-pod", "a/b/c")}, {}, "use NAMESPACE/NAME"},
      {{Flag("reservation-namespaces", "kai,run/ai")}, {}, "\"run/ai\" is no namespace's name"},
      {{Flag("namespaces", "team-a,Team-B")}, {}, "\"Team-B\" is no namespace's name"},
      {{Flag("service", "keda-gpu-scaler:6000")}, {}, "use the name of a host (RFC 1123)"},
      {{Flag("max-streams-per-peer", "0")}, {}, "use a whole number from 1 to 1000000"},
      {{Flag("stale-after", "3999ms")},
       {},
       "stale-after=3.999s (flag --stale-after) is shorter than twice poll-interval=2s (default)"},
      {{Flag("role", "aggregator"), Flag("agents", "dns:///agents:6001"),
        Flag("stale-after", "4999ms")},
       {},
       "stale-after=4.999s (flag --stale-after) is too short for an aggregator: use 5s or more"},
      {{Flag("poll-interval", "15001ms")},
       {},
       "hang-after=30s (default) is shorter than twice poll-interval=15.001s (flag "
       "--poll-interval)"},
      {{Flag("tls-cert", "a.pem")}, {}, "tls-cert=a.pem (flag --tls-cert) needs tls-key too"},
      {{Flag("tls-client-ca", "a.pem")}, {}, "(flag --tls-client-ca) needs tls-cert too"},
      {{Flag("role", "agent"), Flag("tls-cert", "a.pem"), Flag("tls-key", "k.pem")},
       {},
       "tls-cert=a.pem (flag --tls-cert) of role=agent (flag --role) needs tls-client-ca too"},
      {{Flag("role", "aggregator"), Flag("agents", "dns:///agents:6001"), Flag("tls-key", "k.pem"),
        Flag("tls-cert", "a.pem")},
       {},
       "tls-cert=a.pem (flag --tls-cert) of role=aggregator (flag --role) needs tls-client-ca too"},
      {{Flag("role", "aggregator"), Flag("agents", "dns:///agents:6001"),
        Flag("agent-identity", "san")},
       {},
       "agent-identity=san (flag --agent-identity) needs tls-cert too"},
      {{},
       {{"KEDA_GPU_SCALER_METRICS_TLS_CERT", "m.pem"}},
       "metrics-tls-cert=m.pem (environment KEDA_GPU_SCALER_METRICS_TLS_CERT) needs "
       "metrics-tls-key too"},
      {{Flag("metrics-tls-key", "k.pem"), Flag("tls-cert", "a.pem"), Flag("tls-key", "b.pem")},
       {},
       "metrics-tls-key=k.pem (flag --metrics-tls-key) needs metrics-tls-cert too"},
      {{Flag("history", "59s")},
       {},
       "history=59s (flag --history): use 1m to 24h, or 0 to turn it off"},
      {{Flag("history", "25h")}, {}, "flag --history=25h: use a duration with its unit"},
      {{Flag("web-bind-address", "0.0.0.0")},
       {},
       "web-bind-address=0.0.0.0 (flag --web-bind-address) is reached from other hosts: it needs "
       "web-tls-cert and web-tls-key, and web-token-file or web-tls-client-ca too"},
      {{Flag("web-bind-address", "::"), Flag("web-tls-cert", "c"), Flag("web-tls-key", "k")},
       {},
       "it needs web-token-file or web-tls-client-ca too"},
      {{Flag("web-bind-address", "10.0.0.7"), Flag("web-token-file", "t")},
       {},
       "it needs web-tls-cert and web-tls-key too"},
      {{Flag("web-tls-cert", "c")}, {}, "needs web-tls-key too"},
      {{Flag("web-hosts", "a.example,b.example:443")}, {}, "\"b.example:443\" is neither"},
      {{Flag("config", "/no/such")}, {}, "file /no/such: cannot be read"},
      {{Flag("port", "1")}, {{"KEDA_GPU_SCALER_PORT", "abc"}}, "environment KEDA_GPU_SCALER_PORT"},
  };
  for (const Case& test : cases) {
    const auto resolved = ResolveSettings(test.flags, test.environment);
    EXPECT_EQ(resolved.status().code(), absl::StatusCode::kInvalidArgument) << test.want;
    EXPECT_THAT(std::string(resolved.status().message()), HasSubstr(test.want));
  }
}

TEST(Settings, SocketPathsMayHaveTheLengthThatTheKernelAccepts) {
  const std::string longest = "/" + std::string(106, 'x');
  EXPECT_TRUE(ResolveSettings({Flag("pod-resources-socket", longest)}, {}).ok());
  EXPECT_TRUE(ResolveSettings({Flag("pods-api-socket", longest)}, {}).ok());
  EXPECT_TRUE(ResolveSettings({Flag("pods-api-socket", "")}, {}).ok()) << "where kubelets have it";
}

TEST(Settings, OneWayTlsIsOnlyForAStandaloneScaler) {
  const Setting cert = Flag("tls-cert", "a.pem");
  const Setting key = Flag("tls-key", "k.pem");
  EXPECT_TRUE(ResolveSettings({cert, key}, {}).ok());
  EXPECT_TRUE(
      ResolveSettings({Flag("role", "agent"), cert, key, Flag("tls-client-ca", "c.pem")}, {}).ok());
  EXPECT_TRUE(ResolveSettings({Flag("role", "agent")}, {}).ok()) << "no TLS at all";
}

TEST(Settings, WebPortIsOpenToOtherHostsOnlyWithTlsAndCredentials) {
  const Setting wide = Flag("web-bind-address", "::");
  const Setting cert = Flag("web-tls-cert", "c"), key = Flag("web-tls-key", "k");
  EXPECT_TRUE(ResolveSettings({wide, cert, key, Flag("web-token-file", "t")}, {}).ok());
  EXPECT_TRUE(ResolveSettings({wide, cert, key, Flag("web-tls-client-ca", "a")}, {}).ok());
  EXPECT_TRUE(ResolveSettings({wide, Flag("web-port", "0")}, {}).ok()) << "it is off";
  for (const char* loopback : {"127.0.0.1", "127.0.0.5", "::1"}) {
    EXPECT_TRUE(ResolveSettings({Flag("web-bind-address", loopback)}, {}).ok()) << loopback;
  }
}

TEST(Settings, HistoryMayBeTurnedOff) {
  EXPECT_TRUE(ResolveSettings({Flag("history", "0")}, {}).ok());
  EXPECT_TRUE(ResolveSettings({Flag("history", "1m")}, {}).ok());
  EXPECT_TRUE(ResolveSettings({Flag("history", "24h")}, {}).ok());
}

TEST(Settings, LimitsOfTwoIntervalsAreAccepted) {
  EXPECT_TRUE(ResolveSettings({Flag("stale-after", "4s")}, {}).ok());
  EXPECT_TRUE(ResolveSettings({Flag("poll-interval", "15s")}, {}).ok());
  EXPECT_TRUE(ResolveSettings({Flag("poll-interval", "5m"), Flag("hang-after", "10m")}, {}).ok());
}

TEST(Settings, StaleAfterFitsTheDefaultIntervalOfDcgmExporter) {
  const Setting dcgm = Flag("gpu-source", "dcgm:http://10.0.0.7:9400/metrics");
  const auto unset = ResolveSettings({dcgm}, {});
  ASSERT_TRUE(unset.ok()) << unset.status();
  EXPECT_EQ(unset->config.StaleAfter(), absl::Seconds(75));
  EXPECT_EQ(unset->config.ReadEvery(), absl::Seconds(30));
  const auto set = ResolveSettings({dcgm, Flag("stale-after", "5s")}, {});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->config.StaleAfter(), absl::Seconds(5));
  EXPECT_EQ(set->config.ReadEvery(), absl::Seconds(2));
}

TEST(Settings, StaleAfterFitsTheIntervalOfAmdsExporter) {
  const auto unset =
      ResolveSettings({Flag("gpu-source", "amd-exporter:http://10.0.0.7:5000/metrics")}, {});
  ASSERT_TRUE(unset.ok()) << unset.status();
  EXPECT_EQ(unset->config.StaleAfter(), absl::Seconds(40));
  EXPECT_EQ(unset->config.ReadEvery(), absl::Seconds(15));
}

TEST(Settings, FileIsStrict) {
  struct Case {
    std::string yaml;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"port: 1\nprobe-prot: 2\n", "file a.yaml:2: unknown option probe-prot; did you mean"},
      {"port: 1\nport: 2\n", "file a.yaml:2: port is given twice"},
      {"port: [1, 2]\n", "file a.yaml:1: port: use a single value"},
      {"- port\n", "file a.yaml:1: use a map of options"},
      {"port: 1\n  x: [\n", "file a.yaml:"},
      {"port: 1\n---\nprobe-port: 2\n", "file a.yaml:3: a second document: use one alone"},
      {"port: 1\n...\nprobe-port: 2\n", "file a.yaml:3: a second document: use one alone"},
  };
  for (const Case& test : cases) {
    const auto settings = SettingsOfYaml("a.yaml", test.yaml);
    EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument) << test.yaml;
    EXPECT_THAT(std::string(settings.status().message()), HasSubstr(test.want)) << test.yaml;
  }
  EXPECT_THAT(SettingsOfYaml("a.yaml", "# nothing\n").value(), IsEmpty());
  const TestFolder folder;
  EXPECT_THAT(SettingsOfFile(folder.Write("empty.yaml", "")).value(), IsEmpty());
  EXPECT_THAT(SettingsOfYaml("a.yaml", "# ours\n---\nport: 1\n---\n").value(), SizeIs(1));
}

TEST(Settings, ServiceLinksOfKubernetesAreIgnored) {
  const Environment environment = {
      {"KEDA_GPU_SCALER_PORT", "tcp://10.0.0.1:6000"},
      {"KEDA_GPU_SCALER_METRICS_PORT", "tcp://10.0.0.2:9090"},
      {"KEDA_GPU_SCALER_SERVICE_HOST", "10.0.0.1"},
      {"KEDA_GPU_SCALER_SERVICE_PORT_GRPC", "6000"},
      {"KEDA_GPU_SCALER_PORT_6000_TCP_ADDR", "10.0.0.1"},
  };
  EXPECT_THAT(SettingsOfEnvironment(environment), IsEmpty());
  EXPECT_THAT(UnknownVariables(environment), IsEmpty());
}

TEST(Settings, UnknownVariableIsReportedWithTheNearestOne) {
  EXPECT_THAT(UnknownVariables({{"KEDA_GPU_SCALER_PROT", "1"}, {"PATH", "/bin"}}),
              ElementsAre("KEDA_GPU_SCALER_PROT; did you mean \"KEDA_GPU_SCALER_PORT\"?"));
}

TEST(Settings, EmptyVariableIsIgnored) {
  EXPECT_THAT(SettingsOfEnvironment({{"KEDA_GPU_SCALER_PORT", ""}}), IsEmpty());
}

TEST(Settings, NodeNameIsTheFlagElseTheVariableElseTheHost) {
  const Environment environment = {{"NODE_NAME", "gpu-7"}};
  EXPECT_EQ(ResolveSettings({}, environment)->config.node_name, "gpu-7");
  EXPECT_EQ(ResolveSettings({Flag("node-name", "mine")}, environment)->config.node_name, "mine");
  EXPECT_NE(ResolveSettings({}, {})->config.node_name, "");
}

TEST(Settings, OwnPodIsTheFlagElseBothVariablesElseUnknown) {
  const Environment environment = {{"POD_NAMESPACE", "gpu-scaler"}, {"POD_NAME", "agent-x7k2p"}};
  EXPECT_EQ(ResolveSettings({}, environment)->config.own_pod, "gpu-scaler/agent-x7k2p");
  EXPECT_EQ(ResolveSettings({Flag("own-pod", "a/b")}, environment)->config.own_pod, "a/b");
  EXPECT_EQ(ResolveSettings({}, {{"POD_NAME", "agent-x7k2p"}})->config.own_pod, "");
  EXPECT_EQ(ResolveSettings({}, {})->config.own_pod, "");
}

TEST(Options, EveryDefaultReadsBackAsItself) {
  for (const Option& option : Options()) {
    const std::string text = TextOf(option, Config());
    if (text.empty()) continue;
    Config config;
    EXPECT_TRUE(Set(option, text, config).ok()) << option.name << "=" << text;
    EXPECT_EQ(TextOf(option, config), text);
  }
}

}  // namespace
}  // namespace gpuscaler
