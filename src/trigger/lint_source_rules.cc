#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/number_text.h"
#include "trigger/lint_rules.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using enum Finding::Severity;

std::optional<RuleViolation> StreamLength(const ScalerTrigger& scaler_trigger) {
  if (scaler_trigger.parsed->metric != MetricType::kRedisStreamLength) return std::nullopt;
  return RuleViolation{
      "redis_stream_length counts entries that were read and acknowledged too, until the stream is "
      "trimmed: with a consumer group it does not fall as work is done; use redis_stream_lag, and "
      "redis_stream_pending in a second trigger for what is being worked on",
      scaler_trigger.declaration->LineOf({"metricType"})};
}

std::optional<RuleViolation> EngineNotNamed(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (!ReadsEngines(trigger) || !trigger.engine_endpoint.url.empty()) return std::nullopt;
  if (scaler_trigger.finds_engines) return std::nullopt;
  return RuleViolation{
      absl::StrCat(InfoOf(trigger.metric).name,
                   " is an engine's, and none is named: agents find engines on Kubernetes 1.37 or "
                   "newer, and with agent.discoverEngines=true; name the workload's headless "
                   "Service (engineEndpoint: http://NAME:PORT), or run lint --discover-engines if "
                   "they are found"),
      scaler_trigger.declaration->LineOf({"metricType", "profile"})};
}

std::optional<RuleViolation> SecretInMetadata(const ScalerTrigger& scaler_trigger) {
  for (const auto& [key, value] : scaler_trigger.declaration->metadata) {
    const KeyRow* const row = FindKey(key);
    if (row == nullptr || !row->secret || key == "endpointCa") continue;
    return RuleViolation{
        absl::StrCat(key,
                     " is readable for everyone with access to the ScaledObject; "
                     "put it into a Secret, from there into the environment of the "
                     "workload's container, and write ",
                     key, "FromEnv"),
        value.line};
  }
  return std::nullopt;
}

std::optional<RuleViolation> ValueOfATotal(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (IsOfReplicas(InfoOf(trigger.metric).origin)) return std::nullopt;
  if (trigger.target_type != TargetType::kValue) return std::nullopt;
  return RuleViolation{
      absl::StrCat("targetType Value of ", InfoOf(trigger.metric).name,
                   ": the HPA multiplies it by the replicas there are, and a queue "
                   "that stays as it is doubles them again and again; use AverageValue"),
      scaler_trigger.declaration->LineOf({"targetType"})};
}

std::optional<RuleViolation> RateWithoutWindow(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  const bool from_counters = InfoOf(trigger.metric).origin != MetricOrigin::kGpu &&
                             SmoothingOf(trigger) == absl::ZeroDuration() &&
                             (InfoOf(trigger.metric).over_window || trigger.metrics_endpoint.rate);
  if (!from_counters || trigger.window > absl::ZeroDuration()) return std::nullopt;
  return RuleViolation{
      absl::StrCat("window 0s of ", InfoOf(trigger.metric).name,
                   ", which comes from counters: it is taken between the newest two "
                   "readings alone, and swings; use 15s"),
      scaler_trigger.declaration->LineOf({"window"})};
}

bool ReportsLimit(const Trigger& trigger) {
  const std::string& engine = trigger.engine_endpoint.engine;
  return engine == "triton" || engine == "trtllm_serve" || engine == "nim";
}

constexpr absl::string_view kBatchLimitFlags =
    "vLLM's --max-num-seqs, SGLang's --max-running-requests, TGI's and LMDeploy's "
    "--max-batch-size, llama.cpp's --parallel";

std::optional<RuleViolation> PressureWithoutLimit(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  const bool may_know_demand = !NeverReportsDemand(trigger.engine_endpoint.engine);
  const bool is_bound = may_know_demand && CountsDemand(trigger) && trigger.tpot_slo.has_value();
  if (!(CountsPressure(trigger) || CountsDemand(trigger)) || is_bound || trigger.max_concurrency ||
      ReportsLimit(trigger)) {
    return std::nullopt;
  }
  return RuleViolation{
      absl::StrCat("capacity unknown: set maxConcurrency",
                   !may_know_demand        ? ""
                   : CountsDemand(trigger) ? " or tpotSloMs"
                                           : " or tpotSloMs with demand: on",
                   "; vLLM, SGLang, TGI, LMDeploy and llama.cpp do not report how many requests "
                   "they run at once, and until requests have waited at a full batch a few that "
                   "wait count as twice the target; maxConcurrency is the engine's own limit (",
                   kBatchLimitFlags, ")"),
      scaler_trigger.declaration->LineOf({"profile", "metricType"})};
}

// If nothing bounds the batch, PressureWithoutLimit names tpotSloMs.
std::optional<RuleViolation> TimePerTokenUnbounded(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (!ComputesDemand(trigger) || trigger.tpot_slo || PressureWithoutLimit(scaler_trigger)) {
    return std::nullopt;
  }
  if (NeverReportsDemand(trigger.engine_endpoint.engine)) return std::nullopt;
  return RuleViolation{
      "tpotSloMs is not given: the demand plans engines filled to their limit, however long a "
      "token takes then; if users expect a time per output token, set tpotSloMs to it",
      scaler_trigger.declaration->LineOf({"maxConcurrency", "profile", "metricType"})};
}

