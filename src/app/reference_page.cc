#include "app/reference_page.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "app/job_environment.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "engine/demand.h"
#include "engine/reported_metrics.h"
#include "page/metric_family.h"
#include "role/option_value.h"
#include "role/options.h"
#include "role/role_options.h"
#include "role/settings.h"
#include "scaling/decision.h"
#include "serve/fleet_metrics.h"
#include "serve/gpu_time_metrics.h"
#include "serve/metrics.h"
#include "serve/signal_metrics.h"
#include "signal/engine_metrics.h"
#include "trigger/lint.h"
#include "trigger/metric_type.h"
#include "trigger/profile.h"
#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

std::string Cell(absl::string_view text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }
std::string Code(absl::string_view text) {
  return text.empty() ? "" : absl::StrCat("`", Cell(text), "`");
}

std::string Row(const std::vector<std::string>& cells) {
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}

std::string Head(const std::vector<std::string>& names) {
  return absl::StrCat(Row(names), "|",
                      absl::StrReplaceAll(std::string(names.size(), 'x'), {{"x", "---|"}}), "\n");
}

std::string KeysSection() {
  std::string text = absl::StrCat(
      "## Metadata keys of a trigger\n\nEvery key is also accepted as `<key>FromEnv`; the "
      "plain key wins. An unknown key is an error.\n\n",
      Head({"key", "allowed", "default", "meaning"}));
  for (const KeyRow& key : KeyRows()) {
    absl::StrAppend(
        &text, Row({Code(key.name), Cell(key.allowed), Code(key.default_value), Cell(key.help)}));
  }
  std::vector<std::string> keda;
  for (const absl::string_view key : KedaKeys()) keda.push_back(Code(key));
  return absl::StrCat(text, "\nKEDA's own keys, accepted and ignored: ", absl::StrJoin(keda, ", "),
                      ".\n\n");
}

std::string MetricTypesSection() {
  std::string text = absl::StrCat(
      "## Metric types\n\nIntensive amounts are aggregated over the GPUs of a replica and summed "
      "over replicas; extensive ones are summed over all GPUs.\n\n",
      Head({"metricType", "unit", "kind", "meaning"}));
  for (const MetricTypeInfo& info : MetricTypes()) {
    absl::StrAppend(&text, Row({Code(info.name), Cell(info.unit),
                                info.extensive ? "extensive" : "intensive", Cell(info.help)}));
  }
  return absl::StrCat(text, "\n");
}

// Returns the names of general engine metrics that the engine exports, or those that it never
// exports. Metric types of a single engine are left out. Adds the backend that a metric needs.
std::string MetricTypesOf(const Engine& engine, bool exported) {
  std::vector<std::string> names;
  for (const MetricTypeInfo& info : MetricTypes()) {
    const bool is_of_any = info.origin == MetricOrigin::kEngine && info.engine.empty();
    if (!is_of_any || CanReport(engine, info.engine_metric) != exported) continue;
    const absl::string_view backend = BackendFor(engine, info.engine_metric);
    names.push_back(absl::StrCat(Code(info.name), backend.empty() ? "" : " (with ", backend,
                                 backend.empty() ? "" : ")"));
  }
  return absl::StrJoin(names, ", ");
}

std::string EnginePortsOf(const Engine& engine) {
  if (engine.newer_port == 0) return absl::StrCat(engine.port);
  return absl::StrCat(engine.port, ", later ", engine.newer_port);
}

std::string EnginesSection() {
  std::string text = absl::StrCat(
      "## Engines\n\nWhat each engine reports, in some versions only, or with a flag of its own or "
      "a backend. A trigger on a metric that none of its workload's engines ever reports is "
      "FAILED_PRECONDITION.\n\n",
      Head({"engine", "usual port", "page", "reports", "never reports"}));
  for (const Engine* const engine : Engines()) {
    absl::StrAppend(&text, Row({Code(engine->name), EnginePortsOf(*engine), Code(engine->path),
                                MetricTypesOf(*engine, true), MetricTypesOf(*engine, false)}));
  }
  return absl::StrCat(text, "\n");
}

