#include "lab/cost_table.h"

#include "absl/strings/str_format.h"

namespace gpuscaler {

std::string CostTable(const std::vector<ScalingCost>& costs) {
  std::string table = absl::StrFormat("%-26s %11s %9s %9s %10s %9s %9s\n", "", "GPU-seconds",
                                      "served", "unserved", "latency", "longest", "replicas");
  for (const ScalingCost& cost : costs) {
    absl::StrAppendFormat(&table, "%-26s %11.0f %9d %9d %9.0fs %8.0fs %9d", cost.name,
                          cost.gpu_seconds, cost.served, cost.unserved,
                          absl::ToDoubleSeconds(cost.mean_latency),
                          absl::ToDoubleSeconds(cost.longest_latency), cost.replicas);
    const double first = costs.front().gpu_seconds;
    if (&cost != &costs.front() && first > 0) {
      absl::StrAppendFormat(&table, "  %+.0f %% GPU-seconds", 100 * (cost.gpu_seconds / first - 1));
    }
    table += '\n';
  }
  return table;
}

}  // namespace gpuscaler
