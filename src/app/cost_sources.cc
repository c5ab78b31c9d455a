#include "app/cost_sources.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "cost/counter_usage.h"
#include "cost/range_answer.h"
#include "nlohmann/json.hpp"
#include "page/scrape_fault.h"

namespace gpuscaler {
namespace {

using CostDocument = nlohmann::json;

constexpr absl::string_view kCounter = "keda_gpu_scaler_gpu_seconds_total";

// Prometheus refuses more than 11,000 points of a series. Fewer keep its answers small.
constexpr int64_t kStepsAtOnce = 144;

absl::StatusOr<HttpAnswer> GetPath(const CostQuery& query, absl::string_view path) {
  return HttpGet(absl::StrCat(absl::StripSuffix(query.url, "/"), path), query.http);
}

// The error's text is the server's own, if it has sent one as both APIs do.
absl::Status StatusFault(const CostQuery& query, const HttpAnswer& answer) {
  const absl::Status fault = HttpStatusFault(answer.status, "");
  const CostDocument document = CostDocument::parse(answer.body, nullptr, false);
  std::string text(fault.message());
  if (document.is_object() && document.contains("error") && document["error"].is_string()) {
    absl::StrAppend(&text, ": ", PrintableText(document["error"].get<std::string>()));
  }
  return {fault.code(), absl::StrCat(query.url, ": ", text)};
}

absl::StatusOr<std::vector<RangeSeries>> ReadSteps(const CostQuery& query, int64_t first,
                                                   int64_t steps, absl::Duration step) {
  const int64_t start = absl::ToUnixSeconds(query.from + first * step);
  const int64_t step_seconds = absl::ToInt64Seconds(step);
  ASSIGN_OR_RETURN(
      const HttpAnswer answer,
      GetPath(query, absl::StrCat("/api/v1/query_range?query=", kCounter, "&start=", start, "&end=",
                                  start + (steps - 1) * step_seconds, "&step=", step_seconds)));
  if (answer.status != 200) return StatusFault(query, answer);
  absl::StatusOr<std::vector<RangeSeries>> series = ParseRangeAnswer(answer.body);
  if (series.ok()) return series;
  return absl::FailedPreconditionError(absl::StrCat(query.url, ": ", series.status().message()));
}

std::optional<double> HoursIn(const CostDocument& row, absl::string_view name) {
  const auto hours = row.find("gpu_hours");
  if (hours == row.end() || !hours->is_object()) return std::nullopt;
  const auto found = hours->find(std::string(name));
  if (found == hours->end() || !found->is_number()) return std::nullopt;
  constexpr double kMost = 1e9;
  const double value = found->get<double>();
  return value >= 0 && value <= kMost ? std::optional(value) : std::nullopt;
}

std::string TextIn(const CostDocument& row, const char* name) {
  const auto found = row.find(name);
  return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<Money> MoneyIn(const CostDocument& row, const char* name) {
  constexpr double kHundredths = 100;
  constexpr double kMostMoney = 1e15;
  const auto found = row.find(name);
  if (found == row.end() || !found->is_number()) return std::nullopt;
  const double amount = found->get<double>();
  if (!(std::abs(amount) < kMostMoney)) return std::nullopt;
  return Money::FromHundredths(std::llround(amount * kHundredths));
}

std::optional<CostRow> RowOf(const CostDocument& json) {
  if (!json.is_object()) return std::nullopt;
  CostRow row;
  row.key = TextIn(json, "key");
  row.labels = {.namespace_name = TextIn(json, "namespace"),
                .workload = TextIn(json, "workload"),
                .gpu_model = TextIn(json, "model"),
                .node = TextIn(json, "node")};
  constexpr double kMicrosInHour = 3.6e9;
  for (const GpuState state : kAllGpuStates) {
    const std::optional<double> hours = HoursIn(json, Name(state));
    if (!hours) return std::nullopt;
    row.times[state] = std::llround(*hours * kMicrosInHour);
  }
  row.cost = MoneyIn(json, "cost");
  row.idle_cost = MoneyIn(json, "idle_cost");
  return row;
}

std::optional<absl::Time> TimeIn(const CostDocument& document, const char* name) {
  const auto found = document.find(name);
  constexpr double kLatestSecond = 253'402'300'799;
  if (found == document.end() || !found->is_number()) return std::nullopt;
  const double seconds = found->get<double>();
  if (!(seconds >= 0 && seconds <= kLatestSecond)) return std::nullopt;
  return absl::FromUnixSeconds(std::llround(seconds));
}

std::optional<CostOutput> OutputOf(const CostDocument& document, GroupBy by) {
  if (!document.is_object() || !document.contains("rows") || !document["rows"].is_array() ||
      !document.contains("total")) {
    return std::nullopt;
  }
  CostOutput output;
  output.report.by = by;
  const std::optional<absl::Time> from = TimeIn(document, "from");
  const std::optional<absl::Time> to = TimeIn(document, "to");
  std::optional<CostRow> total = RowOf(document["total"]);
  if (!from || !to || !total) return std::nullopt;
  output.report.from = *from;
  output.report.to = *to;
  output.report.total = *std::move(total);
  for (const CostDocument& json : document["rows"]) {
    std::optional<CostRow> row = RowOf(json);
    if (!row) return std::nullopt;
    output.report.rows.push_back(*std::move(row));
  }
  output.currency = PrintableText(TextIn(document, "currency"));
  output.note = PrintableText(TextIn(document, "note"));
  return output;
}

}  // namespace

absl::Duration StepOf(absl::Duration period) {
  return period > absl::Hours(24) ? absl::Minutes(5) : absl::Minutes(1);
}

absl::StatusOr<CostOutput> CostFromPrometheus(const CostQuery& query, const PriceList* prices) {
  const absl::Duration step = StepOf(query.to - query.from);
  const int64_t steps = (query.to - query.from) / step + 1;
  CounterUsage counters(query.from, step, query.longest_gap);
  int64_t at_once = kStepsAtOnce;
  int64_t read = 0;
  while (read < steps) {
    const int64_t part = std::min(at_once, steps - read);
    const auto series = ReadSteps(query, read, part, step);
    if (absl::IsResourceExhausted(series.status()) && part > 1) {
      at_once = part / 2;
      continue;
    }
    if (!series.ok()) return series.status();
    RETURN_IF_ERROR(counters.Add(part, *series));
    read += part;
  }
  counters.Finish();
  const std::vector<Usage> usage = counters.usage();
  if (usage.empty()) {
    return absl::NotFoundError(
        absl::StrCat(query.url, ": no points of ", kCounter,
                     " in this period: does Prometheus scrape the agents (docs/cost.md)?"));
  }
  CostOutput output;
  output.report = MakeCostReport(query.from, query.to, query.by, usage, prices);
  output.saving = SavingOf(counters.static_fleets(), query.to - query.from, prices);
  return output;
}

absl::StatusOr<CostOutput> CostFromServer(const CostQuery& query) {
  const int64_t hours = std::clamp<int64_t>(
      absl::ToInt64Hours(absl::Ceil(query.to - query.from, absl::Hours(1))), 1, 24);
  ASSIGN_OR_RETURN(
      const HttpAnswer answer,
      GetPath(query, absl::StrCat("/api/v1/cost?by=", Name(query.by), "&hours=", hours)));
  if (answer.status != 200) return StatusFault(query, answer);
  std::optional<CostOutput> output =
      OutputOf(CostDocument::parse(answer.body, nullptr, false), query.by);
  if (output) return *std::move(output);
  return absl::FailedPreconditionError(
      absl::StrCat(query.url, ": its answer is no cost report: is it the --web-port of a scaler?"));
}

}  // namespace gpuscaler