std::string ProfilesSection() {
  std::string text =
      absl::StrCat("## Profiles\n\n",
                   Head({"profile", "metricType", "targetValue", "activationThreshold", "window",
                         "activationWindow", "warmupSeconds", "metric name", "for"}));
  for (const auto& [name, profile] : BuiltInProfiles()) {
    const Trigger& trigger = profile.trigger;
    absl::StrAppend(
        &text, Row({Code(name), Code(InfoOf(trigger.metric).name), NumberText(trigger.target),
                    NumberText(trigger.activation_threshold), DurationText(trigger.window),
                    DurationText(trigger.activation_window),
                    NumberText(absl::ToDoubleSeconds(trigger.warmup)), Code(MetricNameOf(name)),
                    Cell(profile.help)}));
  }
  return absl::StrCat(text, "\n");
}

std::string ProfileFileSection() {
  std::string text = absl::StrCat(
      "### Profiles of your own\n\nThe YAML file that `--profiles` names has one key, "
      "`profiles`: a map of names to profiles. They join the built-in ones; one of the same name "
      "replaces it. What a profile leaves out is what it extends has, or the key's default. At "
      "most 1 MiB and 1000 profiles. Any other key is an error, which names the line: a file that "
      "is wrong stops "
      "the start, and later leaves the last good one in force.\n\n```yaml\n",
      ExampleProfiles(), "```\n\n", Head({"key of a profile", "allowed", "meaning"}));
  for (const KeyRow& key : ProfileKeys()) {
    absl::StrAppend(&text, Row({Code(key.name), Cell(key.allowed), Cell(key.help)}));
  }
  return absl::StrCat(text, "\n");
}

std::string OptionsSection() {
  std::string text = absl::StrCat(
      "## Options\n\nDefaults < file < environment < flags. The file is the one that `--config` or "
      "`",
      kConfigVariable,
      "` names: a YAML map. Its keys are the flags' names without the leading dashes. An unknown "
      "key in it is an error; an unknown variable of our prefix is a warning, for others may share "
      "it; an empty "
      "variable is none. If a flag is given twice, the last one counts. An option of another role "
      "is an error as a flag. In the environment and the file, which may be for all roles, it is a "
      "warning.\n\n",
      Head({"flag", "environment", "file key", "role", "default", "meaning"}));
  for (const Option& option : Options()) {
    const std::string roles = RolesText(option);
    absl::StrAppend(
        &text,
        Row({Code(absl::StrCat("--", option.name, option.value.empty() ? "" : " ", option.value)),
             Code(EnvironmentName(option)), Code(option.name), roles.empty() ? "all" : roles,
             Cell(DefaultText(option)), Cell(HelpText(option))}));
  }
  return absl::StrCat(text, "\n");
}

std::string JobVariablesSection() {
  std::string text = absl::StrCat(
      "## Environment of a job or pod\n\nBesides its own variables the program reads these: `gpus` "
      "all of them, `serve` only `NODE_NAME`, `POD_NAME` and `POD_NAMESPACE`. `--env` names the "
      "environment; `auto` finds out.\n\n",
      Head({"variable", "environment", "meaning"}));
  for (const JobVariable& variable : JobVariables()) {
    absl::StrAppend(&text,
                    Row({Code(variable.name), variable.kind ? Code(Name(*variable.kind)) : "any",
                         Cell(variable.help)}));
  }
  return absl::StrCat(text, "\n");
}

std::string FlagsTable(const Command& command) {
  std::string text = Head({"flag", "default", "meaning"});
  for (const Flag& flag : command.flags) {
    absl::StrAppend(
        &text, Row({Code(absl::StrCat("--", flag.name, flag.value.empty() ? "" : " ", flag.value)),
                    Cell(flag.default_text), Cell(flag.help)}));
  }
  return text;
}

