// Which engine can tell what: by the rows of its page, so that what is read and what is said of it
// cannot differ.
#pragma once

#include <string>
#include <vector>

#include "engine/engines.h"
#include "model/engine_metric.h"

namespace gpuscaler {

// Whether any version of it does, be it with a flag or a backend. False: it never will.
bool CanTell(const Engine& engine, EngineMetric metric);

// Their names, by the alphabet.
std::vector<std::string> EnginesThatTell(EngineMetric metric);

}  // namespace gpuscaler
