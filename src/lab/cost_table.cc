#include "lab/cost_table.h"

#include "absl/strings/str_format.h"

namespace gpuscaler {

std::string CostTable(const std::vector<ScalingCost>& costs) {
  std::string table =
      absl::StrFormat("%-23s %11s %8s %8s %12s %8s %14s\n", "", "GPU-seconds", "served", "unserved",
                      "mean latency", "longest", "final replicas");
  for (const ScalingCost& cost : costs) {
    absl::StrAppendFormat(&table, "%-23s %11.0f %8d %8d %11.0fs %7.0fs %14d", cost.name,
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
