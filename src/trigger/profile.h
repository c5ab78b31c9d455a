// Presets for a kind of workload: the built-in ones, and those of an organisation.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct KeyRow;  // trigger_keys.h

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
std::string MetricNameOf(absl::string_view profile);

}  // namespace gpuscaler
