#include "trigger/trigger_keys.h"

#include <re2/re2.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/nearest.h"
#include "model/pod.h"
#include "trigger/key_readers.h"
#include "trigger/source_keys.h"
#include "trigger/trigger_words.h"
#include "trigger/workload_kinds.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kLongestWarmup = absl::Minutes(30);
constexpr size_t kLongestName = 200;

constexpr char kThresholdAllowed[] = "a number, 0 or above (to 1e12)";
constexpr char kWindowAllowed[] = "a duration with its unit, 0s to 15m, such as 500ms, 30s or 2m";

template <auto kField>
bool ReadWindow(absl::string_view text, Settings& settings) {
  return Assign(DurationUpTo(text, kLongestWindow), FieldOf(settings, kField));
}

bool IsKind(absl::string_view text) {
  return !text.empty() && text.size() <= kLongestLabel &&
         std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isalnum(c); });
}

// Returns true for a name that Kubernetes allows.
bool IsObjectName(absl::string_view text) {
  return !text.empty() && text.size() <= kLongestObjectName &&
         std::ranges::all_of(text, [](unsigned char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-' || c == '.';
         });
}

struct KindAndName {
  absl::string_view kind;
  absl::string_view name;
};
std::optional<KindAndName> SplitKind(absl::string_view text) {
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos) return std::nullopt;
  return KindAndName{text.substr(0, slash), text.substr(slash + 1)};
}

bool ReadWorkload(absl::string_view text, Settings& settings) {
  const std::optional<KindAndName> split = SplitKind(text);
  const auto [kind, name] = split.value_or(KindAndName{"", text});
  const bool is_kind = IsKind(kind) && KindForWord(kind).empty();
  if ((split && !is_kind) || !IsObjectName(name)) return false;
  settings.trigger.workload = std::string(name);
  settings.trigger.workload_kind = std::string(kind);
  return true;
}

// Returns a hint for words that only kubectl accepts: they would match no pod, like a workload at
// zero.
std::string WorkloadFault(absl::string_view text) {
  const std::optional<KindAndName> split = SplitKind(text);
  const absl::string_view kind = split ? KindForWord(split->kind) : "";
  if (kind.empty()) return "";
  return absl::StrCat(Quoted(split->kind), " is a word of kubectl's, and no kind; did you mean ",
                      Quoted(absl::StrCat(kind, "/", split->name)), "?");
}

// Compiles a tenant's expression for names of pods, which are ASCII: in UTF-8 a dot would take ten
// instructions. RE2 takes linear time. Its memory has just room for kLargestRegex: a sixth of it
// may become a table that lives as long as the expression.
std::shared_ptr<const RE2> PodRegex(absl::string_view text) {
  RE2::Options options(RE2::Quiet);
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_max_mem(26 << 10);
  return std::make_shared<const RE2>(re2::StringPiece(text.data(), text.size()), options);
}

// The limit on RE2's instructions, 8 bytes each. Matching takes one step for each instruction and
// letter of a pod's name at most. An expression of 253 plain letters has about as many.
// Repetition makes thousands from 20 letters.
constexpr int kLargestRegex = 500;

bool ReadPodRegex(absl::string_view text, Settings& settings) {
  if (text.empty() || text.size() > kLongestObjectName) return false;
  auto regex = PodRegex(text);
  if (!regex->ok() || regex->ProgramSize() > kLargestRegex) return false;
  settings.trigger.pod_regex = std::move(regex);
  return true;
}

std::string PodRegexFault(absl::string_view text) {
  if (text.empty() || text.size() > kLongestObjectName) return "";
  const std::shared_ptr<const RE2> regex = PodRegex(text);
  if (!regex->ok()) return absl::CEscape(regex->error());  // the error quotes the text unescaped
  if (regex->ProgramSize() <= kLargestRegex) return "";
  return absl::StrCat("it has ", regex->ProgramSize(), " instructions of RE2, at most ",
                      kLargestRegex, ": repeat less");
}

bool ReadThreshold(absl::string_view text, Settings& settings) {
  const bool is_valid =
      Assign(NumberIn(text, 0, kLargestNumber), settings.trigger.activation_threshold);
  settings.trigger.activation_threshold_given |= is_valid;
  return is_valid;
}

// ParseMetadata() finds the profile.
bool ReadProfile(absl::string_view /*text*/, Settings& /*settings*/) { return true; }

