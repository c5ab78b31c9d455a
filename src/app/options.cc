#include "app/options.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "app/allowed_namespaces.h"
#include "base/duration_text.h"
#include "base/host_name.h"
#include "base/nearest.h"
#include "endpoint/endpoint_rules.h"
#include "fleet/agent_addresses.h"
#include "fleet/membership.h"
#include "gpu/gpu_source.h"

namespace gpuscaler {
namespace {

bool IsAddress(absl::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> parsed;
  const std::string address(text);
  return inet_pton(AF_INET, address.c_str(), parsed.data()) == 1 ||
         inet_pton(AF_INET6, address.c_str(), parsed.data()) == 1;
}

absl::Status CheckAddress(absl::string_view text) {
  if (IsAddress(text)) return absl::OkStatus();
  return absl::InvalidArgumentError("use an IPv4 or IPv6 address, without brackets or port");
}

absl::Status CheckAgents(absl::string_view text) {
  return text.empty() ? absl::OkStatus() : ParseAgents(text).status();
}

absl::Status CheckHost(absl::string_view text) {
  if (text.empty() || IsHostName(text) || IsAddress(text)) return absl::OkStatus();
  return absl::InvalidArgumentError("use the name of a host (RFC 1123), without a port");
}

absl::Status CheckSocketPath(absl::string_view text) {
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (absl::StartsWith(text, "/") && text.size() <= kLongest) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("use an absolute path of at most ", kLongest,
                                                 " bytes, as the kernel takes for a socket"));
}

absl::Status CheckAnySocketPath(absl::string_view text) {
  return text.empty() ? absl::OkStatus() : CheckSocketPath(text);
}

absl::Status CheckAllowedEndpoints(absl::string_view text) {
  return ParseAllowedEndpoints(text).status();
}

absl::Status CheckAllowedNamespaces(absl::string_view text) {
  return ParseAllowedNamespaces(text).status();
}

const std::vector<std::pair<absl::string_view, Role>>& Roles() {
  static const auto* const roles =
      new std::vector<std::pair<absl::string_view, Role>>{{"standalone", Role::kStandalone},
                                                          {"agent", Role::kAgent},
                                                          {"aggregator", Role::kAggregator}};
  return *roles;
}

const std::vector<std::pair<absl::string_view, LogLevel>>& LogLevels() {
  static const auto* const levels =
      new std::vector<std::pair<absl::string_view, LogLevel>>{{"debug", LogLevel::kDebug},
                                                              {"info", LogLevel::kInfo},
                                                              {"warn", LogLevel::kWarn},
                                                              {"error", LogLevel::kError}};
  return *levels;
}

const std::vector<std::pair<absl::string_view, LogFormat>>& LogFormats() {
  static const auto* const formats = new std::vector<std::pair<absl::string_view, LogFormat>>{
      {"text", LogFormat::kText}, {"json", LogFormat::kJson}};
  return *formats;
}

const std::vector<std::pair<absl::string_view, AttributionMode>>& AttributionModes() {
  static const auto* const modes = new std::vector<std::pair<absl::string_view, AttributionMode>>{
      {"auto", AttributionMode::kAuto},
      {"kubelet", AttributionMode::kKubelet},
      {"page", AttributionMode::kPage},
      {"none", AttributionMode::kNone}};
  return *modes;
}

template <typename Enum>
std::vector<absl::string_view> WordsOf(
    const std::vector<std::pair<absl::string_view, Enum>>& choices) {
  std::vector<absl::string_view> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  return words;
}

template <typename Enum>
absl::Status Choose(const std::vector<std::pair<absl::string_view, Enum>>& choices,
                    absl::string_view text, Enum& chosen) {
  for (const auto& choice : choices) {
    if (choice.first != text) continue;
    chosen = choice.second;
    return absl::OkStatus();
  }
  const std::vector<absl::string_view> words = WordsOf(choices);
  return absl::InvalidArgumentError(
      absl::StrCat("use ", absl::StrJoin(words, ", "), DidYouMean(text, words)));
}

template <typename Enum>
std::string WordOf(const std::vector<std::pair<absl::string_view, Enum>>& choices, Enum value) {
  const auto found =
      std::ranges::find_if(choices, [value](const auto& choice) { return choice.second == value; });
  return std::string(found->first);
}

absl::Status SetPort(absl::string_view text, int& port) {
  int number = 0;
  if (text == "any") {
    port = kAnyPort;
    return absl::OkStatus();
  }
  if (!absl::SimpleAtoi(text, &number) || number < 0 || number > 65535) {
    return absl::InvalidArgumentError("use a port from 0 to 65535, or any");
  }
  port = number;
  return absl::OkStatus();
}

absl::Status SetNumber(const Option& option, absl::string_view text, int& number) {
  int parsed = 0;
  if (absl::SimpleAtoi(text, &parsed) && parsed >= option.least && parsed <= option.most) {
    number = parsed;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("use a whole number from ", option.least, " to ",
                                                 absl::StrCat(static_cast<int64_t>(option.most))));
}

absl::Status SetSwitch(absl::string_view text, bool& on) {
  if (text != "true" && text != "false") return absl::InvalidArgumentError("use true or false");
  on = text == "true";
  return absl::OkStatus();
}

absl::Status SetDuration(const Option& option, absl::string_view text, absl::Duration& duration) {
  const absl::Duration least = absl::Seconds(option.least);
  const absl::Duration most = absl::Seconds(option.most);
  const absl::StatusOr<absl::Duration> parsed = ParseDuration(text);
  if (!parsed.ok() || *parsed < least || *parsed > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "use a duration with its unit, from ", DurationText(least), " to ", DurationText(most)));
  }
  duration = *parsed;
  return absl::OkStatus();
}

