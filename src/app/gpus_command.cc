// `gpus`: prints the readings of the scaler without running a server.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "app/attributed_source.h"
#include "app/client_flags.h"
#include "app/commands.h"
#include "app/fleet_gpus.h"
#include "app/gpu_selection.h"
#include "app/gpus_page.h"
#include "app/job_environment.h"
#include "base/clock.h"
#include "base/duration_text.h"
#include "base/log.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "gpu/gpu_source.h"
#include "role/node_source.h"
#include "role/open_attribution.h"
#include "role/options.h"

namespace gpuscaler {
namespace {

struct GpusFlags {
  std::vector<Setting> given;
  std::string format = "table";
  std::string env = "auto";
  std::string interval = "0";
  int device = -1;
  bool quiet = false;
  bool dry_run = false;
  std::string fleet;  // address of the scaler with all nodes; empty: this node's GPUs
  ScalerClientOptions client;
};

struct GpusPlan {
  Resolved resolved;
  JobEnvironment job;
  absl::Duration interval;
};

EnvironmentKind EnvironmentKindOf(const std::string& word, const Environment& environment) {
  for (const EnvironmentKind kind : {EnvironmentKind::kStandalone, EnvironmentKind::kKubernetes,
                                     EnvironmentKind::kSlurm, EnvironmentKind::kFlux}) {
    if (Name(kind) == word) return kind;
  }
  return DetectEnvironment(environment);
}

// Uses the node name that was configured, else the one in the job's environment, else the host
// name. In a pod the host name is the pod's, so it is not used.
void SetNodeName(const Resolved& resolved, JobEnvironment& job) {
  const auto origin = resolved.origins.find("node-name");
  const bool guessed = origin != resolved.origins.end() && origin->second == "the host's name";
  if (!guessed) job.node = resolved.config.node_name;
  if (job.node.empty() && job.kind != EnvironmentKind::kKubernetes) {
    job.node = resolved.config.node_name;
  }
}

// A longer interval is probably a typo.
absl::StatusOr<absl::Duration> IntervalOf(const std::string& text) {
  constexpr absl::Duration kLongest = absl::Hours(24);
  absl::StatusOr<absl::Duration> interval = ParseDuration(text);
  if (interval.ok() && *interval <= kLongest) return interval;
  return absl::InvalidArgumentError(absl::StrCat(
      "flag --interval=", text, ": use a duration with its unit, up to ", DurationText(kLongest)));
}

absl::StatusOr<GpusPlan> Plan(const GpusFlags& flags) {
  const Environment environment = CurrentEnvironment();
  GpusPlan plan;
  ASSIGN_OR_RETURN(plan.resolved, ResolveSettings(flags.given, environment));
  ASSIGN_OR_RETURN(plan.interval, IntervalOf(flags.interval));
  plan.job = ReadJobEnvironment(EnvironmentKindOf(flags.env, environment), environment);
  SetNodeName(plan.resolved, plan.job);
  return plan;
}

// Returns NOT_FOUND if --device matches none of the GPUs.
absl::Status KeepDevice(int device, std::vector<GpuSample>& gpus) {
  std::set<int> indices;
  for (const GpuSample& gpu : gpus) indices.insert(gpu.index);
  std::erase_if(gpus, [device](const GpuSample& gpu) { return gpu.index != device; });
  if (!gpus.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "flag --device=", device, ": no such GPU; there ",
      indices.empty() ? "is none" : absl::StrCat("are ", absl::StrJoin(indices, ", "))));
}

absl::StatusOr<GpusPage> PageOf(const GpusPlan& plan, const GpusFlags& flags,
                                NodeSnapshot snapshot) {
  GpusPage page = {.job = plan.job};
  if (plan.job.gpus) {
    GpuSelection selection = SelectGpus(snapshot.gpus, *plan.job.gpus);
    snapshot.gpus = std::move(selection.gpus);
    for (const std::string& note : selection.notes) {
      page.notes.push_back(absl::StrCat(plan.job.gpus_from, ": ", note));
    }
  } else if (plan.job.kind == EnvironmentKind::kSlurm || plan.job.kind == EnvironmentKind::kFlux) {
    page.notes.emplace_back("no variable names the job's GPUs: all of the node are shown");
  }
  if (flags.device >= 0) RETURN_IF_ERROR(KeepDevice(flags.device, snapshot.gpus.Own()));
  page.snapshot = std::move(snapshot);
  return page;
}

// Uses one write(2), so that a signal between two samples never leaves half a line. Returns false
// on failure, which main() reports by the state of std::cout.
bool Print(const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(STDOUT_FILENO, text.data() + written, text.size() - written);
    if (count <= 0) {
      std::cout.setstate(std::ios::badbit);
      return false;
    }
    written += static_cast<size_t>(count);
  }
  return true;
}

