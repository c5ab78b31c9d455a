#include "role/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/duration_text.h"
#include "base/file_text.h"
#include "base/nearest.h"
#include "base/status_macros.h"
#include "role/option_value.h"
#include "role/options.h"
#include "trigger/yaml_documents.h"
#include "yaml-cpp/yaml.h"

extern char** environ;  // POSIX

namespace gpuscaler {
namespace {

constexpr absl::string_view kPrefix = "KEDA_GPU_SCALER_";

// Returns true for Kubernetes' service links (kubelet/envvars): <SERVICE>_SERVICE_HOST,
// _SERVICE_PORT[_NAME], _PORT and _PORT_<n>_<PROTOCOL>[_PROTO|_PORT|_ADDR]. The _PORT ones look
// like options.
bool IsServiceLink(absl::string_view name, absl::string_view value) {
  const bool url = absl::StartsWith(value, "tcp://") || absl::StartsWith(value, "udp://") ||
                   absl::StartsWith(value, "sctp://");
  return url || absl::StrContains(name, "_SERVICE_HOST") ||
         absl::StrContains(name, "_SERVICE_PORT") || absl::StrContains(name, "_TCP_") ||
         absl::StrContains(name, "_UDP_") || absl::StrContains(name, "_SCTP_");
}

absl::Status FileError(const std::string& path, int line, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("file ", path, ":", line, ": ", what));
}

absl::StatusOr<std::vector<Setting>> SettingsOfMap(const std::string& path,
                                                   const YAML::Node& root) {
  std::vector<Setting> settings;
  std::set<std::string> seen;
  for (const auto& entry : root) {
    const int line = entry.first.Mark().line + 1;
    if (!entry.first.IsScalar()) return FileError(path, line, "a key is the name of an option");
    const std::string& key = entry.first.Scalar();
    if (FindOption(key) == nullptr) {
      return FileError(path, line,
                       absl::StrCat("unknown option ", key, DidYouMean(key, OptionNames())));
    }
    if (!seen.insert(key).second) {
      return FileError(path, line, absl::StrCat(key, " is given twice"));
    }
    if (!entry.second.IsScalar()) {
      return FileError(path, line, absl::StrCat(key, ": use a single value"));
    }
    settings.push_back(
        {key, entry.second.Scalar(), absl::StrCat("file ", path, ":", line, ": ", key)});
  }
  return settings;
}

std::string ReportedAs(const Resolved& resolved, absl::string_view name, absl::string_view value) {
  const auto origin = resolved.origins.find(name);
  return absl::StrCat(name, "=", value, " (",
                      origin == resolved.origins.end() ? "default" : origin->second, ")");
}

std::string ValueOf(const Resolved& resolved, absl::string_view name) {
  return TextOf(*FindOption(name), resolved.config);
}

// Readings may be an interval late, so a healthy node exceeds a limit below two intervals.
absl::Status CheckTwoIntervals(const Resolved& resolved, absl::string_view name,
                               absl::Duration limit, absl::string_view consequence) {
  if (limit >= 2 * resolved.config.poll_interval) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(ReportedAs(resolved, name, DurationText(limit)), " is shorter than twice ",
                   Reported(resolved, "poll-interval"), ": ", consequence));
}

// Agents send a heartbeat every 1.5 s, and NodeStore counts them as disconnected after kQuiet, 4 s
// (fleet/fleet_timeouts.h). A stale-after below 5 s would leave no grace.
absl::Status CheckHeartbeats(const Resolved& resolved) {
  constexpr absl::Duration kShortest = absl::Seconds(5);
  const Config& config = resolved.config;
  if (config.role != Role::kAggregator || config.StaleAfter() >= kShortest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(ReportedAs(resolved, "stale-after", DurationText(config.StaleAfter())),
                   " is too short for an aggregator: use 5s or more, for an agent without new "
                   "readings sends nothing for seconds"));
}

absl::Status CheckHistory(const Resolved& resolved) {
  const absl::Duration history = resolved.config.history;
  if (history == absl::ZeroDuration() || history >= absl::Minutes(1)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Reported(resolved, "history"), ": use 1m to 24h, or 0 to turn it off"));
}

// These are the names of three options. Any of them needs the first two.
absl::Status CheckTlsPair(const Resolved& resolved, absl::string_view cert, absl::string_view key,
                          absl::string_view client_ca) {
  const bool has_cert = !ValueOf(resolved, cert).empty();
  const bool has_key = !ValueOf(resolved, key).empty();
  const bool has_any = has_cert || has_key || !ValueOf(resolved, client_ca).empty();
  if (!has_any || (has_cert && has_key)) return absl::OkStatus();
  const absl::string_view given = has_cert ? cert : has_key ? key : client_ca;
  return absl::InvalidArgumentError(
      absl::StrCat(Reported(resolved, given), " needs ", has_cert ? key : cert, " too"));
}

