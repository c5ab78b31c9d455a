#include "simulate/report.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace gpuscaler {
namespace {

double MeanWaitSeconds(const Outcome& outcome) {
  if (outcome.totals.begun == 0) return 0;
  return absl::ToDoubleSeconds(outcome.totals.waited) / static_cast<double>(outcome.totals.begun);
}

}  // namespace

std::string CostTable(const std::vector<Outcome>& outcomes) {
  std::string table = absl::StrFormat("%-26s %11s %9s %9s %10s %9s %9s\n", "", "GPU-seconds",
                                      "served", "unserved", "mean wait", "longest", "replicas");
  for (const Outcome& outcome : outcomes) {
    const InferenceService::Totals& totals = outcome.totals;
    absl::StrAppendFormat(&table, "%-26s %11.0f %9d %9d %9.0fs %8.0fs %9d", outcome.name,
                          totals.gpu_seconds, totals.served, outcome.waiting,
                          MeanWaitSeconds(outcome), absl::ToDoubleSeconds(totals.longest_wait),
                          outcome.replicas);
    const double first = outcomes.front().totals.gpu_seconds;
    if (&outcome != &outcomes.front() && first > 0) {
      absl::StrAppendFormat(&table, "  %+.0f %% GPU-seconds",
                            100 * (totals.gpu_seconds / first - 1));
    }
    table += '\n';
  }
  return table;
}

}  // namespace gpuscaler
