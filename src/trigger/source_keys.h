// The metadata keys for a trigger's sources besides GPUs: engines, metrics endpoints and queues.
#pragma once

#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {

std::vector<KeyRow> SourceKeyRows();

// Returns the engines that `engine` may name, besides auto.
std::span<const absl::string_view> EngineNames();

}  // namespace gpuscaler
