// A page of metrics as vLLM's: a third of its bytes are comments, most of the rest histograms.
#pragma once

#include <cstddef>
#include <string>

namespace gpuscaler {

// Model after model, until it is that long.
std::string EngineExpositionOf(size_t bytes);

}  // namespace gpuscaler
