#include "app/cost_output.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "app/gpu_cells.h"
#include "base/printable_text.h"
#include "cost/cost_json.h"

namespace gpuscaler {
namespace {

constexpr int kTableDecimals = 2;
constexpr int kCsvDecimals = 6;
constexpr absl::string_view kSavingBasis =
    "each workload with the most GPUs that it held at once, for the whole period";

std::string SecondText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string MoneyOrDash(const std::optional<Money>& money) { return money ? money->Text() : "-"; }

bool HasCosts(const CostReport& report) {
  return report.total.cost.has_value() || !report.unpriced_models.empty() ||
         std::ranges::any_of(report.rows, [](const CostRow& row) { return row.cost.has_value(); });
}

std::vector<std::string> CostCells(const std::string& key, const CostRow& row, bool has_costs) {
  std::vector<std::string> cells = {key};
  for (const GpuState state : kAllGpuStates) {
    cells.push_back(HoursText(row.times[state], kTableDecimals));
  }
  cells.push_back(HoursText(row.times.Total(), kTableDecimals));
  if (!has_costs) return cells;
  cells.push_back(MoneyOrDash(row.cost));
  cells.push_back(MoneyOrDash(row.idle_cost));
  return cells;
}

std::string CostHeader(absl::string_view name, const std::string& currency) {
  return currency.empty() ? std::string(name) : absl::StrCat(name, " ", currency);
}

std::string WithCurrency(const Money& money, const std::string& currency) {
  return currency.empty() ? money.Text() : absl::StrCat(money.Text(), " ", currency);
}

std::string SavingText(const CostOutput& output) {
  const Saving& saving = *output.saving;
  return absl::StrCat(
      "Estimate, calculated and not measured: ", kSavingBasis, ", would have held ",
      HoursText(saving.static_micros, kTableDecimals), " GPU-hours instead of ",
      HoursText(saving.held_micros, kTableDecimals), ". Scaling saved ",
      HoursText(saving.static_micros - saving.held_micros, kTableDecimals), " GPU-hours",
      saving.saved ? absl::StrCat(", or ", WithCurrency(*saving.saved, output.currency)) : "",
      ".\n");
}

std::string UnpricedText(const CostReport& report) {
  return absl::StrCat("No price for: ", PrintableText(absl::StrJoin(report.unpriced_models, ", ")),
                      ". Rows with their time have no cost.\n");
}

// A spreadsheet must not run a name as a formula, so one that begins like a formula is quoted as a
// text. (https://owasp.org/www-community/attacks/CSV_Injection)
std::string CsvCell(const std::string& text) {
  constexpr absl::string_view kFormula = "=+-@\t\r";
  const bool is_formula = !text.empty() && kFormula.find(text[0]) != absl::string_view::npos;
  std::string safe = is_formula ? absl::StrCat("'", text) : text;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  return absl::StrCat("\"", absl::StrReplaceAll(safe, {{"\"", "\"\""}}), "\"");
}

std::string CsvMoney(const std::optional<Money>& money) { return money ? money->Text() : ""; }

std::vector<std::string> CsvCells(const CostOutput& output, const CostRow& row) {
  const UsageKey& labels = row.labels;
  const std::string hours = HoursText(row.times.Total(), kCsvDecimals);
  std::vector<std::string> cells = {CsvMoney(row.cost),
                                    CsvCell(output.currency),
                                    "Usage",
                                    SecondText(output.report.from),
                                    SecondText(output.report.to),
                                    hours,
                                    "GPU-Hours",
                                    CsvCell(labels.workload),
                                    CsvCell(labels.gpu_model),
                                    "Compute",
                                    CsvCell(labels.namespace_name),
                                    CsvCell(labels.node)};
  for (const GpuState state : kAllGpuStates) {
    cells.push_back(HoursText(row.times[state], kCsvDecimals));
  }
  cells.push_back(CsvMoney(row.idle_cost));
  return cells;
}

OrderedJson CostRowJson(const CostRow& row) {
  OrderedJson json;
  json["key"] = row.key;
  json["namespace"] = TextJson(row.labels.namespace_name);
  json["workload"] = TextJson(row.labels.workload);
  json["model"] = TextJson(row.labels.gpu_model);
  json["node"] = TextJson(row.labels.node);
  AddCosts(row, json);
  return json;
}

}  // namespace

std::string CostTable(const CostOutput& output) {
  const CostReport& report = output.report;
  const bool has_costs = HasCosts(report);
  std::vector<std::string> header = {absl::AsciiStrToUpper(Name(report.by))};
  for (const GpuState state : kAllGpuStates) header.push_back(absl::AsciiStrToUpper(Name(state)));
  header.emplace_back("TOTAL");
  if (has_costs) {
    header.push_back(CostHeader("COST", output.currency));
    header.push_back(CostHeader("IDLE COST", output.currency));
  }
  std::vector<std::vector<std::string>> rows = {std::move(header)};
  for (const CostRow& row : report.rows) {
    rows.push_back(CostCells(OrDash(PrintableText(row.key)), row, has_costs));
  }
  rows.push_back(CostCells("TOTAL", report.total, has_costs));
  std::string text = absl::StrCat("GPU-hours by ", Name(report.by), ", ", SecondText(report.from),
                                  " to ", SecondText(report.to), "\n");
  for (const std::string& line : Aligned(rows)) absl::StrAppend(&text, line, "\n");
  if (!report.unpriced_models.empty()) absl::StrAppend(&text, UnpricedText(report));
  if (output.saving) absl::StrAppend(&text, SavingText(output));
  if (!output.note.empty()) absl::StrAppend(&text, output.note, "\n");
  return text;
}

std::string CostCsv(const CostOutput& output) {
  std::string text =
      "BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,"
      "ConsumedQuantity,ConsumedUnit,ResourceName,ResourceType,ServiceCategory,SubAccountName,"
      "x_Node,x_BusyHours,x_IdleHours,x_StartingHours,x_FreeHours,x_UnknownHours,x_IdleCost\n";
  for (const CostRow& row : output.report.rows) {
    absl::StrAppend(&text, absl::StrJoin(CsvCells(output, row), ","), "\n");
  }
  return text;
}

std::string CostJson(const CostOutput& output) {
  const CostReport& report = output.report;
  OrderedJson json;
  json["from"] = absl::ToUnixSeconds(report.from);
  json["to"] = absl::ToUnixSeconds(report.to);
  json["by"] = std::string(Name(report.by));
  json["currency"] = output.currency;
  json["priced"] = HasCosts(report);
  OrderedJson rows = OrderedJson::array();
  for (const CostRow& row : report.rows) rows.push_back(CostRowJson(row));
  json["rows"] = std::move(rows);
  json["total"] = CostRowJson(report.total);
  json["unpriced_models"] = report.unpriced_models;
  json["estimate"] = nullptr;
  if (output.saving) {
    OrderedJson estimate;
    estimate["kind"] = "calculation";
    estimate["basis"] = std::string(kSavingBasis);
    estimate["static_gpu_hours"] = GpuHours(output.saving->static_micros);
    estimate["held_gpu_hours"] = GpuHours(output.saving->held_micros);
    estimate["saved_cost"] = MoneyJson(output.saving->saved);
    json["estimate"] = std::move(estimate);
  }
  json["note"] = output.note;
  return JsonText(json, /*one_line=*/false);
}

}  // namespace gpuscaler