// Agents and aggregators authenticate each other. Without a CA, an agent would send to any client,
// and an aggregator would accept any agent with a certificate of the system's authorities.
absl::Status CheckMutualTls(const Resolved& resolved) {
  const Config& config = resolved.config;
  const TlsFiles files = config.Tls();
  if (config.role == Role::kStandalone || !files.Enabled() || !files.client_ca.empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Reported(resolved, "tls-cert"), " of ", Reported(resolved, "role"),
                   " needs tls-client-ca too: agents and aggregators both show a certificate"));
}

absl::Status CheckAgentIdentity(const Resolved& resolved) {
  const Config& config = resolved.config;
  const bool checks =
      config.role == Role::kAggregator && config.agent_identity == AgentIdentity::kSan;
  if (!checks || config.Tls().Enabled()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Reported(resolved, "agent-identity"),
                   " needs tls-cert too: the names of nodes are in the agents' certificates"));
}

// The web port shows everything that this process has of all namespaces.
absl::Status CheckWeb(const Resolved& resolved) {
  const Config& config = resolved.config;
  RETURN_IF_ERROR(CheckTlsPair(resolved, "web-tls-cert", "web-tls-key", "web-tls-client-ca"));
  const bool is_open = config.role != Role::kAgent && config.web_port != 0;
  if (!is_open || config.WebIsOnLoopback()) return absl::OkStatus();
  std::vector<absl::string_view> missing;
  if (!config.WebTls().Enabled()) missing.emplace_back("web-tls-cert and web-tls-key");
  if (config.web_token_file.empty() && config.web_tls_client_ca.empty()) {
    missing.emplace_back("web-token-file or web-tls-client-ca");
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Reported(resolved, "web-bind-address"),
                                                 " is reached from other hosts: it needs ",
                                                 absl::StrJoin(missing, ", and "), " too"));
}

// Options that need an exporter as gpu-source, or that one of them excludes.
absl::Status CheckExporter(const Resolved& resolved) {
  const Config& config = resolved.config;
  if (const ExporterSchema* const exporter = ExporterOf(config.gpu_source)) {
    if (config.attribution != AttributionMode::kKubelet || exporter->has_kubelet_ids) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat(Reported(resolved, "attribution"), " cannot be used with ",
                     Reported(resolved, "gpu-source"), ": the page of ", exporter->name,
                     " has no id of a GPU that the kubelet has too. Use page or none"));
  }
  const absl::string_view given = config.attribution == AttributionMode::kPage ? "attribution"
                                  : !config.gpu_source_ca.empty()              ? "gpu-source-ca"
                                  : !config.gpu_source_credentials.empty()
                                      ? "gpu-source-credentials"
                                      : "";
  if (given.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Reported(resolved, given), " is for gpu-source=dcgm:URL or amd-exporter:URL; here is ",
      Reported(resolved, "gpu-source")));
}

// Checks combinations of options.
absl::Status CheckTogether(const Resolved& resolved) {
  const Config& config = resolved.config;
  if (config.role == Role::kAggregator && config.agents.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Reported(resolved, "role"), " needs agents too"));
  }
  RETURN_IF_ERROR(CheckTwoIntervals(resolved, "stale-after", config.StaleAfter(),
                                    "snapshots would be stale before the next one"));
  RETURN_IF_ERROR(CheckHeartbeats(resolved));
  RETURN_IF_ERROR(CheckExporter(resolved));
  RETURN_IF_ERROR(CheckHistory(resolved));
  RETURN_IF_ERROR(CheckTwoIntervals(resolved, "hang-after", config.hang_after,
                                    "/healthz would fail between two readings"));
  RETURN_IF_ERROR(CheckTlsPair(resolved, "tls-cert", "tls-key", "tls-client-ca"));
  RETURN_IF_ERROR(CheckMutualTls(resolved));
  RETURN_IF_ERROR(CheckAgentIdentity(resolved));
  RETURN_IF_ERROR(CheckWeb(resolved));
  return CheckTlsPair(resolved, "metrics-tls-cert", "metrics-tls-key", "metrics-client-ca");
}

std::string ConfigPath(const std::vector<Setting>& flags, const Environment& environment) {
  const auto flag = std::find_if(flags.rbegin(), flags.rend(), [](const Setting& setting) {
    return setting.name == kConfigFlag;
  });
  if (flag != flags.rend()) return flag->value;
  const auto variable = environment.find(kConfigVariable);
  return variable == environment.end() ? "" : variable->second;
}

void NameTheNode(const Environment& environment, Resolved& resolved) {
  if (!resolved.config.node_name.empty()) return;
  const auto variable = environment.find("NODE_NAME");
  if (variable != environment.end() && !variable->second.empty()) {
    resolved.config.node_name = variable->second;
    resolved.origins["node-name"] = "environment NODE_NAME";
    return;
  }
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) resolved.config.node_name = host.data();
  resolved.origins["node-name"] = "the host's name";
}

