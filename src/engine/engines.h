// The inference engines that are known: where their pages are, and how they are read.
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
  absl::string_view name;        // what `engine` in a trigger's metadata says
  int port = 0;                  // where its image listens unless told otherwise
  int later_port = 0;            // usual port of later versions; 0: the same
  absl::string_view path;        // of the page that is read
  const EngineExposition* page;  // null: it is no list of metrics
  // Of one whose page may be empty: what is in its answer to kInfoPath, and in no other's. Empty:
  // it has none.
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
bool IsUsualPort(const Engine& engine, int port);

// All of them; of two whose marks are on one page the earlier is meant.
std::span<const Engine* const> Engines();

// Null: no engine of that name.
const Engine* EngineNamed(absl::string_view name);

inline constexpr absl::string_view kInfoPath = "/info";

// Null: none that is known.
const Engine* EngineOfInfo(absl::string_view info);

// The engine whose page this is. NOT_FOUND: none that is known. INVALID_ARGUMENT: no whole page.
absl::StatusOr<const Engine*> Recognise(absl::string_view page, ExpositionFormat format);

}  // namespace gpuscaler
