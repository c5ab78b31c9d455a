// Scaling policies in a closed loop: simulated engines, KEDA and the HPA, on constant and changing
// loads. One line for each engine, load and policy.
//
//   loop_bench                          all of it, in minutes
//   loop_bench --quick                  two engines, three loads, one seed, in seconds
//   loop_bench --engine 8b --load step  names that contain this; --policy likewise
//   loop_bench --trace FILE             a trace of Azure's or Mooncake's instead of the loads
//   loop_bench --episode                the load that llm-d published results for (LlmdEpisode)
//   loop_bench --variants               other routings, starts and requests, at constant loads
//                                       for 1.5 and 4.2 engines
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "loop_table.h"
#include "simulate/closed_loop.h"
#include "simulate/recipe_scalers.h"
#include "simulate/test_loop_load.h"
#include "simulate/test_recipe_scalers.h"
#include "simulate/test_workload_telemetry.h"
#include "trigger/profile.h"

namespace gpuscaler {
namespace {

struct Flags {
  bool quick = false, episode = false, variants = false, markdown = false;
  std::string engine, load, policy, trace;
  double trace_engines = 4;
  int seeds = 3;
};

std::unique_ptr<ReplicaPolicy> Keda(const Setting& setting, const KedaTrigger& trigger) {
  return std::make_unique<KedaPolicy>(setting.object, std::vector{trigger});
}

std::string Milliseconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Milliseconds(duration));
}

// Returns a policy of this scaler: a trigger with this metadata, and with those of maxConcurrency,
// ttftSloMs and tpotSloMs that `keys` names, with values for the engine.
NamedPolicy ScalerPolicy(std::string name, const Metadata& metadata,
                         const std::vector<std::string>& keys = {}) {
  return {std::move(name), [=](const Setting& setting) {
            const Metadata values = {
                {"maxConcurrency", absl::StrCat(setting.preset.batch.max_num_seqs)},
                {"ttftSloMs", Milliseconds(setting.preset.goals.first_token)},
                {"tpotSloMs", Milliseconds(setting.preset.goals.per_output_token)}};
            Metadata all = metadata;
            for (const std::string& key : keys) all[key] = values.at(key);
            const auto trigger = ParseTrigger(all, BuiltInProfiles());
            if (!trigger.ok()) {
              std::fprintf(stderr, "%s\n", trigger.status().ToString().c_str());
              std::exit(1);
            }
            return Keda(setting, OwnTrigger(*trigger));
          }};
}

std::vector<NamedPolicy> Policies() {
  const Metadata inference = {{"profile", "vllm-inference"}};
  const Metadata pressure = {{"profile", "vllm-inference"}, {"demand", "off"}};
  std::vector<NamedPolicy> policies = {
      {"clairvoyant",
       [](const Setting& setting) -> std::unique_ptr<ReplicaPolicy> {
         if (setting.load == nullptr) return nullptr;
         return std::make_unique<ScheduledPolicy>(
             Clairvoyant(*setting.load, setting.scenario.workload.longest_start));
       }},
      // Knows the load of the present moment only, so its replicas start too late.
      {"clairvoyant without a lead",
       [](const Setting& setting) -> std::unique_ptr<ReplicaPolicy> {
         if (setting.load == nullptr) return nullptr;
         return std::make_unique<ScheduledPolicy>(Clairvoyant(*setting.load, absl::ZeroDuration()));
       }},
      {"static at the peak",
       [](const Setting& setting) -> std::unique_ptr<ReplicaPolicy> {
         if (setting.load == nullptr) return nullptr;
         return std::make_unique<ScheduledPolicy>(setting.load->MostNeeded());
       }},
      {"fewest that keep 99 %", nullptr},  // LoopTable tries constant numbers of replicas
      ScalerPolicy("vllm-inference", inference),
      ScalerPolicy("vllm-inference, tpotSloMs", inference, {"tpotSloMs"}),
      ScalerPolicy("vllm-inference, maxConcurrency", inference, {"maxConcurrency"}),
      ScalerPolicy("vllm-inference, latency goals", inference, {"ttftSloMs", "tpotSloMs"}),
      // The batch limit and the latency goals.
      ScalerPolicy("vllm-inference, both", inference, {"maxConcurrency", "ttftSloMs", "tpotSloMs"}),
      ScalerPolicy("pressure", pressure),
      ScalerPolicy("pressure, maxConcurrency", pressure, {"maxConcurrency"}),
      ScalerPolicy("pressure, maxConcurrency, target 50",
                   {{"profile", "vllm-inference"}, {"demand", "off"}, {"targetValue", "50"}},
                   {"maxConcurrency"}),
      ScalerPolicy("vllm-requests", {{"profile", "vllm-requests"}}),
      ScalerPolicy("vllm-queue-depth", {{"profile", "vllm-queue-depth"}}),
      ScalerPolicy("tgi-inference, demand off, maxConcurrency",
                   {{"profile", "tgi-inference"}, {"demand", "off"}}, {"maxConcurrency"}),
  };
  // Prometheus recipes, the Go scaler of the same name (docs/compared.md) and llm-d's autoscaler.
  const std::vector<NamedPolicy> others = {
      {"waiting / 5", [](const Setting& setting) { return Keda(setting, WaitingRecipe(5)); }},
      {"in flight / 64", [](const Setting& setting) { return Keda(setting, InFlightRecipe(64)); }},
      {"utilization 80, AverageValue",
       [](const Setting& setting) {
         return Keda(setting, UtilizationRecipe(TargetType::kAverageValue));
       }},
      {"utilization 80, Value",
       [](const Setting& setting) { return Keda(setting, UtilizationRecipe(TargetType::kValue)); }},
      {"Go scaler, memory 80",
       [](const Setting& setting) { return Keda(setting, GoScalerTrigger()); }},
      {"llm-d's latency law",
       [](const Setting& setting) {
         return std::make_unique<KedaPolicy>(
             LatencyLawObject(setting.object.min_replica_count, setting.object.max_replica_count),
             std::vector{LatencyLaw(setting.preset.goals)});
       }},
  };
  policies.insert(policies.end(), others.begin(), others.end());
  return policies;
}