absl::Status SetText(const Option& option, absl::string_view text, std::string& member) {
  if (option.check != nullptr) {
    if (absl::Status checked = option.check(text); !checked.ok()) return checked;
  }
  member = std::string(text);
  return absl::OkStatus();
}

// One Set() and one Text() for each kind of member.
struct Setter {
  const Option& option;
  absl::string_view text;
  Config& config;

  absl::Status operator()(std::string Config::*member) const {
    return SetText(option, text, config.*member);
  }
  absl::Status operator()(PortMember member) const { return SetPort(text, config.*member.port); }
  absl::Status operator()(int Config::*member) const {
    return SetNumber(option, text, config.*member);
  }
  absl::Status operator()(bool Config::*member) const { return SetSwitch(text, config.*member); }
  absl::Status operator()(absl::Duration Config::*member) const {
    return SetDuration(option, text, config.*member);
  }
  absl::Status operator()(std::optional<absl::Duration> Config::*member) const {
    absl::Duration duration;
    absl::Status status = SetDuration(option, text, duration);
    if (status.ok()) config.*member = duration;
    return status;
  }
  absl::Status operator()(Role Config::*member) const {
    return Choose(Roles(), text, config.*member);
  }
  absl::Status operator()(LogLevel Config::*member) const {
    return Choose(LogLevels(), text, config.*member);
  }
  absl::Status operator()(LogFormat Config::*member) const {
    return Choose(LogFormats(), text, config.*member);
  }
  absl::Status operator()(AttributionMode Config::*member) const {
    return Choose(AttributionModes(), text, config.*member);
  }
};

struct Texter {
  const Config& config;

