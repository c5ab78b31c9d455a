// The metadata keys that say where a trigger's demand is read: engines, pages, queues.
#pragma once

#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {

std::vector<KeyRow> DemandRows();

// The engines that `engine` may name, besides auto.
std::span<const absl::string_view> EngineNames();

}  // namespace gpuscaler
