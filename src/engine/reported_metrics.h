// Which engine exports which metric, computed from the rows of its exposition. Code and reference
// documentation both use it, so they cannot differ.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/engines.h"
#include "model/engine_metric.h"

namespace gpuscaler {

// Returns true if any version of the engine exports it, with a flag or a backend if needed.
bool CanReport(const Engine& engine, EngineMetric metric);

// Returns the backend that the engine needs to export it: "TensorRT-LLM" for Triton. Empty if it
// needs none, or never exports it.
absl::string_view BackendFor(const Engine& engine, EngineMetric metric);

// Returns true if the reading has a number that only a backend exports: of `model`, or of any model
// if it is empty. An invalid number (NaN) counts.
bool HasBackend(const Engine& engine, const EngineReading& reading, absl::string_view model);

// The order is alphabetical. Names include the backend needed: "triton with TensorRT-LLM".
std::vector<std::string> EnginesThatReport(EngineMetric metric);

}  // namespace gpuscaler
