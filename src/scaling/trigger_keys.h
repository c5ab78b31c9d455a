// The one table of metadata keys: parsing, docs, completion and "did you mean" all read it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "scaling/trigger.h"

namespace gpuscaler {

// What metadata or a profiles file says, key by key; empty where it says nothing.
struct Settings {
  std::optional<std::string> profile;
  std::optional<std::string> metric_name;
  std::optional<MetricType> metric;
  std::optional<double> target;
  std::optional<double> target_gpu_utilization;
  std::optional<double> target_memory_utilization;
  std::optional<TargetType> target_type;
  std::optional<double> activation_threshold;

  std::optional<Scope> scope;
  std::optional<std::string> workload;
  std::optional<std::string> workload_kind;
  std::shared_ptr<const re2::RE2> pod_regex;
  std::optional<int> gpu_index;
  std::optional<int> gpus_per_replica;
  std::optional<Aggregation> aggregation;
  std::optional<ReplicaAggregation> replica_aggregation;

  std::optional<absl::Duration> window;
  std::optional<WindowAggregation> window_aggregation;
  std::optional<absl::Duration> activation_window;
  std::optional<absl::Duration> warmup;
  std::optional<absl::Duration> preallocation_window;
  std::optional<int> poll_interval_seconds;

  std::optional<EngineFallback> engine_fallback;
  std::optional<double> max_concurrency;
  std::optional<ScaleIn> scale_in;
};

struct KeyRow {
  std::string name;
  std::string allowed;
  std::string default_value;
  std::string help;
  std::vector<absl::string_view> words;  // what "did you mean" chooses from; empty for numbers
  // False when `text` is not allowed; `settings` is then unchanged.
  bool (*read)(absl::string_view text, Settings& settings);
  // What is wrong with a text that is not allowed, besides; null: nothing to say.
  std::string (*fault)(absl::string_view text) = nullptr;

  // `use max or min; did you mean "max"?`
  std::string Advice(absl::string_view text) const;
};

const std::vector<KeyRow>& KeyRows();

// A key as metadata spells it: windowFromEnv is window, its value that of a variable.
struct KeyName {
  absl::string_view name;
  bool from_env;
};
KeyName NameIn(absl::string_view key);

// nullptr when there is no such key.
const KeyRow* FindKey(absl::string_view name);

// "max, min or avg".
std::string JoinedWithOr(const std::vector<absl::string_view>& words);

// What becomes part of a metric's name: letters, digits, - _ . and at most 200 of them.
bool IsPathSafe(absl::string_view name);

// A foreign text as an error message may show it: quoted, printable, at most 60 characters.
std::string Quoted(absl::string_view text);

}  // namespace gpuscaler