std::string CommandsSection(absl::string_view program, const std::vector<Command>& commands) {
  std::string text = "## Commands\n\n";
  for (const Command& command : commands) {
    if (command.hidden) continue;
    const std::string arguments = command.arguments.empty() ? "" : " " + command.arguments;
    absl::StrAppend(&text, "### `", program, " ", command.name, arguments, "`\n\n", command.help,
                    "\n\n");
    if (!command.flags.empty()) absl::StrAppend(&text, FlagsTable(command), "\n");
  }
  return text;
}

// Returns a snapshot with a value in every field, so that every series has a line.
NodeSnapshot FullSnapshot() {
  GpuSample gpu = {.uuid = "GPU-0",
                   .utilization_percent = 1,
                   .memory_utilization_percent = 1,
                   .memory_used_bytes = 1,
                   .memory_total_bytes = 1,
                   .temperature_celsius = 1,
                   .power_watts = 1,
                   .power_limit_watts = 1,
                   .pcie_tx_kbps = 1,
                   .pcie_rx_kbps = 1,
                   .nvlink_tx_mbps = 1,
                   .nvlink_rx_mbps = 1,
                   .sm_activity_percent = 1,
                   .dram_activity_percent = 1,
                   .tensor_activity_percent = 1,
                   .processes = std::vector<GpuProcess>(),
                   .ecc_uncorrected_errors = 0,
                   .throttle_reasons = 0};
  gpu.gaps = {{GpuField::kPower, GpuGap::Reason::kFailed, "NVML error 15 (GPU_IS_LOST)"}};
  gpu.holders = {{.pod = 0, .container = "container"}};
  gpu.is_free = false;
  return {.taken_at = absl::UnixEpoch(),
          .node = "node",
          .source = "nvml",
          .gpus = {gpu},
          .attribution = {.state = Attribution::State::kKnown},
          .pods = {{.namespace_name = "namespace", .name = "pod"}}};
}

// Returns "`a`, `b`" for name{a="1",b="2"} 3. The label le of histograms is left out.
std::string LabelsOf(absl::string_view series) {
  const size_t open = series.find('{');
  if (open == absl::string_view::npos) return "";
  std::vector<std::string> names;
  for (const absl::string_view label :
       absl::StrSplit(series.substr(open + 1, series.rfind('}') - open - 1), ',')) {
    const absl::string_view name = label.substr(0, label.find('='));
    if (name != "le") names.push_back(Code(name));
  }
  return absl::StrJoin(names, ", ");
}

Decision FullDemandDecision() {
  Decision decision;
  decision.taken_at = absl::UnixEpoch();
  decision.demand =
      Demand{.replicas = 1, .unknown_because = "", .capacities = {{.requests_per_second = 1}}};
  decision.latency = LatencyDemand{.replicas = 1};
  decision.batch_limit = 1;
  decision.batch_limit_known = true;
  return decision;
}

std::string GpuTimeText(NodeSnapshot snapshot) {
  GpuTimeMetrics metrics(GpuTimeLimits{});
  metrics.Read(snapshot);
  snapshot.taken_at += absl::Seconds(1);
  metrics.Read(snapshot);
  return MetricsText(metrics.Families(snapshot.taken_at));
}