bool IsAsked(const std::string& filter, absl::string_view name) {
  return filter.empty() || absl::StrContains(name, filter);
}

// Returns the part of the table with this engine and load.
LoopCell CellOf(const EnginePreset& preset, const LoopLoad& load) {
  return {.engine = std::string(preset.name),
          .load = load.name,
          .preset = &preset,
          .known_load = &load,
          .scenario = [&](uint64_t seed) { return ScenarioOf(preset, load, seed); }};
}

// The loads must outlive the cells.
std::vector<LoopCell> LoadCells(const Flags& flags, const std::vector<LoopLoad>& loads) {
  std::vector<LoopCell> cells;
  for (const EnginePreset& preset : EnginePresets()) {
    const bool is_quick = preset.name == "small-batch" || preset.name == "8b";
    if (!IsAsked(flags.engine, preset.name) || (flags.quick && !is_quick)) continue;
    for (const LoopLoad& load : loads) {
      const bool is_short = load.name == "constant 1.5" || load.name == "constant 3.3" ||
                            absl::StartsWith(load.name, "step");
      if (!IsAsked(flags.load, load.name) || (flags.quick && !is_short)) continue;
      cells.push_back(CellOf(preset, load));
    }
  }
  return cells;
}

EngineRequest ScaledRequest(const EngineRequest& request, double prompt_factor,
                            double answer_factor) {
  return {.prompt_tokens = std::lround(prompt_factor * static_cast<double>(request.prompt_tokens)),
          .max_tokens = std::lround(answer_factor * static_cast<double>(request.max_tokens))};
}

std::vector<LoopCell> VariantCells(const Flags& flags, const std::vector<LoopLoad>& loads) {
  struct Variant {
    const char* name;
    Routing routing = Routing::kLeastLoaded;
    absl::Duration shortest_start = absl::Seconds(60), longest_start = absl::Seconds(180);
    bool restarts = false;
    LengthSpread answers = {};
    // Factors for the lengths from the middle of the measured time on.
    double later_prompts = 1, later_answers = 1;
  };
  const Variant variants[] = {
      {.name = "round robin", .routing = Routing::kRoundRobin},
      {.name = "random", .routing = Routing::kRandom},
      {.name = "start 30 s",
       .shortest_start = absl::Seconds(30),
       .longest_start = absl::Seconds(30)},
      {.name = "start 300-600 s",
       .shortest_start = absl::Seconds(300),
       .longest_start = absl::Seconds(600)},
      {.name = "rolling update each 30 min", .restarts = true},
      {.name = "answers of 10 to 190 %", .answers = {.deviation = 0.6, .spread = 0.9}},
      {.name = "prompts 3 times as long", .later_prompts = 3},
      {.name = "prompts 8 times as long", .later_prompts = 8},
      {.name = "prompts a third as long", .later_prompts = 1.0 / 3},
      {.name = "answers 3 times as long", .later_answers = 3},
      {.name = "answers a third as long", .later_answers = 1.0 / 3},
      {.name = "answers a tenth as long", .later_answers = 0.1},
  };
  std::vector<LoopCell> cells;
  for (LoopCell& cell : LoadCells(flags, loads)) {
    if (cell.load != "constant 1.5" && cell.load != "constant 4.2") continue;
    for (const Variant& variant : variants) {
      LoopCell varied = cell;
      varied.load = absl::StrCat(cell.load, ", ", variant.name);
      varied.scenario = [make = cell.scenario, preset = cell.preset, load = cell.known_load,
                         variant](uint64_t seed) {
        LoopScenario scenario = make(seed);
        std::mt19937_64 random(seed);
        for (TracedRequest& each : scenario.requests) {
          each.request.max_tokens = RandomLength(each.request.max_tokens, variant.answers, random);
        }
        if (variant.later_prompts != 1 || variant.later_answers != 1) {
          ChangeRequests(
              scenario, *preset, *load,
              ScaledRequest(preset->request, variant.later_prompts, variant.later_answers),
              (scenario.measured_from + scenario.duration) / 2);
        }
        // The measured time begins at 30 min.
        for (absl::Duration at = absl::Minutes(40); variant.restarts && at < scenario.duration;
             at += absl::Minutes(30)) {
          scenario.restarts_at.push_back(at);
        }
        scenario.workload.routing = variant.routing;
        scenario.workload.shortest_start = variant.shortest_start;
        scenario.workload.longest_start = variant.longest_start;
        return scenario;
      };
      cells.push_back(std::move(varied));
    }
  }
  return cells;
}