  std::string operator()(std::string Config::*member) const { return config.*member; }
  std::string operator()(PortMember member) const {
    return config.*member.port == kAnyPort ? "any" : absl::StrCat(config.*member.port);
  }
  std::string operator()(int Config::*member) const { return absl::StrCat(config.*member); }
  std::string operator()(bool Config::*member) const { return config.*member ? "true" : "false"; }
  std::string operator()(absl::Duration Config::*member) const {
    return DurationText(config.*member);
  }
  std::string operator()(std::optional<absl::Duration> Config::*member) const {
    return config.*member ? DurationText(*(config.*member)) : "";
  }
  std::string operator()(Role Config::*member) const { return WordOf(Roles(), config.*member); }
  std::string operator()(LogLevel Config::*member) const {
    return WordOf(LogLevels(), config.*member);
  }
  std::string operator()(LogFormat Config::*member) const {
    return WordOf(LogFormats(), config.*member);
  }
  std::string operator()(AttributionMode Config::*member) const {
    return WordOf(AttributionModes(), config.*member);
  }
};

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
      {.name = "telemetry-port",
       .member = PortMember{&Config::telemetry_port},
       .value = "PORT",
       .help = "gRPC port on which an agent tells aggregators; 0 or any: any free one.",
       .roles = BitOf(Role::kAgent)},
      {.name = "grace",
       .member = &Config::grace,
       .value = "DURATION",
       .help = "For so long the last readings of an agent that is lost count as they are; its "
               "replicas are unreadable then.",
       .roles = BitOf(Role::kAggregator),
       .least = absl::ToDoubleSeconds(kQuiet),
       .most = kHour},
      {.name = "forget-after",
       .member = &Config::forget_after,
       .value = "DURATION",
       .help = "For so long DNS answers must not list an agent that is lost before its node counts "
               "as gone.",
       .roles = BitOf(Role::kAggregator),
       .least = 1,
       .most = 24 * kHour},
      {.name = "empty-after",
       .member = &Config::empty_after,
       .value = "DURATION",
       .help = "For so long DNS answers must be empty before there is no GPU node at all. "
               "An aggregator that starts waits as long for an agent that it cannot hear.",
       .roles = BitOf(Role::kAggregator),
       .least = 1,
       .most = kHour},
      {.name = "port",
       .member = PortMember{&Config::port},
       .value = "PORT",
       .help = "gRPC port that KEDA's scalerAddress names; 0 or any: any free one.",
       .roles = kAnsweringKeda},
      {.name = "bind-address",
       .member = &Config::bind_address,
       .value = "ADDRESS",
       .help = "Address that all ports listen on; :: is all of IPv4 and IPv6, or of IPv4 where "
               "there is no IPv6; 0.0.0.0 is all of IPv4.",
       .check = CheckAddress},
      {.name = "metrics-port",
       .member = PortMember{&Config::metrics_port},
       .value = "PORT",
       .help = "Port of the Prometheus page /metrics; 0 turns it off."},
      {.name = "probe-port",
       .member = PortMember{&Config::probe_port},
       .value = "PORT",
       .help = "Port of /healthz and /readyz; 0 turns it off."},
      {.name = "gpu-source",
       .member = &Config::gpu_source,
       .value = "SOURCE",
       .help = "Where GPU readings come from: auto, nvml, dcgm:URL (the page of this node's "
               "dcgm-exporter), file:PATH (simulated) or none.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus,
       .check = CheckGpuSource},
      {.name = "gpu-source-ca",
       .member = &Config::gpu_source_ca,
       .value = "FILE",
       .help = "CA of the certificate of dcgm:https://..., PEM; without it the system's.",
       .used_by = kServeUses | kGpusUses,
       .roles = kReadingGpus},
      {.name = "gpu-source-credentials",
       .member = &Config::gpu_source_credentials,
       .value = "FILE",
       .help = "USER:PASSWORD, or a bearer token, for dcgm:URL; read for each reading.",
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
           "Who holds a GPU: kubelet (the pods that the kubelet names), page (those that the page "
           "of dcgm:URL names), none (a GPU in use is a replica) or auto (kubelet; where its "
           "socket "
           "is not there at start, page with dcgm:URL, else none).",
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
      {.name = "allow-namespaces",
       .member = &Config::allow_namespaces,
       .value = "PAIRS",
       .help = "Namespaces whose GPUs the ScaledObjects of another one may see, as FROM:TO,...: "
               "FROM sees its own pods and those of TO. Without it, its own alone.",
       .roles = kAnsweringKeda,
       .check = CheckAllowedNamespaces},
      {.name = "discover-engines",
       .member = &Config::discover_engines,
       .help = "Finds the inference engines in this node's pods, and reads them while triggers ask "
               "about them: needs hostPID, or the kubelet's Pods API and engines at their usual "
               "ports.",
       .roles = kReadingGpus},
      {.name = "engine-interval",
       .member = &Config::engine_interval,
       .value = "DURATION",
       .help = "How often an engine is read while a trigger asks for it.",
       .least = 0.1,
       .most = 60},
      {.name = "queue-interval",
       .member = &Config::queue_interval,
       .value = "DURATION",
       .help =
           "How often a queue or a page of metrics is read while a trigger asks for it: what wakes "
           "a workload from zero.",
       .roles = kAnsweringKeda,
       .least = 0.1,
       .most = 60},
      {.name = "allow-endpoints",
       .member = &Config::allow_endpoints,
       .value = "HOSTS",
       .help = "Endpoints that triggers of all namespaces may name besides their own namespace's: "
               "host names (redis.infra.svc, *.infra.svc), IP addresses and blocks of them, "
               "separated by commas. Loopback, link-local addresses and those of clouds' metadata "
               "services have to be named here too.",
       .used_by = kServeUses | kLintUses,
       .roles = kAnsweringKeda,
       .check = CheckAllowedEndpoints},
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
       .default_text = "3 poll intervals, at least 5s, with dcgm:URL 75s"},
      {.name = "hang-after",
       .member = &Config::hang_after,
       .value = "DURATION",
       .help =
           "Time without a completed reading after which /healthz fails, of an aggregator without "
           "a look at what waits for an answer; at least 2 poll intervals.",
       .least = 1,
       .most = kHour},
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
       .help = "Age at which a client is told to connect again, and so finds new replicas of the "
               "scaler behind its name; its streams go on.",
       .roles = kAnsweringKeda,
       .least = 1,
       .most = 24 * kHour},
      {.name = "service",
       .member = &Config::service,
       .value = "HOST",
       .help = "Host of scalerAddress: a warning says when it leads to several scalers, of which "
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

absl::Status Set(const Option& option, absl::string_view text, Config& config) {
  return std::visit(Setter{option, text, config}, option.member);
}

std::string TextOf(const Option& option, const Config& config) {
  return std::visit(Texter{config}, option.member);
}

std::string DefaultText(const Option& option) {
  if (!option.default_text.empty()) return std::string(option.default_text);
  return TextOf(option, Config());
}

std::string HelpText(const Option& option) {
  const bool is_number = std::holds_alternative<int Config::*>(option.member);
  if (is_number) {
    return absl::StrCat(option.help, " ", option.least, " to ",
                        absl::StrCat(static_cast<int64_t>(option.most)), ".");
  }
  const bool is_duration =
      std::holds_alternative<absl::Duration Config::*>(option.member) ||
      std::holds_alternative<std::optional<absl::Duration> Config::*>(option.member);
  if (!is_duration) return std::string(option.help);
  return absl::StrCat(option.help, " ", DurationText(absl::Seconds(option.least)), " to ",
                      DurationText(absl::Seconds(option.most)), ".");
}

std::vector<absl::string_view> Words(const Option& option) {
  if (std::holds_alternative<Role Config::*>(option.member)) return WordsOf(Roles());
  if (std::holds_alternative<LogLevel Config::*>(option.member)) return WordsOf(LogLevels());
  if (std::holds_alternative<LogFormat Config::*>(option.member)) return WordsOf(LogFormats());
  if (std::holds_alternative<AttributionMode Config::*>(option.member)) {
    return WordsOf(AttributionModes());
  }
  return {};
}

}  // namespace gpuscaler
