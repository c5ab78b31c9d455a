// The result of a load run as text and JSON, and its progress as a line.
#pragma once

#include <string>

#include "simulate/load_run.h"

namespace gpuscaler {

// Return the result of a run against `target`; `stopped` if it ended early.
std::string LoadText(const std::string& target, const LoadTally& tally, bool stopped);
std::string LoadJson(const std::string& target, const LoadTally& tally, bool stopped);

// `recent` has the latencies since the last line, and `target_rate` is the rate of requests to
// send now, per second.
std::string LoadLine(absl::Duration passed, double target_rate, const LoadTally& tally,
                     const LatencyCounts& recent, absl::Duration since_last);

}  // namespace gpuscaler
