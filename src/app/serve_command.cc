// `serve`: serves KEDA until a signal ends it.
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "app/commands.h"
#include "app/open_files_limit.h"
#include "app/termination.h"
#include "app/version.h"
#include "base/clock.h"
#include "base/log.h"
#include "role/open_attribution.h"
#include "role/option_value.h"
#include "role/options.h"
#include "role/role_options.h"
#include "role/running_role.h"

namespace gpuscaler {
namespace {

// The process promises to exit within 5 s, and an RPC takes 2 s at most.
constexpr absl::Duration kTimeout = absl::Seconds(3);

std::string SettingsText(const Resolved& resolved) {
  std::string text;
  for (const auto& [name, origin] : resolved.origins) {
    if (!IsRead(*FindOption(name), resolved.config.role)) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", Reported(resolved, name));
  }
  return text;
}

// An aggregator reads no GPU, so node and source are left out.
void LogServing(const Config& config, const RunningRole& running) {
  const LogField role("role", WordOf(config.role));
  const LogField bind_address("bind_address", config.bind_address);
  const LogField grpc_port("grpc_port", running.grpc_port());
  const LogField metrics_port("metrics_port", running.metrics_port());
  const LogField probe_port("probe_port", running.probe_port());
  const LogField web_port("web_port", running.web_port());
  if (config.role == Role::kAggregator) {
    LogInfo("serving", {role,
                        bind_address,
                        grpc_port,
                        metrics_port,
                        probe_port,
                        web_port,
                        {"agents", config.agents},
                        {"reader", config.node_name}});
    return;
  }
  LogInfo("serving", {role,
                      bind_address,
                      grpc_port,
                      metrics_port,
                      probe_port,
                      web_port,
                      {"node", config.node_name},
                      {"gpu_source", config.gpu_source},
                      {"attribution", WordOf(config.attribution)}});
}

// Applies the log level of the current settings: the file of --config may have changed.
void ReloadLogLevel(const std::vector<Setting>& given) {
  const auto resolved = ResolveSettings(given, CurrentEnvironment());
  if (!resolved.ok()) {
    LogWarn("reload_failed", {{"what", "log-level"},
                              {"why", resolved.status().message()},
                              {"kept", "the last good one"}});
    return;
  }
  SetLogLevel(resolved->config.log_level);
}

int Run(const Resolved& resolved, const std::vector<Setting>& given,
        const TerminationSignals& signals) {
  Config config = resolved.config;
  config.commit = std::string(CommitOfBuild().hash);
  if (config.role != Role::kAggregator) config.attribution = AttributionHere(config);
  const SteadyClock clock;
  const auto running = RunningRole::Start(config, clock);
  if (!running.ok()) {
    LogError("cannot_serve", {{"why", NameLayer(resolved, running.status()).message()}});
    return ExitCodeOf(running.status(), kExitCannotServe);
  }
  LogServing(config, **running);
  int signal = signals.Wait();
  for (; signal == SIGHUP; signal = signals.Wait()) {
    LogInfo("reloading", {{"signal", "SIGHUP"}});
    ReloadLogLevel(given);
    (*running)->Reload();
  }
  LogInfo("stopping", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
  const std::vector<std::string> hanging = (*running)->Drain(kTimeout);
  if (hanging.empty()) {
    LogInfo("stopped");
    return kExitOk;
  }
  LogWarn("shutdown_timed_out", {{"thread", absl::StrJoin(hanging, ",")},
                                 {"timeout_seconds", absl::ToDoubleSeconds(kTimeout)}});
  std::_Exit(kExitOk);  // a hanging thread cannot be joined
}

int Serve(const std::vector<Setting>& given) {
  const TerminationSignals signals({SIGHUP});
  // Unhandled, these signals would end the process.
  for (const int unused : {SIGUSR1, SIGUSR2}) std::signal(unused, SIG_IGN);
  const Environment environment = CurrentEnvironment();
  const auto resolved = ResolveSettings(given, environment);
  if (!resolved.ok()) return Fail("keda-gpu-scaler serve", resolved.status(), kExitUsage);
  if (const absl::Status fits = CheckFlagsOfRole(given, *resolved); !fits.ok()) {
    return Fail("keda-gpu-scaler serve", fits, kExitUsage);
  }
  StartLogging(resolved->config.log_level, resolved->config.log_format);
  for (const std::string& variable : UnknownVariables(environment)) {
    LogWarn("unknown_environment_variable", {{"variable", variable}});
  }
  for (const std::string& setting : SettingsOfOtherRoles(*resolved)) {
    LogWarn("setting_ignored", {{"setting", setting}, {"role", WordOf(resolved->config.role)}});
  }
  RaiseOpenFilesLimit();
  LogInfo("starting", {{"version", GPUSCALER_VERSION}, {"settings", SettingsText(*resolved)}});
  return Run(*resolved, given, signals);
}

}  // namespace

Command ServeCommand() {
  const auto given = std::make_shared<std::vector<Setting>>();
  return {.name = "serve",
          .help = "Answer KEDA's external scaler protocol; the default command.",
          .flags = ConfigFlags(kServeUses, given.get()),
          .run = [given](const std::vector<std::string>&) { return Serve(*given); }};
}

}  // namespace gpuscaler
