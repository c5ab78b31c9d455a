#include "simulate/report.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace gpuscaler {
namespace {

double MeanWaitSeconds(const ScenarioResult& result) {
  if (result.totals.begun == 0) return 0;
  return absl::ToDoubleSeconds(result.totals.waited) / static_cast<double>(result.totals.begun);
}

}  // namespace

std::string CostTable(const std::vector<ScenarioResult>& results) {
  std::string table = absl::StrFormat("%-26s %11s %9s %9s %10s %9s %9s\n", "", "GPU-seconds",
                                      "served", "unserved", "mean wait", "longest", "replicas");
  for (const ScenarioResult& result : results) {
    const InferenceService::Totals& totals = result.totals;
    absl::StrAppendFormat(&table, "%-26s %11.0f %9d %9d %9.0fs %8.0fs %9d", result.name,
                          totals.gpu_seconds, totals.served, result.waiting,
                          MeanWaitSeconds(result), absl::ToDoubleSeconds(totals.longest_wait),
                          result.replicas);
    const double first = results.front().totals.gpu_seconds;
    if (&result != &results.front() && first > 0) {
      absl::StrAppendFormat(&table, "  %+.0f %% GPU-seconds",
                            100 * (totals.gpu_seconds / first - 1));
    }
    table += '\n';
  }
  return table;
}

}  // namespace gpuscaler
