// Presets for a kind of workload: the built-in ones, and those of an organisation.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "trigger/metric_type.h"

namespace gpuscaler {

struct KeyRow;  // trigger_keys.h

// The value of a replica with preallocated VRAM if the profile's metric is
// memory_used_percent.
enum class PreallocatedMemory {
  kLiteral,   // its memory as read, as for metricType memory_used_percent
  kPressure,  // its engine's pressure, or engineFallback (vllm-inference, tgi-inference)
  kActivity,  // the target if it was busy within activationWindow, else 0 (batch, ollama)
};

enum class ScaleIn {
  kFollow,  // the value falls with the load
  kHold,    // a replica busy within activationWindow counts at least the target: never removed
};

struct Profile {
  std::string name;
  std::string help;
  MetricType metric = MetricType::kGpuUtilization;
  double target = 80;
  double activation_threshold = 0;
  // The profiles file sets activation_threshold. With scaleIn hold this allows zero replicas
  // (Trigger::always_active).
  bool activation_threshold_given = false;
  absl::Duration window = absl::Seconds(30);
  absl::Duration activation_window = absl::Seconds(60);
  absl::Duration warmup = absl::ZeroDuration();
  PreallocatedMemory preallocated_memory = PreallocatedMemory::kLiteral;
  ScaleIn scale_in = ScaleIn::kFollow;
};

// Key: the name. Immutable once shared.
using Profiles = std::map<std::string, Profile, std::less<>>;

const Profiles& BuiltInProfiles();

// Returns the built-in profiles and those of a YAML document, which override them:
//
//   profiles:
//     our-llm:
//       extends: vllm-inference   # optional: a profile to start from
//       targetValue: 70           # any key of the trigger's metadata that a profile has
//
// INVALID_ARGUMENT names profile, key, value, what is allowed and the line.
absl::StatusOr<Profiles> ParseProfiles(absl::string_view yaml);

// Returns the keys of a profile in such a document, for docs.
std::vector<KeyRow> ProfileKeys();
absl::string_view ExampleProfiles();

// Returns keda_gpu_<profile>, with underscores for hyphens: the default metric name of the
// reference scaler.
std::string MetricNameOf(const Profile& profile);

}  // namespace gpuscaler
