// Engines with known step times, each with requests and latency goals to test them.
#pragma once

#include <span>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "simulate/batch_engine.h"

namespace gpuscaler {

// Service level objective of a request.
struct LatencyGoals {
  absl::Duration first_token;       // TTFT
  absl::Duration per_output_token;  // TPOT, mean of the request
};

struct EnginePreset {
  absl::string_view name;
  absl::string_view help;
  BatchEngineOptions batch;
  EngineRequest request;  // mean lengths
  LatencyGoals goals;
  // The rate that one engine sustains with 99 % of the requests within the goals: a load of 1.
  double requests_per_second = 0;
};

std::span<const EnginePreset> EnginePresets();

// Returns nullptr if there is no preset of that name.
const EnginePreset* EnginePresetNamed(absl::string_view name);

}  // namespace gpuscaler
