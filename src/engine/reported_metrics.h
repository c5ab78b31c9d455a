// Which engine exports what: by the rows of its exposition, so that what is read and what is
// documented cannot differ.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/engines.h"
#include "model/engine_metric.h"

namespace gpuscaler {

// Whether any version of it does, be it with a flag or a backend. False: it never will.
bool CanTell(const Engine& engine, EngineMetric metric);

// The backend without which it does not: "TensorRT-LLM" of Triton's. Empty: it needs none, or never
// will.
absl::string_view BackendFor(const Engine& engine, EngineMetric metric);

// Returns true if the reading has a number that only a backend exports, of that model or, where the
// name is empty, of any. A number that cannot be (NaN) is one.
bool HasBackend(const Engine& engine, const EngineReading& reading, absl::string_view model);

// Their names, by the alphabet, each with the backend that it needs: "triton with TensorRT-LLM".
std::vector<std::string> EnginesThatTell(EngineMetric metric);

}  // namespace gpuscaler
