// Ready-made settings for a kind of workload: the built-in ones, and an organisation's own.
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

// What a standing replica (one whose VRAM is preallocated, DESIGN 2) is worth when the profile is
// on memory_used_percent.
enum class PreallocatedMemory {
  kLiteral,   // its memory, as read: the trigger names memory_used_percent by hand
  kPressure,  // its engine's pressure, or engineFallback (vllm-inference, tgi-inference)
  kActivity,  // the target while it was busy within activationWindow, else 0 (batch, ollama)
};

enum class ScaleIn {
  kFollow,  // the value follows the load down
  kHold,    // a replica busy within activationWindow counts at least the target: never shrunk
};

struct Profile {
  std::string name;
  std::string help;
  MetricType metric = MetricType::kGpuUtilization;
  double target = 80;
  double activation_threshold = 0;
  bool threshold_given = false;  // by the profiles file: then scaleIn hold goes to zero as well
  absl::Duration window = absl::Seconds(30);
  absl::Duration activation_window = absl::Seconds(60);
  absl::Duration warmup = absl::ZeroDuration();
  PreallocatedMemory preallocated_memory = PreallocatedMemory::kLiteral;
  ScaleIn scale_in = ScaleIn::kFollow;
};

// By name. Immutable once shared.
using Profiles = std::map<std::string, Profile, std::less<>>;

const Profiles& BuiltInProfiles();

// The built-in profiles with those of a YAML document on top:
//
//   profiles:
//     our-llm:
//       extends: vllm-inference   # optional: a profile to start from
//       targetValue: 70           # any key of the trigger's metadata that a profile has
//
// INVALID_ARGUMENT names profile, key, value, what is allowed and the line.
absl::StatusOr<Profiles> ParseProfiles(absl::string_view yaml);

// The keys that a profile of such a document may have, and a document: for docs.
struct ProfileKey {
  std::string name;
  std::string allowed;
  std::string help;
};
std::vector<ProfileKey> ProfileKeys();
absl::string_view ExampleProfiles();

// keda_gpu_<profile>, hyphens as underscores; the reference's default metric name of a profile.
std::string MetricNameOf(const Profile& profile);

}  // namespace gpuscaler
