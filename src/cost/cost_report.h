// A cost report: GPU time and money by namespace, workload, GPU model or node.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cost/money.h"
#include "cost/price_list.h"
#include "cost/usage.h"

namespace gpuscaler {

enum class GroupBy { kNamespace, kWorkload, kModel, kNode };
absl::string_view Name(GroupBy by);                           // "namespace"
std::optional<GroupBy> GroupByNamed(absl::string_view name);  // empty: no such name

struct CostRow {
  // "shop/web" for a workload. A row without namespace, or without node, has an empty name: free
  // GPUs, and those with unknown holders.
  std::string key;
  UsageKey labels;  // only the fields of the report's GroupBy
  StateTimes times;
  // Cost of all states. Empty: there are no prices, or one of its models has none.
  std::optional<Money> cost;
  std::optional<Money> idle_cost;  // the part of `cost` that is idle
};

struct CostReport {
  absl::Time from;
  absl::Time to;
  GroupBy by = GroupBy::kNamespace;
  std::vector<CostRow> rows;                 // sorted by key
  CostRow total;                             // exact sums of the rows, without key
  std::vector<std::string> unpriced_models;  // in order; empty too if there are no prices at all
};

// `prices` may be null.
CostReport MakeCostReport(absl::Time from, absl::Time to, GroupBy by, std::span<const Usage> usage,
                          const PriceList* prices);

// Returns hours for display: 1.5 for 5,400,000,000 microseconds.
inline double GpuHours(int64_t micros) { return static_cast<double>(micros) / 3.6e9; }

}  // namespace gpuscaler