bool ReadMetricType(absl::string_view text, Settings& settings) {
  return Assign(MetricTypeNamed(text), settings.metric);
}

// KEDA prefixes every metric of a ScaledObject with sN-, N the trigger's number.
bool HasKedaPrefix(absl::string_view name) {
  if (name.empty() || name[0] != 's') return false;
  const size_t digits_end = name.find_first_not_of("0123456789", 1);
  return digits_end != absl::string_view::npos && digits_end > 1 && name[digits_end] == '-';
}

bool ReadMetricName(absl::string_view text, Settings& settings) {
  if (!IsPathSafe(text) || HasKedaPrefix(text)) return false;
  settings.trigger.metric_name = std::string(text);
  return true;
}

// Reads seconds, or a duration with its unit.
bool ReadWarmup(absl::string_view text, Settings& settings) {
  const std::optional<double> seconds = NumberIn(text, 0, absl::ToDoubleSeconds(kLongestWarmup));
  if (seconds) settings.warmup = absl::Seconds(*seconds);
  return seconds || Assign(DurationUpTo(text, kLongestWarmup), settings.warmup);
}

bool ReadPreallocationWindow(absl::string_view text, Settings& settings) {
  const std::optional<absl::Duration> window = DurationUpTo(text, kLongestWindow);
  return window && *window >= absl::Seconds(1) &&
         Assign(window, settings.trigger.preallocation_window);
}

bool ReadPollInterval(absl::string_view text, Settings& /*settings*/) {
  return WholeIn(text, 1, 1'000'000'000).has_value();
}

std::vector<absl::string_view> MetricTypeNames() {
  std::vector<absl::string_view> names;
  for (const MetricTypeInfo& info : MetricTypes()) names.push_back(info.name);
  return names;
}

std::vector<KeyRow> MakeRows() {
  return {
      {"profile",
       "the name of a profile",
       "",
       "Ready-made settings for a kind of workload; any other key overrides them",
       {},
       ReadProfile},
      {"metricType", JoinedWithOr(MetricTypeNames()), "gpu_utilization, or the profile's",
       "What the trigger scales on", MetricTypeNames(), ReadMetricType},
      {"targetValue",
       kTargetAllowed,
       "80, or the profile's",
       "The load at which a replica is full, in the metric's unit",
       {},
       ReadTarget<&Settings::target>},
      {"targetGpuUtilization",
       kTargetAllowed,
       "",
       "Short for metricType gpu_utilization with this target; targetValue wins over it",
       {},
       ReadTarget<&Settings::target_gpu_utilization>},
      {"targetMemoryUtilization",
       kTargetAllowed,
       "",
       "Short for metricType memory_used_percent with this target; targetValue wins over it",
       {},
       ReadTarget<&Settings::target_memory_utilization>},
      WordRow<TargetType, &Trigger::target_type>(
          "targetType", "AverageValue",
          "Mirrors the metricType field of the trigger, which KEDA does not send to a scaler"),
      {"activationThreshold",
       kThresholdAllowed,
       "0, or the profile's",
       "A replica above it keeps the trigger active; with all at or below it, KEDA goes to zero",
       {},
       ReadThreshold},
      WordRow<Scope, &Trigger::scope>("scope", "workload",
                                      "Which GPUs count: those of the workload, or with node and "
                                      "fleet all GPUs in use; without "
                                      "kubelet attribution all values mean every GPU in use"),
      {"workload",
       "NAME or Kind/NAME, such as llm or Deployment/llm",
       "the one named like the ScaledObject, also at zero for up to 15m; else the only owner of "
       "GPU pods in the namespace",
       absl::StrCat("The owner of the pods that count: a ", JoinedWithOr(WorkloadKinds()),
                    "; with scope workload"),
       {},
       ReadWorkload,
       WorkloadFault},
      {"podRegex",
       "a regular expression of RE2's syntax, up to 253 characters and 500 instructions",
       "",
       "The pods that count, by their full names, of any owner; with scope workload, in place of "
       "workload",
       {},
       ReadPodRegex,
       PodRegexFault},
      {"gpuIndex",
       "-1 (all) or the index of one GPU of each node",
       "-1",
       "Reads one GPU of each node; of a MIG instance its parent's index counts",
       {},
       ReadWhole<&Trigger::gpu_index, -1, 1023>},
      {"gpusPerReplica",
       "a whole number, 1 to 64",
       "1",
       "Without attribution: blocks of so many GPUs, in index order of a node, are the replicas",
       {},
       ReadWhole<&Trigger::gpus_per_replica, 1, 64>},
      WordRow<Aggregation, &Settings::aggregation>(
          "aggregation", "max; sum for amounts that add up (MiB, watts, bytes/s)",
          "Over the GPUs of one replica"),
      WordRow<ReplicaAggregation, &Trigger::replica_aggregation>(
          "replicaAggregation", "avg",
          "Over the replicas; avg makes the value their sum (AverageValue) or average (Value)"),
      {"window",
       kWindowAllowed,
       "30s, or the profile's",
       "How far back each replica's value is smoothed; 0s is the newest sample",
       {},
       ReadWindow<&Settings::window>},
      WordRow<WindowAggregation, &Trigger::window_aggregation>(
          "windowAggregation", "avg", "How the samples of a window become one value"),
      {"activationWindow",
       kWindowAllowed,
       "60s, or the profile's",
       "Active while any replica was above activationThreshold within it; 0s is the newest sample",
       {},
       ReadWindow<&Settings::activation_window>},
      {"warmupSeconds",
       "seconds, or a duration with its unit, 0 to 30m",
       "0, of engines 300, or the profile's",
       "How long a replica counts as starting where its readiness cannot be known; of engines "
       "until they answer, if that is sooner",
       {},
       ReadWarmup},
      {"preallocationWindow",
       "a duration with its unit, 1s to 15m, such as 90s or 2m",
       "120s",
       "VRAM above 50 % counts as preallocated if it moved less than 1 point in this time",
       {},
       ReadPreallocationWindow},
      WordRow<EngineFallback, &Trigger::engine_fallback>(
          "engineFallback", "utilization",
          "What a replica with preallocated VRAM counts while no engine of the workload is read: "
          "utilization, its GPUs' utilization; activity, the target for all together while any is "
          "busy, else 0; none, nothing: it is unreadable, UNAVAILABLE when all are"),
      {"maxConcurrency",
       kTargetAllowed,
       "",
       "Requests that one replica runs at once, where its engine does not report it",
       {},
       ReadTarget<&Trigger::max_concurrency>},
      WordRow<ScaleIn, &Trigger::scale_in>(
          "scaleIn", "follow, or the profile's",
          "hold: a busy replica counts at least the target and is never taken away"),
      {"metricName",
       "up to 200 letters, digits, - _ or ., without a prefix such as s0-",
       "keda_gpu_metric, or keda_gpu_<profile> with underscores",
       "The name under which the HPA requests the value from KEDA",
       {},
       ReadMetricName},
      {"pollIntervalSeconds",
       "a whole number, 1 or above",
       "10",
       "Accepted for older manifests, without effect: changes are pushed as they happen",
       {},
       ReadPollInterval},
  };
}

}  // namespace