std::string Render(const GpusFlags& flags, const GpusPage& page, bool repeated, bool first) {
  if (flags.format == "json") return GpusJson(page, repeated);
  if (flags.format == "csv") return absl::StrCat(first ? GpusCsvHeader() : "", GpusCsv(page));
  return GpusTable(page);
}

int DryRun(const GpusFlags& flags, const GpusPlan& plan) {
  std::vector<std::string> lines;
  for (const Option& option : Options()) {
    if ((option.used_by & kGpusUses) == 0) continue;
    lines.push_back(Reported(plan.resolved, option.name));
  }
  lines.push_back(absl::StrCat("format=", flags.format));
  lines.push_back(absl::StrCat("interval=", DurationText(plan.interval)));
  lines.push_back(absl::StrCat("device=", flags.device < 0 ? "all" : absl::StrCat(flags.device)));
  lines.push_back(absl::StrCat("env=", Name(plan.job.kind)));
  lines.push_back(absl::StrCat("node=", plan.job.node.empty() ? "-" : plan.job.node));
  lines.push_back(
      absl::StrCat("gpus=", plan.job.gpus ? absl::StrCat(absl::StrJoin(*plan.job.gpus, ","),
                                                         " (environment ", plan.job.gpus_from, ")")
                                          : "all"));
  Print(EscapedLines(lines));
  return kExitOk;
}

constexpr CostlyReadings kEverything{.pcie = true, .activity = true};

// Rates (NVLink, and all that GPM has) need two readings of a counter.
absl::StatusOr<NodeSnapshot> ReadWithRates(GpuSource& source) {
  constexpr absl::Duration kRateInterval = absl::Milliseconds(200);
  auto snapshot = source.Read(kEverything);
  const bool gaps = snapshot.ok() && std::ranges::any_of(snapshot->gpus, [](const GpuSample& gpu) {
                      return !gpu.gaps.empty();
                    });
  if (!gaps) return snapshot;
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(kRateInterval));
  return source.Read(kEverything);
}

int PrintOnce(const GpusFlags& flags, const GpusPlan& plan, GpuSource& source) {
  auto snapshot = ReadWithRates(source);
  if (!snapshot.ok()) return Fail("keda-gpu-scaler gpus", snapshot.status(), kExitUnavailable);
  const auto page = PageOf(plan, flags, *std::move(snapshot));
  if (!page.ok()) return Fail("keda-gpu-scaler gpus", page.status(), kExitUnavailable);
  Print(Render(flags, *page, false, true));
  return kExitOk;
}

absl::StatusOr<GpusPage> ReadPage(const GpusPlan& plan, const GpusFlags& flags, GpuSource& source) {
  ASSIGN_OR_RETURN(NodeSnapshot snapshot, source.Read(kEverything));
  return PageOf(plan, flags, std::move(snapshot));
}

// Runs until a signal ends the process or its output cannot be written. A --device that never
// existed is an error; one that disappears may return.
int PrintRepeatedly(const GpusFlags& flags, const GpusPlan& plan, GpuSource& source) {
  auto next = std::chrono::steady_clock::now();
  std::string last_error;
  for (bool first = true;;) {
    const auto page = ReadPage(plan, flags, source);
    if (first && absl::IsNotFound(page.status())) {
      return Fail("keda-gpu-scaler gpus", page.status(), kExitUnavailable);
    }
    const std::string error(page.status().message());
    if (!page.ok() && error != last_error) LogWarn("gpus_not_read", {{"why", error}});
    last_error = error;
    if (page.ok()) {
      if (!Print(Render(flags, *page, true, first))) return kExitOk;
      first = false;
    }
    // Readings that a hanging driver delayed are not repeated.
    next =
        std::max(next + absl::ToChronoNanoseconds(plan.interval), std::chrono::steady_clock::now());
    std::this_thread::sleep_until(next);
  }
}

