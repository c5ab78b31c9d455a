// A metrics page like vLLM's: a third of its bytes are comments, most of the rest histograms.
#pragma once

#include <cstddef>
#include <string>

namespace gpuscaler {

// Adds models until the page has that length.
std::string EngineExpositionOf(size_t bytes);

}  // namespace gpuscaler
