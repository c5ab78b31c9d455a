#include "cost/cost_json.h"

#include <string>

#include "cost/gpu_state.h"

namespace gpuscaler {

nlohmann::ordered_json MoneyJson(const std::optional<Money>& money) {
  constexpr double kHundredths = 100;
  if (!money) return nullptr;
  return static_cast<double>(money->Hundredths()) / kHundredths;
}

void AddCosts(const CostRow& row, nlohmann::ordered_json& json) {
  nlohmann::ordered_json& hours = json["gpu_hours"];
  for (const GpuState state : kAllGpuStates) {
    hours[std::string(Name(state))] = GpuHours(row.times[state]);
  }
  json["total"] = GpuHours(row.times.Total());
  json["cost"] = MoneyJson(row.cost);
  json["idle_cost"] = MoneyJson(row.idle_cost);
}

}  // namespace gpuscaler