std::vector<LoopCell> EpisodeCells() {
  // Scales in as deploy/examples/profiles do. LatencyLawObject() replaces this for llm-d's policy.
  ScaledObjectSpec object = {.min_replica_count = kLlmdFewestReplicas,
                             .max_replica_count = kLlmdMostReplicas};
  object.hpa = HpaOptions();
  object.hpa.scale_down.policies = {{HpaPolicy::Type::kPods, 1, absl::Seconds(120)}};
  return {{.engine = "llm-d",
           .load = "llm-d's episode",
           .preset = EnginePresetNamed("llm-d"),
           .scenario = LlmdEpisode,
           .object = object}};
}

// Scaling the trace to its load drops or repeats requests, others for each seed. The clairvoyant
// policy always uses the load of the first seed. The cells keep pointers to `loads`, so its
// elements must not move.
absl::StatusOr<std::vector<LoopCell>> TraceCells(const Flags& flags, std::deque<LoopLoad>& loads) {
  std::ifstream file(flags.trace);
  if (!file) return absl::NotFoundError(absl::StrCat(flags.trace, ": cannot be read"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const absl::StatusOr<RequestTrace> trace = ParseTrace(text);
  if (!trace.ok()) return trace.status();
  const std::string name = flags.trace.substr(flags.trace.rfind('/') + 1);
  std::vector<LoopCell> cells;
  for (const EnginePreset& preset : EnginePresets()) {
    if (!IsAsked(flags.engine, preset.name)) continue;
    const auto requests = [&preset, all = *trace, engines = flags.trace_engines](uint64_t seed) {
      return TraceFor(preset, all, engines, seed);
    };
    LoopLoad& load = loads.emplace_back(LoadOf(name, requests(1), flags.trace_engines));
    cells.push_back(CellOf(preset, load));
    cells.back().scenario = [&preset, &load, requests](uint64_t seed) {
      LoopScenario scenario = ScenarioOf(preset, load, seed);
      scenario.requests = requests(seed);
      return scenario;
    };
  }
  return cells;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Scaling policies in a closed loop of simulated engines.");
  app.add_flag("--quick", flags.quick, "Two engines, three loads, one seed.");
  app.add_flag("--episode", flags.episode, "llm-d's published episode alone.");
  app.add_flag("--variants", flags.variants, "Other routings, start times and requests.");
  app.add_flag("--markdown", flags.markdown, "A Markdown table.");
  app.add_option("--engine", flags.engine, "Presets with this in their name.");
  app.add_option("--load", flags.load, "Loads with this in their name.");
  app.add_option("--policy", flags.policy, "Policies with this in their name.");
  app.add_option("--trace", flags.trace, "A trace of Azure's (CSV) or Mooncake's (JSON lines).");
  app.add_option("--trace-engines", flags.trace_engines, "The trace's mean load, in engines.");
  app.add_option("--seeds", flags.seeds, "How many seeds.")->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  if (flags.quick) flags.seeds = 1;

  const std::vector<LoopLoad> loads = LoopLoads();
  std::deque<LoopLoad> trace_loads;
  std::vector<LoopCell> cells;
  if (!flags.trace.empty()) {
    absl::StatusOr<std::vector<LoopCell>> read = TraceCells(flags, trace_loads);
    if (!read.ok()) {
      std::fprintf(stderr, "%s\n", read.status().ToString().c_str());
      return 1;
    }
    cells = *std::move(read);
  } else if (flags.episode) {
    cells = EpisodeCells();
  } else {
    cells = flags.variants ? VariantCells(flags, loads) : LoadCells(flags, loads);
  }
  std::vector<NamedPolicy> policies = Policies();
  std::erase_if(policies,
                [&](const NamedPolicy& policy) { return !IsAsked(flags.policy, policy.name); });
  if (cells.empty() || policies.empty()) {
    std::fprintf(stderr, "nothing has that name\n");
    return 1;
  }
  LoopTable table(std::move(cells), std::move(policies), flags.seeds);
  table.Run();
  std::fputs(table.Text(flags.markdown).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace gpuscaler

int main(int argc, char** argv) {
  try {
    return gpuscaler::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "loop_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
