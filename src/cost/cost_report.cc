#include "cost/cost_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr std::array<absl::string_view, 4> kGroupNames = {"namespace", "workload", "model", "node"};

UsageKey LabelsOf(const UsageKey& key, GroupBy by) {
  UsageKey labels;
  switch (by) {
    case GroupBy::kNamespace:
      labels.namespace_name = key.namespace_name;
      break;
    case GroupBy::kWorkload:
      labels.namespace_name = key.namespace_name;
      labels.workload = key.workload;
      break;
    case GroupBy::kModel:
      labels.gpu_model = key.gpu_model;
      break;
    case GroupBy::kNode:
      labels.node = key.node;
      break;
  }
  return labels;
}

std::string KeyText(const UsageKey& labels, GroupBy by) {
  switch (by) {
    case GroupBy::kNamespace:
      return labels.namespace_name;
    case GroupBy::kWorkload:
      return labels.namespace_name.empty()
                 ? labels.workload
                 : absl::StrCat(labels.namespace_name, "/", labels.workload);
    case GroupBy::kModel:
      return labels.gpu_model;
    case GroupBy::kNode:
      break;
  }
  return labels.node;
}

// A row with a time that has no price has no cost.
void AddUsage(const Usage& usage, std::optional<HourlyPrice> price, CostRow& row) {
  row.times.Add(usage.times);
  if (!price) {
    row.cost.reset();
    row.idle_cost.reset();
  }
  if (row.cost) row.cost->Add(Money(*price, usage.times.Total()));
  if (row.idle_cost) row.idle_cost->Add(Money(*price, usage.times[GpuState::kIdle]));
}

}  // namespace

absl::string_view Name(GroupBy by) { return kGroupNames[static_cast<size_t>(by)]; }

std::optional<GroupBy> GroupByNamed(absl::string_view name) {
  const auto found = std::ranges::find(kGroupNames, name);
  if (found == kGroupNames.end()) return std::nullopt;
  return static_cast<GroupBy>(found - kGroupNames.begin());
}

CostReport MakeCostReport(absl::Time from, absl::Time to, GroupBy by, std::span<const Usage> usage,
                          const PriceList* prices) {
  CostReport report{
      .from = from, .to = to, .by = by, .rows = {}, .total = {}, .unpriced_models = {}};
  const auto begin_costs = [prices](CostRow& row) {
    if (prices == nullptr) return;
    row.cost.emplace();
    row.idle_cost.emplace();
  };
  begin_costs(report.total);
  std::map<UsageKey, CostRow> rows;
  std::set<std::string> unpriced;
  for (const Usage& each : usage) {
    if (each.times.Total() == 0) continue;
    std::optional<HourlyPrice> price;
    if (prices != nullptr) price = prices->PriceOf(each.key.gpu_model);
    if (prices != nullptr && !price) unpriced.insert(each.key.gpu_model);
    const auto [row, is_new] = rows.try_emplace(LabelsOf(each.key, by));
    if (is_new) begin_costs(row->second);
    AddUsage(each, price, row->second);
    AddUsage(each, price, report.total);
  }
  for (auto& [labels, row] : rows) {
    row.key = KeyText(labels, by);
    row.labels = labels;
    report.rows.push_back(std::move(row));
  }
  report.unpriced_models.assign(unpriced.begin(), unpriced.end());
  return report;
}

}  // namespace gpuscaler
