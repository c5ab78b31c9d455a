// The only table of metadata keys: for parsing, docs, completion and "did you mean".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "trigger/key_use.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The values of metadata or a profiles file, key by key. Empty: not set.
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
  std::optional<DemandUse> demand;
  std::optional<absl::Duration> ttft_slo;
  std::optional<absl::Duration> tpot_slo;
  std::optional<ScaleIn> scale_in;

  // Sources besides GPUs (source_keys.h).
  std::optional<std::string> engine;  // empty: any
  std::optional<std::string> model;
  std::optional<std::string> engine_endpoint;
  std::optional<std::string> vllm_endpoint;
  std::optional<std::string> triton_endpoint;
  std::optional<absl::Duration> frozen_window;
  std::optional<std::string> gateway_url;
  std::optional<std::string> prometheus_endpoint;
  std::optional<std::string> prometheus_metric;
  std::optional<PrometheusKind> prometheus_kind;
  std::optional<PrometheusAbsent> prometheus_absent;
  std::optional<std::string> redis_address;
  std::optional<std::string> redis_stream;
  std::optional<std::string> redis_consumer_group;
  std::optional<std::string> redis_list;
  std::optional<int> redis_database;
  std::optional<bool> redis_tls;
  std::optional<double> jobs_per_replica;
  std::optional<std::string> credentials;
  std::optional<std::string> redis_username;
  std::optional<std::string> redis_password;
  std::optional<std::string> bearer_token;
  std::optional<std::string> endpoint_ca;
};

struct KeyRow {
  std::string name;
  std::string allowed;        // "a number above 0", "max, min, avg, sum, p95 or p99"
  std::string default_value;  // as text; "" if there is none
  std::string help;
  std::vector<absl::string_view> words;  // candidates for "did you mean"; empty for numbers
  // Returns false if `text` is not allowed; `settings` is then unchanged.
  // Null for the keys that only a profile has.
  bool (*read)(absl::string_view text, Settings& settings) = nullptr;
  // Returns details on a text that is not allowed, if there are any. May be null.
  std::string (*fault)(absl::string_view text) = nullptr;
  KeyUse use = KeyUse::kAny;
  bool secret = false;  // its value is never shown

  // Returns `use max or min; did you mean "max"?`
  std::string Advice(absl::string_view text) const;
};

const std::vector<KeyRow>& KeyRows();

// A key as metadata spells it: windowFromEnv is window, with the value of a variable.
struct KeyName {
  absl::string_view name;
  bool from_env;
};
KeyName NameIn(absl::string_view key);

// Returns the key as the metadata spells it: windowFromEnv if there is no window.
std::string SpelledIn(const Metadata& metadata, absl::string_view name);

// Returns nullptr if there is no such key.
const KeyRow* FindKey(absl::string_view name);

// Returns "max, min or avg".
std::string JoinedWithOr(const std::vector<absl::string_view>& words);

// Returns true if the name may be part of a metric's name: letters, digits, - _ . and at most 200
// of them.
bool IsPathSafe(absl::string_view name);

// Returns a user's text for an error message: quoted, printable, at most 60 characters.
std::string Quoted(absl::string_view text);

}  // namespace gpuscaler
