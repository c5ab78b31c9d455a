// The only table of metadata keys: for parsing, docs, completion and "did you mean".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "trigger/key_use.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The values of metadata or a profiles file, key by key.
struct Settings {
  // The profile's trigger, or the default one, with the keys that depend on no other key.
  // TriggerOf() sets its other fields. Two keys write the same field only if no metric type can use
  // both (source_checks.h).
  Trigger trigger;

  // Empty: not set.
  std::optional<MetricType> metric;
  std::optional<double> target;
  std::optional<double> target_gpu_utilization;
  std::optional<double> target_memory_utilization;
  std::optional<double> jobs_per_replica;
  std::optional<Aggregation> aggregation;
  std::optional<absl::Duration> window;
  std::optional<absl::Duration> activation_window;
  std::optional<absl::Duration> warmup;
  std::optional<std::string> engine;  // empty text: any
  std::optional<std::string> engine_endpoint;
  std::optional<std::string> vllm_endpoint;
  std::optional<std::string> triton_endpoint;
  std::optional<PrometheusKind> prometheus_kind;
  std::optional<PrometheusAbsent> prometheus_absent;
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
