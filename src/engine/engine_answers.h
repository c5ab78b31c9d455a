// Computes the value of a metric from an engine's readings.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/engine_rates.h"
#include "model/engine_batch.h"
#include "model/engine_metric.h"

namespace gpuscaler {

// Returns the value at each reading, oldest first. Empty if the engine did not report it, or if
// there are too few readings for a value from counters. The time between readings farther apart
// than `max_gap` does not count. `full_batch` is the largest batch observed while requests waited
// (batch_limit_estimator.h); empty: the batch was never full.
ValuesAtReadings Answers(const EngineQuery& query, std::span<const TimedReading> readings,
                         absl::Duration max_gap, std::optional<double> full_batch = std::nullopt);

// Returns how full the engine is in percent, above 100 if requests wait: the maximum of
// its cache usage and of its requests divided by its limit. The limit is the one that the engine
// reports, else `max_concurrency`, else `full_batch`. Without a limit, waiting requests are divided
// by running ones. Empty if the engine reports neither its cache nor its requests.
std::optional<double> PressurePercent(const TimedReading& reading,
                                      std::optional<double> max_concurrency,
                                      std::optional<double> full_batch);

BatchReading BatchOf(const TimedReading& reading);

// Returns what the pressure is measured against, for the explanation.
std::string PressureBasisText(const TimedReading& reading, std::optional<double> max_concurrency,
                              std::optional<double> full_batch);

// Returns what the engine must report for the metric: "how many requests run".
absl::string_view InputsOf(EngineMetric metric);

}  // namespace gpuscaler