// If tpotSloMs does not bound the trigger, PressureWithoutLimit names it.
std::optional<RuleViolation> BatchLimitNotGiven(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (trigger.max_concurrency || ReportsLimit(trigger)) return std::nullopt;
  const bool is_bound =
      ComputesDemand(trigger) && trigger.tpot_slo && !PressureWithoutLimit(scaler_trigger);
  if (!is_bound && !CountsRequests(trigger)) return std::nullopt;
  return RuleViolation{
      absl::StrCat("maxConcurrency is not given: ",
                   is_bound
                       ? "until requests have waited at a full batch, the scaler does not know how "
                         "many the engine runs at once, and plans the batch that tpotSloMs allows"
                       : absl::StrCat("an engine that runs fewer than the target of ",
                                      NumberText(trigger.target),
                                      " requests at once makes others wait before the next replica "
                                      "is requested, and lint cannot compare the two"),
                   "; set maxConcurrency to the engine's flag (", kBatchLimitFlags, ")"),
      scaler_trigger.declaration->LineOf({"tpotSloMs", "profile", "metricType"})};
}

// TGI exports no time to the first token (engine/tgi.cc).
std::optional<RuleViolation> FirstTokensNotExported(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (!trigger.ttft_slo || trigger.engine_endpoint.engine != "tgi") return std::nullopt;
  return RuleViolation{
      "TGI exports no time to the first token, so ttftSloMs has no effect; remove it",
      scaler_trigger.declaration->LineOf({"ttftSloMs"})};
}

// Must match the engines' table (engine/triton.cc). A test of app compares them.
bool NeedsTensorRtLlm(EngineMetric metric) {
  return metric == EngineMetric::kRequestsRunning || metric == EngineMetric::kRequestsInFlight ||
         metric == EngineMetric::kKvCacheUsagePercent || metric == EngineMetric::kPressurePercent;
}

std::optional<RuleViolation> TensorRtLlmNeeded(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  const bool is_pressure = ReadsPressure(trigger);
  if (trigger.engine_endpoint.engine != "triton" || !(is_pressure || ReadsEngines(trigger))) {
    return std::nullopt;
  }
  const MetricTypeInfo& metric = InfoOf(is_pressure ? MetricType::kEnginePressure : trigger.metric);
  if (!NeedsTensorRtLlm(metric.engine_metric)) return std::nullopt;
  return RuleViolation{
      absl::StrCat("Triton exports ", metric.name,
                   " with the TensorRT-LLM backend only: with others ",
                   is_pressure ? "the GPUs count" : "the answer is FAILED_PRECONDITION",
                   "; requests_waiting, queue_wait_ms and request_rate need no backend"),
      scaler_trigger.declaration->LineOf({"metricType", "profile"})};
}

// Counters are recognized by the suffixes of Prometheus' naming conventions.
std::optional<RuleViolation> CounterAsGauge(const ScalerTrigger& scaler_trigger) {
  const Trigger& trigger = *scaler_trigger.parsed;
  if (trigger.metric != MetricType::kPrometheus || trigger.metrics_endpoint.rate)
    return std::nullopt;
  const absl::string_view selector = trigger.metrics_endpoint.selector;
  const absl::string_view name = selector.substr(0, selector.find_first_of("{ "));
  constexpr std::array<absl::string_view, 4> kOfCounters = {"_total", "_count", "_sum", "_bucket"};
  const bool counts = std::ranges::any_of(
      kOfCounters, [&](absl::string_view end) { return absl::EndsWith(name, end); });
  if (!counts) return std::nullopt;
  return RuleViolation{absl::StrCat(name,
                                    " is a counter by its name, which only grows, and is read as a "
                                    "gauge: replicas would rise to maxReplicaCount and stay there; "
                                    "write prometheusKind: rate"),
                       scaler_trigger.declaration->LineOf({"prometheusMetric"})};
}

constexpr std::array<TriggerRule, 11> kSourceRules = {{
    {{"stream-length", kWarning, "A stream's length does not fall when a consumer group reads it."},
     StreamLength},
    {{"engine-not-named", kWarning,
      "An engine's metric without engineEndpoint, where agents do not look for engines."},
     EngineNotNamed},
    {{"secret-in-metadata", kWarning, "A password or token that every reader of the manifest has."},
     SecretInMetadata},
    {{"value-of-a-total", kWarning,
      "targetType Value of a queue or a gateway: it has no replicas to be an average over."},
     ValueOfATotal},
    {{"rate-without-window", kWarning, "A rate or a wait over no time at all."}, RateWithoutWindow},
    {{"pressure-without-limit", kWarning,
      "An engine's pressure or demand without maxConcurrency or tpotSloMs: its capacity is "
      "unknown."},
     PressureWithoutLimit},
    {{"time-per-token-unbounded", kNote,
      "An engine's demand without tpotSloMs: its batch may be filled however long a token takes."},
     TimePerTokenUnbounded},
    {{"batch-limit-not-given", kNote,
      "tpotSloMs or a target of requests without maxConcurrency, of an engine that does not report "
      "its batch limit."},
     BatchLimitNotGiven},
    {{"first-tokens-not-exported", kNote, "ttftSloMs of an engine that exports no such time."},
     FirstTokensNotExported},
    {{"tensorrt-llm-needed", kNote, "A metric that Triton exports with TensorRT-LLM only."},
     TensorRtLlmNeeded},
    {{"counter-as-gauge", kWarning, "A counter of a page, read as if it could fall."},
     CounterAsGauge},
}};

}  // namespace

// Must match the engines' table. A test of app compares them.
bool NeverReportsDemand(absl::string_view engine) {
  return engine == "llama_cpp" || engine == "ollama" || engine == "tei" || engine == "triton";
}

std::span<const TriggerRule> SourceRules() { return kSourceRules; }

}  // namespace gpuscaler
