// The supported inference engines: where they export their metrics, and how these are read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/engine_exposition.h"
#include "engine/engine_reading.h"

namespace gpuscaler {

struct Engine {
  absl::string_view name;              // the value of `engine` in a trigger's metadata
  int port = 0;                        // default port
  int newer_port = 0;                  // default port of later versions; 0: the same
  absl::string_view path;              // the exposition's
  const EngineExposition* exposition;  // null: not a Prometheus exposition
  // If the exposition may be empty: a string that only this engine's response to kInfoPath
  // contains. Empty: it has none.
  absl::string_view info_mark;
  absl::StatusOr<EngineReading> (*read)(absl::string_view page, const ScrapeInterest& interest);
};

const Engine& LlamaCpp();
const Engine& LmDeploy();
const Engine& Nim();
const Engine& Ollama();
const Engine& Sglang();
const Engine& Tei();
const Engine& Tgi();
const Engine& Triton();
const Engine& TrtllmServe();
const Engine& Vllm();

// Returns true if a version of the engine listens on `port` by default.
bool IsDefaultPort(const Engine& engine, int port);

// If the marks of two engines are in one exposition, it belongs to the earlier engine.
std::span<const Engine* const> Engines();

// Returns null if no engine has that name.
const Engine* EngineNamed(absl::string_view name);

inline constexpr absl::string_view kInfoPath = "/info";

// Returns null if no engine's info_mark is in the response.
const Engine* EngineOfInfo(absl::string_view info);

// NOT_FOUND: no known engine has this exposition. INVALID_ARGUMENT: malformed.
absl::StatusOr<const Engine*> Recognise(absl::string_view page, ExpositionFormat format);

}  // namespace gpuscaler
