// The resolved configuration: defaults < file < environment < flags (settings.h).
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "gpu/gpu_source.h"
#include "kubelet/kubelet_socket.h"
#include "wire/tls_files.h"

namespace gpuscaler {

constexpr int kAnyPort = -1;  // any free port; the log has its number

enum class AttributionMode {
  // kKubelet if a kubelet's socket exists at start, else kPage if an exporter is read, else
  // kNone.
  kAuto,
  kKubelet,  // a GPU's holders are the pods that the kubelet lists
  kPage,     // a GPU's holders are the pods in an exporter's metrics
  kNone,     // a GPU in use is a replica
};

// Discovery of inference engines in the node's pods (signal/engine_discovery.h).
enum class DiscoverEngines {
  kAuto,  // if the kubelet's Pods API answers
  kTrue,  // also in the node's processes, which needs hostPID
  kFalse,
};

// The agents that may report a node's name to an aggregator.
enum class AgentIdentity {
  kNone,  // any
  kSan,   // only one with that DNS name in its certificate
};

enum class Role {
  kStandalone,  // agent and aggregator in one process, for this node alone
  kAgent,       // reads the GPUs of its node and sends the readings to aggregators
  kAggregator,  // answers KEDA for all nodes, and needs no GPU
};

struct Config {
  Role role = Role::kStandalone;
  std::string agents;  // aggregator only; addresses (fleet/peer_addresses.h)
  AgentIdentity agent_identity = AgentIdentity::kNone;  // aggregator only
  std::string aggregators;    // agent only; readers with priority; empty: none
  int telemetry_port = 6001;  // agent only; 0 is any free one too
  absl::Duration grace = absl::Seconds(15);
  absl::Duration forget_after = absl::Minutes(5);
  absl::Duration empty_after = absl::Minutes(1);

  int port = 6000;                  // gRPC; 0 is any free one too
  int web_port = 8082;              // 0: off; not in an agent
  std::string bind_address = "::";  // all ports but the web port (base/bound_port.h)
  int metrics_port = 9090;          // 0: off
  int probe_port = 8081;            // 0: off
  std::string gpu_source = "auto";
  std::string gpu_source_ca;           // a file, for an exporter's https://...; empty: the system's
  std::string gpu_source_credentials;  // a file; empty: none
  std::string sysfs_root = kSysfs;
  std::string node_name;  // empty: $NODE_NAME, else the host's name

  AttributionMode attribution = AttributionMode::kAuto;
  std::string pod_resources_socket = KubeletSockets().pod_resources;
  std::string pods_api_socket;  // empty: the default paths of kubelets
  std::string own_pod;          // "namespace/name"; empty: $POD_NAMESPACE/$POD_NAME, else unknown
  std::string ignore_pods;      // NAMESPACE[/PREFIX],... (role/ignored_pods.h)
  std::string reservation_namespaces = "kai-resource-reservation,runai-reservation";

  std::string namespaces;        // aggregator only; of its ScaledObjects; empty: all
  std::string allow_namespaces;  // from:to,... (role/allowed_namespaces.h)

  DiscoverEngines discover_engines = DiscoverEngines::kAuto;
  absl::Duration engine_interval = absl::Seconds(1);
  absl::Duration queue_interval = absl::Milliseconds(200);
  std::string allow_endpoints;  // besides a namespace's own (page/endpoint_rules.h)
  std::string cluster_domain = "cluster.local";
  std::string endpoint_credentials;  // a folder (page/credential_folder.h); empty: none

  absl::Duration poll_interval = absl::Seconds(2);  // real time, whatever the speed of the clock
  std::optional<absl::Duration> stale_after;        // see StaleAfter()
  absl::Duration hang_after = absl::Seconds(30);
  absl::Duration idle_after = absl::Minutes(5);
  absl::Duration history = absl::Hours(24);  // how long answers are kept; 0: off; not in an agent

  std::string prices;    // a file (cost/price_list.h); empty: costs have no money
  std::string currency;  // as "USD"; empty: not named

  std::string tls_cert;  // gRPC port; empty: plain text
  std::string tls_key;
  std::string tls_client_ca;
  std::string metrics_tls_cert;  // metrics port; empty: plain text
  std::string metrics_tls_key;
  std::string metrics_client_ca;

  std::string web_bind_address = "127.0.0.1";
  std::string web_hosts;  // HOST,... in Host headers, besides those of loopback
  std::string web_token_file;
  std::string web_tls_cert;  // web port; empty: plain text
  std::string web_tls_key;
  std::string web_tls_client_ca;
  std::string commit;  // that was built, for the web page; not an option

  std::string service;   // host of scalerAddress; empty: not checked
  std::string profiles;  // a YAML file; empty: the built-in ones alone
  int max_streams_per_peer = 20'000;
  absl::Duration max_connection_age = absl::Minutes(10);

  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;

  // Returns at least 5 s and three intervals, so that one missed reading is no outage. For an
  // exporter, which has an unknown interval, returns at least two and a half of its default.
  absl::Duration StaleAfter() const {
    const ExporterSchema* const exporter = ExporterOf(gpu_source);
    const absl::Duration least = exporter == nullptr ? absl::Seconds(5) : exporter->stale_after;
    return stale_after.value_or(std::max(3 * poll_interval, least));
  }
  // Returns the interval of new readings, which agents send to aggregators. For an exporter it is
  // its default, unless the operator has set stale-after to fit the exporter's interval.
  absl::Duration ReadEvery() const {
    const ExporterSchema* const exporter = ExporterOf(gpu_source);
    if (exporter == nullptr || stale_after.has_value()) return poll_interval;
    return std::max(poll_interval, exporter->collect_interval);
  }
  KubeletSockets Sockets() const {
    KubeletSockets sockets = {.pod_resources = pod_resources_socket};
    if (!pods_api_socket.empty()) sockets.pods_api = {pods_api_socket};
    return sockets;
  }
  TlsFiles Tls() const { return {.cert = tls_cert, .key = tls_key, .client_ca = tls_client_ca}; }
  TlsFiles WebTls() const {
    return {.cert = web_tls_cert, .key = web_tls_key, .client_ca = web_tls_client_ca};
  }
  // Returns true if no other host can reach the web port.
  bool WebIsOnLoopback() const {
    return web_bind_address == "::1" || absl::StartsWith(web_bind_address, "127.");
  }
  TlsFiles MetricsTls() const {
    return {.cert = metrics_tls_cert, .key = metrics_tls_key, .client_ca = metrics_client_ca};
  }
};

}  // namespace gpuscaler
