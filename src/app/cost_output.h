// The output of `report`.
#pragma once

#include <optional>
#include <string>

#include "cost/cost_report.h"
#include "cost/static_fleet.h"

namespace gpuscaler {

struct CostOutput {
  CostReport report;
  std::string currency;  // "USD"; empty: not named
  // Empty: not calculated. Of the last day a running scaler has only sums.
  std::optional<Saving> saving;
  std::string note;  // empty: none
};

// A table for people: hours and money with two decimals.
std::string CostTable(const CostOutput& output);

// One line for each row, with columns of the FinOps FOCUS specification. Columns with the prefix
// "x_" are this program's. There is no line of totals, so sums are right.
std::string CostCsv(const CostOutput& output);

std::string CostJson(const CostOutput& output);

}  // namespace gpuscaler