const std::vector<KeyRow>& KeyRows() {
  static const auto& rows = *new std::vector<KeyRow>([] {
    std::vector<KeyRow> rows = MakeRows();
    std::ranges::move(SourceKeyRows(), std::back_inserter(rows));
    return rows;
  }());
  return rows;
}

KeyName NameIn(absl::string_view key) {
  const bool from_env = absl::ConsumeSuffix(&key, "FromEnv");
  return {key, from_env};
}

std::string SpelledIn(const Metadata& metadata, absl::string_view name) {
  return metadata.contains(name) ? std::string(name) : absl::StrCat(name, "FromEnv");
}

const KeyRow* FindKey(absl::string_view name) {
  const auto row = std::ranges::find(KeyRows(), name, &KeyRow::name);
  return row == KeyRows().end() ? nullptr : &*row;
}

std::string KeyRow::Advice(absl::string_view text) const {
  return absl::StrCat("use ", allowed, DidYouMean(text, words));
}

std::string JoinedWithOr(const std::vector<absl::string_view>& words) {
  if (words.size() < 2) return absl::StrJoin(words, "");
  return absl::StrCat(absl::StrJoin(words.begin(), words.end() - 1, ", "), " or ", words.back());
}

bool IsPathSafe(absl::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

std::string Quoted(absl::string_view text) {
  constexpr size_t kShown = 60;
  const bool cut = text.size() > kShown;
  return absl::StrCat("\"", absl::CEscape(text.substr(0, kShown)), cut ? "...\"" : "\"");
}

}  // namespace gpuscaler