int ReadAndPrint(const GpusFlags& flags, const GpusPlan& plan) {
  const SteadyClock clock;
  Config config = plan.resolved.config;
  config.attribution = AttributionHere(config);
  auto source = OpenNodeSource(config, plan.job.node, clock);
  if (!source.ok()) return Fail("keda-gpu-scaler gpus", source.status(), kExitUsage);
  const auto attribution = OpenAttribution(config, clock);
  std::unique_ptr<GpuSource> attributed;
  if (attribution != nullptr) {
    attributed = std::make_unique<AttributedSource>(clock, **source, *attribution);
  }
  GpuSource& gpus = attributed == nullptr ? **source : *attributed;
  return plan.interval > absl::ZeroDuration() ? PrintRepeatedly(flags, plan, gpus)
                                              : PrintOnce(flags, plan, gpus);
}

// Flags for reading this node have no effect on a fleet, and the reverse.
absl::Status CheckFleetFlags(const GpusFlags& flags) {
  const ScalerClientOptions& client = flags.client;
  const bool has_tls = client.tls || !client.ca.empty() || !client.cert.empty() ||
                       !client.key.empty() || !client.server_name.empty();
  if (flags.fleet.empty()) {
    return has_tls ? absl::InvalidArgumentError("the --tls flags are for --fleet=ADDRESS")
                   : absl::OkStatus();
  }
  std::vector<std::string> others;
  if (flags.interval != GpusFlags().interval) others.emplace_back("--interval");
  if (flags.env != GpusFlags().env) others.emplace_back("--env");
  if (flags.device >= 0) others.emplace_back("--device");
  if (flags.dry_run) others.emplace_back("--dry-run");
  for (const Setting& setting : flags.given) {
    if (!absl::StartsWith(setting.name, "log-")) others.push_back("--" + setting.name);
  }
  if (flags.format == "csv") {
    return absl::InvalidArgumentError(
        "flag --format=csv: a fleet's ages, disconnected agents and what is left out have no "
        "column; use json");
  }
  if (others.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("flag --fleet=", flags.fleet,
                                                 ": the scaler there reads the GPUs; leave out ",
                                                 absl::StrJoin(others, ", ")));
}

int Run(const GpusFlags& flags) {
  if (const absl::Status fault = CheckFleetFlags(flags); !fault.ok()) {
    return Fail("keda-gpu-scaler gpus", fault, kExitUsage);
  }
  if (!flags.fleet.empty()) return ShowFleet(flags.fleet, flags.client, flags.format);
  const auto plan = Plan(flags);
  if (!plan.ok()) return Fail("keda-gpu-scaler gpus", plan.status(), kExitUsage);
  const Config& config = plan->resolved.config;
  StartLogging(flags.quiet ? LogLevel::kError : config.log_level, config.log_format);
  if (flags.dry_run) return DryRun(flags, *plan);
  // The end of a job is no failure, and must not wait for a hanging driver.
  std::signal(SIGTERM, [](int) { std::_Exit(kExitOk); });
  std::signal(SIGINT, [](int) { std::_Exit(kExitOk); });
  return ReadAndPrint(flags, *plan);
}

}  // namespace

Command GpusCommand() {
  const auto flags = std::make_shared<GpusFlags>();
  Command command = {
      .name = "gpus",
      .help = "Show the GPUs as the scaler sees them: this node's without a server, or a fleet's.",
      .flags = {WordFlag("format", "FORMAT",
                         "Format of the readings; with --interval, json is a line a reading.",
                         {"table", "json", "csv"}, &flags->format),
                TextFlag("interval", "DURATION",
                         "Read again and again; 0: once, as two readings 200 ms apart where a rate "
                         "needs two. 0 to 24h.",
                         &flags->interval),
                IntFlag("device", "Index of the only GPU to show; -1: all.", {-1}, &flags->device),
                TextFlag("fleet", "ADDRESS",
                         "Show the GPUs of all nodes of the aggregator at that address, "
                         "and what it leaves out; it answers on its own host alone.",
                         &flags->fleet),
                SwitchFlag("quiet", "Log errors only.", &flags->quiet),
                SwitchFlag("dry-run", "Print the settings as resolved, and read nothing.",
                           &flags->dry_run),
                WordFlag("env", "ENVIRONMENT",
                         "Where this runs, for a job's own GPUs, and the names of job, rank, node "
                         "and pod.",
                         {"auto", "k8s", "slurm", "flux", "standalone"}, &flags->env)},
      .run = [flags](const std::vector<std::string>&) { return Run(*flags); }};
  for (Flag& flag : ClientFlags(&flags->client)) command.flags.push_back(std::move(flag));
  for (Flag& flag : ConfigFlags(kGpusUses, &flags->given)) command.flags.push_back(std::move(flag));
  return command;
}

}  // namespace gpuscaler
