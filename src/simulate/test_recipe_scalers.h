// Common Prometheus recipes, and llm-d's latency law.
#pragma once

#include "simulate/engine_preset.h"
#include "simulate/keda.h"

namespace gpuscaler {

KedaTrigger WaitingRecipe(double target);        // sum of waiting requests
KedaTrigger InFlightRecipe(double target);       // sum of waiting and running requests
KedaTrigger UtilizationRecipe(TargetType type);  // avg(utilization) against 80
KedaTrigger HeldRecipe(double target);           // sum of requests at the router

// llm-d's law: computes replicas from the P90 of TTFT and TPOT of the last minute relative to their
// goals, capped at 2 and averaged over 45 s. Within a band it changes nothing [llm-d
// guides/workload-autoscaling/README.slo-aware.md].
KedaTrigger LatencyLaw(const LatencyGoals& goals);
// The ScaledObject of llm-d's guide: up by 100 % or 4 pods a minute, down by one in two minutes.
ScaledObjectSpec LatencyLawObject(int min_replicas, int max_replicas);

}  // namespace gpuscaler
