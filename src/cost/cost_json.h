// The numbers of a cost row in JSON, the same in `report` and in the web API (docs/api.yaml).
#pragma once

#include <optional>

#include "cost/cost_report.h"
#include "cost/money.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {

// Returns the rounded number of hundredths as a decimal number; null if it is unknown.
nlohmann::ordered_json MoneyJson(const std::optional<Money>& money);

// Appends the fields gpu_hours (an object with each GpuState), total, cost and idle_cost, in this
// order.
void AddCosts(const CostRow& row, nlohmann::ordered_json& json);

}  // namespace gpuscaler
