// What an engine's readings answer to a question.
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

// What is known of an engine besides one reading.
struct EngineFacts {
  // The most that it was seen to run while others waited (full_batch.h); empty: it was never full.
  std::optional<double> full_batch;
  absl::Duration longest_gap;  // readings farther apart say nothing of the time between them
};

// At each of these readings, oldest first. Empty: it did not tell, or what comes from counters is
// not known yet.
NumberAtEach Answers(const EngineQuestion& question, std::span<const TimedReading> readings,
                     const EngineFacts& facts);

// How full the engine is, 0-100 and more (DESIGN 2): its cache, or its requests against its limit,
// whichever is fuller. The limit is its own where it tells, else `max_concurrency`, else
// `full_batch`. Without any its cache, and those who wait for each that runs. Empty: it tells
// neither of its cache nor of its requests.
std::optional<double> PressurePercent(const TimedReading& reading,
                                      std::optional<double> max_concurrency,
                                      std::optional<double> full_batch);

BatchReading BatchOf(const TimedReading& reading);

// What that is measured against, for people.
std::string AgainstText(const TimedReading& reading, std::optional<double> max_concurrency,
                        std::optional<double> full_batch);

// What the engine would have to tell for an answer: "how many requests run".
absl::string_view WhatIsAsked(EngineMetric metric);

}  // namespace gpuscaler