// Reads names, types, labels and help from the exposition itself.
std::string MetricsSection() {
  Metrics metrics;
  const NodeSnapshot snapshot = FullSnapshot();
  const TriggerLabels trigger{.namespace_name = "n", .scaled_object = "s", .metric = "m"};
  metrics.TriggerDecided(trigger, FullDemandDecision(), /*computes_demand=*/true);
  const AgentsPage agents = {.agents = {{.read_at = absl::UnixEpoch()}},
                             .namespaces = {"namespace"}};
  const std::string page = absl::StrCat(
      metrics.Page(&snapshot, snapshot.taken_at, absl::Seconds(6)), GpuTimeText(snapshot),
      GpuPriceMetrics({{"NVIDIA L4", {.micro_units = 1}}}, "USD"), GrpcMetrics({}), WebMetrics(0),
      AgentsMetrics(agents, absl::UnixEpoch()), TelemetryMetrics(ReaderCounts()),
      EngineMetrics({.answering = {{"vllm", 1}}}), EngineReaderMetrics(ReaderCounts()),
      EngineStreamMetrics(0, StreamCounts()),
      SignalMetrics({{{.sources = 1, .oldest = absl::UnixEpoch()}}}, absl::UnixEpoch()));
  std::string text = absl::StrCat(
      "## Prometheus metrics\n\nThe `agent_` and `agents_` ones are an aggregator's, by the "
      "address and the node of its agents; the `telemetry_` ones are an agent's, and the "
      "`tls_` one both have. `gpu_parent_uuid` is the GPU of a MIG instance, and empty of a whole "
      "GPU. "
      "`namespace`, `pod` and `container` are there where one pod holds the GPU: where a scrape "
      "sets labels of these names, Prometheus calls ours `exported_pod` and so on, unless "
      "`honorLabels` is set.\n\n",
      Head({"metric", "type", "labels", "meaning"}));
  std::string help;
  std::vector<std::string> type;  // "#", "TYPE", name, type; until its first series
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (absl::StartsWith(line, "# HELP ")) {
      help = words[3];
    } else if (absl::StartsWith(line, "# TYPE ")) {
      type = words;
    } else if (!type.empty()) {
      absl::StrAppend(&text, Row({Code(type[2]), type[3], LabelsOf(line), Cell(help)}));
      type.clear();
    }
  }
  return absl::StrCat(text, "\n");
}

std::string ExitCodesSection(std::span<const ExitCodeInfo> codes) {
  std::string text = absl::StrCat("## Exit codes\n\n", Head({"code", "meaning"}));
  for (const ExitCodeInfo& code : codes) {
    absl::StrAppend(&text, Row({absl::StrCat(static_cast<int>(code.code)), Cell(code.meaning)}));
  }
  return absl::StrCat(text, "\n");
}

std::string LintSection() {
  std::string text = absl::StrCat("## Lint rules\n\n", Head({"rule", "severity", "meaning"}));
  for (const LintRule& rule : LintRules()) {
    absl::StrAppend(&text, Row({Code(rule.id), std::string(Name(rule.severity)), Cell(rule.help)}));
  }
  return text;
}

}  // namespace

std::string CommandsPage(const Program& program, std::span<const ExitCodeInfo> exit_codes) {
  return absl::StrCat("# Reference of ", program.name, "\n\nEvery command, flag and exit code of ",
                      program.name, ": ", program.summary,
                      ".\nFor developers and evaluators that look one up.\n\nMade from the "
                      "program's own tables by `",
                      program.name, " reference`; a test compares the two.\n\n",
                      CommandsSection(program.name, program.commands),
                      ExitCodesSection(exit_codes));
}

std::string ReferencePage(const std::vector<Command>& commands) {
  return absl::StrCat(
      "# Reference\n\nEvery metadata key, metric type, engine, profile, option, command, metric, "
      "exit code and lint rule of the scaler.\nFor operators and authors of ScaledObjects that "
      "look one up.\n\nMade from the program's own tables by `keda-gpu-scaler reference`; a test "
      "compares the two.\n\n",
      KeysSection(), MetricTypesSection(), EnginesSection(), ProfilesSection(),
      ProfileFileSection(), OptionsSection(), JobVariablesSection(),
      CommandsSection("keda-gpu-scaler", commands), MetricsSection(), ExitCodesSection(ExitCodes()),
      LintSection());
}

}  // namespace gpuscaler