// Uses only the variables of Kubernetes' downward API, because a host name has no namespace.
void NameTheOwnPod(const Environment& environment, Resolved& resolved) {
  if (!resolved.config.own_pod.empty()) return;
  const auto space = environment.find("POD_NAMESPACE");
  const auto name = environment.find("POD_NAME");
  if (space == environment.end() || name == environment.end()) return;
  if (space->second.empty() || name->second.empty()) return;
  resolved.config.own_pod = absl::StrCat(space->second, "/", name->second);
  resolved.origins["own-pod"] = "environment POD_NAMESPACE and POD_NAME";
}

}  // namespace

Environment CurrentEnvironment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

absl::StatusOr<std::vector<Setting>> SettingsOfYaml(const std::string& path,
                                                    const std::string& yaml) try {
  const OnlyDocument only = OnlyYamlDocument(yaml);
  if (only.second_line > 0) {
    return FileError(path, only.second_line, "a second document: use one alone");
  }
  if (only.root.IsNull()) return std::vector<Setting>();
  if (!only.root.IsMap()) return FileError(path, 1, "use a map of options, such as \"port: 6000\"");
  return SettingsOfMap(path, only.root);
} catch (const YAML::Exception& exception) {
  return FileError(path, exception.mark.line + 1, exception.msg);
}

absl::StatusOr<std::vector<Setting>> SettingsOfFile(const std::string& path) {
  const auto yaml = ReadFileText(path);
  if (yaml.ok()) return SettingsOfYaml(path, *yaml);
  return absl::InvalidArgumentError(absl::StrCat("file ", yaml.status().message()));
}

std::vector<Setting> SettingsOfEnvironment(const Environment& environment) {
  std::vector<Setting> settings;
  for (const Option& option : Options()) {
    const std::string name = EnvironmentName(option);
    const auto found = environment.find(name);
    if (found == environment.end() || found->second.empty()) continue;
    if (IsServiceLink(name, found->second)) continue;
    settings.push_back(
        {std::string(option.name), found->second, absl::StrCat("environment ", name)});
  }
  return settings;
}

std::vector<std::string> UnknownVariables(const Environment& environment) {
  std::vector<std::string> known{std::string(kConfigVariable)};
  for (const Option& option : Options()) known.push_back(EnvironmentName(option));
  const std::vector<absl::string_view> views(known.begin(), known.end());
  std::vector<std::string> unknown;
  for (const auto& [name, value] : environment) {
    if (!absl::StartsWith(name, kPrefix) || IsServiceLink(name, value)) continue;
    if (std::ranges::find(known, name) != known.end()) continue;
    unknown.push_back(absl::StrCat(name, DidYouMean(name, views)));
  }
  return unknown;
}

std::string Reported(const Resolved& resolved, absl::string_view name) {
  return ReportedAs(resolved, name, ValueOf(resolved, name));
}

absl::StatusOr<Resolved> Resolve(const std::vector<Setting>& settings) {
  Resolved resolved;
  for (const Setting& setting : settings) {
    const Option* const option = FindOption(setting.name);
    if (option == nullptr) continue;  // --config
    if (absl::Status set = Set(*option, setting.value, resolved.config); !set.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(setting.origin, "=", setting.value, ": ", set.message()));
    }
    resolved.origins[setting.name] = setting.origin;
  }
  RETURN_IF_ERROR(CheckTogether(resolved));
  return resolved;
}

absl::StatusOr<Resolved> ResolveSettings(const std::vector<Setting>& flags,
                                         const Environment& environment) {
  std::vector<Setting> settings;
  if (const std::string path = ConfigPath(flags, environment); !path.empty()) {
    ASSIGN_OR_RETURN(settings, SettingsOfFile(path));
  }
  for (Setting& setting : SettingsOfEnvironment(environment)) {
    settings.push_back(std::move(setting));
  }
  settings.insert(settings.end(), flags.begin(), flags.end());
  ASSIGN_OR_RETURN(Resolved resolved, Resolve(settings));
  NameTheNode(environment, resolved);
  NameTheOwnPod(environment, resolved);
  return resolved;
}

absl::Status NameLayer(const Resolved& resolved, const absl::Status& error) {
  for (const Option& option : Options()) {
    const auto origin = resolved.origins.find(option.name);
    if (option.value != "FILE" || origin == resolved.origins.end()) continue;
    const std::string path = TextOf(option, resolved.config);
    if (path.empty() || !absl::StartsWith(error.message(), absl::StrCat(path, ":"))) continue;
    return {error.code(), absl::StrCat(origin->second, "=", error.message())};
  }
  return error;
}

}  // namespace gpuscaler
