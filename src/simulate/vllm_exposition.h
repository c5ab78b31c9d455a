// The part of vLLM's (V1) /metrics that autoscaling uses.
#pragma once

#include <string>

#include "simulate/batch_engine.h"

namespace gpuscaler {

// The series are of one model and data-parallel rank 0.
std::string VllmExposition(const std::string& model, const EngineGauges& gauges,
                           const EngineTotals& totals);

}  // namespace gpuscaler
