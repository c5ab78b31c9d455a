// The metadata keys for the source of a trigger's demand: engines, metrics endpoints, queues.
#pragma once

#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {

std::vector<KeyRow> DemandRows();

// Returns the engines that `engine` may name, besides auto.
std::span<const absl::string_view> EngineNames();

}  // namespace gpuscaler
