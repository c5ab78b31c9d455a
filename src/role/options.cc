#include "role/options.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "fleet/fleet_timeouts.h"
#include "gpu/gpu_source.h"
#include "page/endpoint_rules.h"
#include "role/allowed_namespaces.h"
#include "role/ignored_pods.h"
#include "role/option_checks.h"

namespace gpuscaler {
namespace {

constexpr double kHour = 3600;

constexpr unsigned kReadingGpus = BitOf(Role::kStandalone) | BitOf(Role::kAgent);
constexpr unsigned kAnsweringKeda = BitOf(Role::kStandalone) | BitOf(Role::kAggregator);

const std::vector<Option>& Table() {
  static const auto* const table = new std::vector<Option>{
      {.name = "role",
       .member = &Config::role,
       .value = "ROLE",
       .help =
           "standalone (this node alone), agent (reads the GPUs of its node for aggregators) or "
           "aggregator (answers for all nodes)."},
      {.name = "agents",
       .member = &Config::agents,
       .value = "ADDRESSES",
       .help = "Where an aggregator finds its agents: dns:///HOST:PORT of a headless Service, or "
               "static:HOST:PORT,...",
       .roles = BitOf(Role::kAggregator),
       .check = CheckAgents},
      {.name = "aggregators",
       .member = &Config::aggregators,
       .value = "ADDRESSES",
       .help = "Addresses that come first if an agent has more readers than places: "
               "dns:///HOST:PORT of a headless Service, or static:IP:PORT,... Ports do not count.",
       .roles = BitOf(Role::kAgent),
       .check = CheckAggregators},
      {.name = "agent-identity",
       .member = &Config::agent_identity,
       .help = "Which agents may name a node. none: any that --agents lists. san: only one with "
               "the node's name among its certificate's DNS names, beside the host in --agents. "
               "san needs --tls-cert.",
       .roles = BitOf(Role::kAggregator)},
      {.name = "telemetry-port",
       .member = &Config::telemetry_port,
       .value = "PORT",
       .help = "gRPC port on which an agent serves aggregators; 0 or any: any free one.",
       .roles = BitOf(Role::kAgent)},
      {.name = "grace",
       .member = &Config::grace,
       .value = "DURATION",
       .help = "How long to keep using the last samples of a disconnected agent. After that its "
               "replicas are unreadable.",
       .roles = BitOf(Role::kAggregator),
       .least = absl::ToDoubleSeconds(kQuiet),
       .most = kHour},
      {.name = "forget-after",
       .member = &Config::forget_after,
       .value = "DURATION",
       .help = "How long DNS must not list a disconnected agent before its node counts as gone.",
       .roles = BitOf(Role::kAggregator),
       .least = 1,
       .most = 24 * kHour},
      {.name = "empty-after",
       .member = &Config::empty_after,
       .value = "DURATION",
       .help = "How long DNS must return no agents before the fleet counts as empty. "
               "An aggregator that starts waits as long for an agent that it cannot reach.",
       .roles = BitOf(Role::kAggregator),
       .least = 1,
       .most = kHour},
      {.name = "port",
       .member = &Config::port,
       .value = "PORT",
       .help = "gRPC port that KEDA's scalerAddress names; 0 or any: any free one.",
       .roles = kAnsweringKeda},
      {.name = "bind-address",
       .member = &Config::bind_address,
       .value = "ADDRESS",
       .help =
           "Address that all ports but the web port listen on; :: is all of IPv4 and IPv6, or of "
           "IPv4 where there is no IPv6; 0.0.0.0 is all of IPv4.",
       .check = CheckAddress},
      {.name = "metrics-port",
       .member = &Config::metrics_port,
       .value = "PORT",
       .help = "Port of the Prometheus page /metrics; 0 turns it off."},
      {.name = "probe-port",
       .member = &Config::probe_port,
       .value = "PORT",
       .help = "Port of /healthz and /readyz; 0 turns it off."},
      {.name = "gpu-source",
       .member = &Config::gpu_source,
       .value = "SOURCE",
       .help =
           "Where GPU readings come from: auto (nvml, and amd if the node has AMD GPUs), nvml, "
           "amd, dcgm:URL or amd-exporter:URL (the page of this node's dcgm-exporter, or of AMD's "
           "device-metrics-exporter), file:PATH (simulated) or none.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus,
       .check = CheckGpuSource},
      {.name = "gpu-source-ca",
       .member = &Config::gpu_source_ca,
       .value = "FILE",
       .help =
           "CA of the certificate of dcgm:https://... or amd-exporter:https://..., PEM; without it "
           "the system's.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus},
      {.name = "gpu-source-credentials",
       .member = &Config::gpu_source_credentials,
       .value = "FILE",
       .help = "USER:PASSWORD, or a bearer token, for dcgm:URL or amd-exporter:URL; read for each "
               "reading.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus},
      {.name = "sysfs-root",
       .member = &Config::sysfs_root,
       .value = "FOLDER",
       .help = "Where the kernel lists AMD GPUs; another folder is for tests.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus},
      {.name = "node-name",
       .member = &Config::node_name,
       .value = "NAME",
       .help = "Name of this node in readings, metrics and logs; of an aggregator, its own in its "
               "agents' logs.",
       .used_by = kServeUses | kGpusUses,
       .default_text = "$NODE_NAME, else the host's name"},
      {.name = "attribution",
       .member = &Config::attribution,
       .value = "MODE",
       .help =
           "Source of a GPU's holders: kubelet (pods that the kubelet names), page (those that "
           "the page of dcgm:URL or amd-exporter:URL names), none (a GPU in use is a replica) or "
           "auto (page with amd-exporter:URL; else kubelet; where its socket is not there at "
           "start, page with dcgm:URL, else none).",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus},
      {.name = "pod-resources-socket",
       .member = &Config::pod_resources_socket,
       .value = "FILE",
       .help = "Socket of the kubelet's PodResources API: which pod has which GPU.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus,
       .check = CheckSocketPath},
      {.name = "pods-api-socket",
       .member = &Config::pods_api_socket,
       .value = "FILE",
       .help =
           "Socket of the kubelet's Pods API (Kubernetes 1.37): owners, readiness and addresses "
           "of pods. Without it owners are read from the pods' names.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus,
       .check = CheckAnySocketPath,
       .default_text = "where kubelets have it"},
      {.name = "own-pod",
       .member = &Config::own_pod,
       .value = "NAMESPACE/NAME",
       .help = "The pod that this runs in: a kubelet that does not list it has just started, and "
               "does not list its pods yet. Without it, a list in which no pod has a device counts "
               "after 15s.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus,
       .check = CheckOwnPod,
       .default_text = "$POD_NAMESPACE/$POD_NAME"},
      {.name = "ignore-pods",
       .member = &Config::ignore_pods,
       .value = "PODS",
       .help = "Pods that hold no GPU whatever the kubelet lists, such as monitoring pods with DRA "
               "claims, as NAMESPACE[/PREFIX],...: all pods of a namespace, or those with names "
               "that begin so. Without it, none.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus,
       .check = CheckParses<ParseIgnoredPods>},
      {.name = "reservation-namespaces",
       .member = &Config::reservation_namespaces,
       .value = "NAMESPACES",
       .help = "Namespaces of the pods with which KAI and Run:ai reserve a GPU for pods that share "
               "it, as NAMESPACE,.... With the kubelet's Pods API the pods' labels show them in "
               "any namespace.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus,
       .check = CheckNamespaces},
      {.name = "namespaces",
       .member = &Config::namespaces,
       .value = "NAMESPACES",
       .help = "Namespaces of the ScaledObjects that this aggregator answers for, as "
               "NAMESPACE,...: agents then send it only what these need, and scope: node or fleet "
               "is refused. Without it, all.",
       .roles = BitOf(Role::kAggregator),
       .check = CheckNamespaces},
      {.name = "allow-namespaces",
       .member = &Config::allow_namespaces,
       .value = "PAIRS",
       .help = "Namespaces that may see the GPUs of another one, as FROM:TO,...: ScaledObjects in "
               "FROM see the pods of FROM and TO. Without it, those of FROM only.",
       .roles = kAnsweringKeda,
       .check = CheckParses<ParseAllowedNamespaces>},
      {.name = "discover-engines",
       .member = &Config::discover_engines,
       .help = "Finds the inference engines in this node's pods, and reads them while triggers "
               "request them. auto: where the kubelet's Pods API answers (Kubernetes 1.37), at the "
               "usual ports of engines. true, or the flag alone: also by the node's processes, "
               "which needs hostPID. false: never. With true lint expects engines to be found.",
       .used_by = kServeUses | kLintUses,
       .roles = kReadingGpus},
      {.name = "engine-interval",
       .member = &Config::engine_interval,
       .value = "DURATION",
       .help = "How often an engine is read while a trigger requests it.",
       .least = 0.1,
       .most = 60},
      {.name = "queue-interval",
       .member = &Config::queue_interval,
       .value = "DURATION",
       .help =
           "How often a queue or a page of metrics is read while a trigger requests it: what wakes "
           "a workload from zero.",
       .roles = kAnsweringKeda,
       .least = 0.1,
       .most = 60},
      {.name = "history",
       .member = &Config::history,
       .value = "DURATION",
       .help = "How long answers for triggers are kept in memory, for the web pages: 1m to 24h; 0 "
               "turns it off. A restart begins anew.",
       .roles = kAnsweringKeda,
       .least = 0,
       .most = 24 * kHour},
      {.name = "allow-endpoints",
       .member = &Config::allow_endpoints,
       .value = "HOSTS",
       .help = "Endpoints that triggers of all namespaces may name besides their own namespace's: "
               "host names (redis.infra.svc, *.infra.svc), IP addresses and blocks of them, "
               "separated by commas. Loopback, link-local addresses and those of clouds' metadata "
               "services have to be named here too.",
       .used_by = kServeUses | kLintUses,
       .roles = kAnsweringKeda,
       .check = CheckParses<ParseAllowedEndpoints>},
      {.name = "cluster-domain",
       .member = &Config::cluster_domain,
       .value = "DOMAIN",
       .help = "What the names of all Services of this cluster end with, as its kubelets' "
               "clusterDomain: a namespace's own endpoints are NAME.NAMESPACE.svc.DOMAIN.",
       .used_by = kServeUses | kLintUses,
       .roles = kAnsweringKeda,
       .check = CheckClusterDomain},
      {.name = "endpoint-credentials",
       .member = &Config::endpoint_credentials,
       .value = "FOLDER",
       .help =
           "Folder with one folder for each alias that a trigger's `credentials` may name, with "
           "files hosts, namespaces, username, password, token, ca.crt, tls.crt and tls.key, as "
           "Kubernetes mounts a Secret.",
       .roles = kAnsweringKeda},
      {.name = "poll-interval",
       .member = &Config::poll_interval,
       .value = "DURATION",
       .help = "Time between two readings of the GPUs; of an aggregator, that of its agents.",
       .least = 0.05,
       .most = 300},
      {.name = "stale-after",
       .member = &Config::stale_after,
       .value = "DURATION",
       .help = "Age at which a snapshot is unknown and RPCs answer UNAVAILABLE; at least 2 poll "
               "intervals.",
       .least = 0.1,
       .most = kHour,
       .default_text = "3 poll intervals, at least 5s, with dcgm:URL 75s, with "
                       "amd-exporter:URL 40s"},
      {.name = "hang-after",
       .member = &Config::hang_after,
       .value = "DURATION",
       .help = "Time without a completed reading after which /healthz fails. An aggregator has no "
               "readings: its time counts from the last check of waiting calls. At least 2 poll "
               "intervals.",
       .least = 1,
       .most = kHour},
      {.name = "idle-after",
       .member = &Config::idle_after,
       .value = "DURATION",
       .help = "Time at 0 % utilization after which a GPU that a pod holds counts as idle.",
       .least = 1,
       .most = 24 * kHour},
      {.name = "prices",
       .member = &Config::prices,
       .value = "FILE",
       .help = "Prices of GPU models for the cost of the last day: \"GPU model,price per hour\" or "
               "OpenCost's CSV (docs/cost.md). They are exported too, as gpu_hourly_price. Without "
               "it, costs are GPU-hours alone.",
       .roles = kAnsweringKeda},
      {.name = "currency",
       .member = &Config::currency,
       .value = "CODE",
       .help = "Currency of --prices, such as USD.",
       .roles = kAnsweringKeda,
       .check = CheckCurrency},
      {.name = "tls-cert",
       .member = &Config::tls_cert,
       .value = "FILE",
       .help = "Certificate chain of the gRPC port, PEM; read again when it changes. An "
               "aggregator shows it to its agents too; agents and aggregators need "
               "--tls-client-ca with it."},
      {.name = "tls-key",
       .member = &Config::tls_key,
       .value = "FILE",
       .help = "Private key of --tls-cert, PEM."},
      {.name = "tls-client-ca",
       .member = &Config::tls_client_ca,
       .value = "FILE",
       .help = "CA that clients of the gRPC port must have a certificate of, PEM; of an "
               "aggregator, its agents too."},
      {.name = "metrics-tls-cert",
       .member = &Config::metrics_tls_cert,
       .value = "FILE",
       .help = "Certificate chain of the metrics port, PEM."},
      {.name = "metrics-tls-key",
       .member = &Config::metrics_tls_key,
       .value = "FILE",
       .help = "Private key of --metrics-tls-cert, PEM."},
      {.name = "metrics-client-ca",
       .member = &Config::metrics_client_ca,
       .value = "FILE",
       .help = "CA that clients of the metrics port must have a certificate of, PEM."},
      {.name = "web-port",
       .member = &Config::web_port,
       .value = "PORT",
       .help = "Port of the web page and its API; 0 turns it off.",
       .roles = kAnsweringKeda},
      {.name = "web-bind-address",
       .member = &Config::web_bind_address,
       .value = "ADDRESS",
       .help =
           "Address that the web port listens on. On loopback, kubectl port-forward reaches it; "
           "any other one needs --web-tls-cert, --web-tls-key, and --web-token-file or "
           "--web-tls-client-ca.",
       .roles = kAnsweringKeda,
       .check = CheckAddress},
      {.name = "web-hosts",
       .member = &Config::web_hosts,
       .value = "HOSTS",
       .help = "Names and addresses under which browsers reach the web port, as HOST,... without "
               "ports. Requests for other hosts are refused. localhost, 127.0.0.1, [::1] and "
               "--web-bind-address are always allowed.",
       .roles = kAnsweringKeda,
       .check = CheckHosts},
      {.name = "web-token-file",
       .member = &Config::web_token_file,
       .value = "FILE",
       .help = "Bearer token that requests to the web port's API must send, 16 characters or more; "
               "read again when it changes.",
       .roles = kAnsweringKeda},
      {.name = "web-tls-cert",
       .member = &Config::web_tls_cert,
       .value = "FILE",
       .help = "Certificate chain of the web port, PEM; read again when it changes.",
       .roles = kAnsweringKeda},
      {.name = "web-tls-key",
       .member = &Config::web_tls_key,
       .value = "FILE",
       .help = "Private key of --web-tls-cert, PEM.",
       .roles = kAnsweringKeda},
      {.name = "web-tls-client-ca",
       .member = &Config::web_tls_client_ca,
       .value = "FILE",
       .help = "CA that clients of the web port must have a certificate of, PEM.",
       .roles = kAnsweringKeda},
      {.name = "profiles",
       .member = &Config::profiles,
       .value = "FILE",
       .help = "YAML file with profiles of your own; serve reads it again when it changes.",
       .used_by = kServeUses | kLintUses,
       .roles = kAnsweringKeda},
      {.name = "max-streams-per-peer",
       .member = &Config::max_streams_per_peer,
       .value = "NUMBER",
       .help = "Streams one client address may hold; more get RESOURCE_EXHAUSTED.",
       .roles = kAnsweringKeda,
       .least = 1,
       .most = 1'000'000},
      {.name = "max-connection-age",
       .member = &Config::max_connection_age,
       .value = "DURATION",
       .help = "Age, 10 % more or less, at which a connection takes no new calls, so that its "
               "client connects again and finds new replicas of the scaler behind its name; "
               "streams go on.",
       .roles = kAnsweringKeda,
       .least = 1,
       .most = 24 * kHour},
      {.name = "service",
       .member = &Config::service,
       .value = "HOST",
       .help =
           "Host of scalerAddress: a warning is logged when it leads to several scalers, of which "
           "each answers for its own node.",
       .roles = BitOf(Role::kStandalone),
       .check = CheckHost},
      {.name = "log-level",
       .member = &Config::log_level,
       .value = "LEVEL",
       .help = "Least level that is logged: debug, info, warn or error.",
       .used_by = kServeUses | kGpusUses},
      {.name = "log-format",
       .member = &Config::log_format,
       .value = "FORMAT",
       .help = "text (key=value) or json, a line an event on standard error, UTC.",
       .used_by = kServeUses | kGpusUses},
  };
  return *table;
}

}  // namespace

std::span<const Option> Options() { return Table(); }

const Option* FindOption(absl::string_view name) {
  const auto found = std::ranges::find(Table(), name, &Option::name);
  return found == Table().end() ? nullptr : &*found;
}

std::vector<absl::string_view> OptionNames() {
  std::vector<absl::string_view> names;
  for (const Option& option : Table()) names.push_back(option.name);
  return names;
}

std::string EnvironmentName(const Option& option) {
  return absl::StrCat("KEDA_GPU_SCALER_",
                      absl::StrReplaceAll(absl::AsciiStrToUpper(option.name), {{"-", "_"}}));
}

}  // namespace gpuscaler
