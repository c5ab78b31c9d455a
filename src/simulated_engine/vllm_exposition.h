// What vLLM (V1) serves at /metrics: the series that are of use to who scales it.
#pragma once

#include <string>

#include "batching/batch_engine.h"

namespace gpuscaler {

// Of one model, by data-parallel rank 0 alone.
std::string VllmExposition(const std::string& model, const EngineGauges& gauges,
                           const EngineTotals& totals);

}  // namespace gpuscaler
