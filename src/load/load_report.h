// What a load came to, as text and JSON, and how it goes, in a line.
#pragma once

#include <string>

#include "load/load_run.h"

namespace gpuscaler {

// Of a run towards `target`, `stopped` before its end or not.
std::string LoadText(const std::string& target, const LoadTally& tally, bool stopped);
std::string LoadJson(const std::string& target, const LoadTally& tally, bool stopped);

// After `passed`; `recent` are the latencies since the last line, `asked` a second is the rate now.
std::string LoadLine(absl::Duration passed, double asked, const LoadTally& tally,
                     const LatencyCounts& recent, absl::Duration since_last);

}  // namespace gpuscaler
