#include "app/cost_sources.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "app/web_document.h"
#include "base/status_macros.h"
#include "cost/counter_usage.h"
#include "cost/range_answer.h"
#include "page/scrape_fault.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kCounter = "keda_gpu_scaler_gpu_seconds_total";

// Prometheus refuses more than 11,000 points of a series. Fewer keep its answers small.
constexpr int64_t kStepsAtOnce = 144;

absl::Status StatusFault(const HttpClient& prometheus, const HttpAnswer& answer) {
  const absl::Status fault = HttpStatusFault(answer.status, "");
  const std::string error = ErrorOfBody(answer.body);
  return {fault.code(), absl::StrCat(prometheus.server(), ": ", fault.message(),
                                     error.empty() ? "" : ": ", error)};
}

absl::StatusOr<std::vector<RangeSeries>> ReadSteps(HttpClient& prometheus, absl::Time start,
                                                   int64_t steps, absl::Duration step) {
  const int64_t start_seconds = absl::ToUnixSeconds(start);
  const int64_t step_seconds = absl::ToInt64Seconds(step);
  ASSIGN_OR_RETURN(
      const HttpAnswer answer,
      prometheus.Get(absl::StrCat("/api/v1/query_range?query=", kCounter, "&start=", start_seconds,
                                  "&end=", start_seconds + (steps - 1) * step_seconds,
                                  "&step=", step_seconds)));
  if (answer.status != 200) return StatusFault(prometheus, answer);
  absl::StatusOr<std::vector<RangeSeries>> series = ParseRangeAnswer(answer.body);
  if (series.ok()) return series;
  return absl::FailedPreconditionError(
      absl::StrCat(prometheus.server(), ": ", series.status().message()));
}

std::optional<Money> MoneyIn(const WebDocument& row, absl::string_view name) {
  constexpr double kHundredths = 100;
  constexpr double kMostMoney = 1e15;
  const std::optional<double> amount = NumberOf(row, name);
  if (!amount || !(std::abs(*amount) < kMostMoney)) return std::nullopt;
  return Money::FromHundredths(std::llround(*amount * kHundredths));
}

std::optional<CostRow> RowOf(const WebDocument& json) {
  CostRow row;
  row.key = TextOf(json, "key");
  row.labels = {.namespace_name = TextOf(json, "namespace"),
                .workload = TextOf(json, "workload"),
                .gpu_model = TextOf(json, "model"),
                .node = TextOf(json, "node")};
  constexpr double kMostHours = 1e9;
  constexpr double kMicrosInHour = 3.6e9;
  for (const GpuState state : kAllGpuStates) {
    const std::optional<double> hours = NumberOf(FieldOf(json, "gpu_hours"), Name(state));
    if (!hours || !(*hours >= 0 && *hours <= kMostHours)) return std::nullopt;
    row.times[state] = std::llround(*hours * kMicrosInHour);
  }
  row.cost = MoneyIn(json, "cost");
  row.idle_cost = MoneyIn(json, "idle_cost");
  return row;
}

std::optional<absl::Time> SecondIn(const WebDocument& document, absl::string_view name) {
  constexpr double kLatestSecond = 253'402'300'799;
  const std::optional<double> seconds = NumberOf(document, name);
  if (!seconds || !(*seconds >= 0 && *seconds <= kLatestSecond)) return std::nullopt;
  return absl::FromUnixSeconds(std::llround(*seconds));
}

std::optional<CostOutput> OutputOf(const WebDocument& document, GroupBy by) {
  CostOutput output;
  output.report.by = by;
  const std::optional<absl::Time> from = SecondIn(document, "from");
  const std::optional<absl::Time> to = SecondIn(document, "to");
  std::optional<CostRow> total = RowOf(FieldOf(document, "total"));
  const WebDocument& rows = FieldOf(document, "rows");
  if (!from || !to || !total || !rows.is_array()) return std::nullopt;
  output.report.from = *from;
  output.report.to = *to;
  output.report.total = *std::move(total);
  for (const WebDocument& json : rows) {
    std::optional<CostRow> row = RowOf(json);
    if (!row) return std::nullopt;
    output.report.rows.push_back(*std::move(row));
  }
  output.currency = TextOf(document, "currency");
  output.note = TextOf(document, "note");
  return output;
}

}  // namespace

absl::Duration StepOf(absl::Duration period) {
  return period > absl::Hours(24) ? absl::Minutes(5) : absl::Minutes(1);
}

absl::StatusOr<CostOutput> CostFromPrometheus(HttpClient& prometheus, const CostQuery& query,
                                              const PriceList* prices) {
  const absl::Duration step = StepOf(query.to - query.from);
  const int64_t steps = (query.to - query.from) / step + 1;
  CounterUsage counters(query.from, step, query.longest_gap);
  int64_t at_once = kStepsAtOnce;
  int64_t read = 0;
  while (read < steps) {
    const int64_t part = std::min(at_once, steps - read);
    const auto series = ReadSteps(prometheus, query.from + read * step, part, step);
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
        absl::StrCat(prometheus.server(), ": no points of ", kCounter,
                     " in this period: does Prometheus scrape the agents (docs/cost.md)?"));
  }
  CostOutput output;
  output.report = MakeCostReport(query.from, query.to, query.by, usage, prices);
  output.saving = SavingOf(counters.static_fleets(), query.to - query.from, prices);
  return output;
}

absl::StatusOr<CostOutput> CostFromServer(HttpClient& scaler, const CostQuery& query) {
  const absl::Duration period = absl::Ceil(query.to - query.from, absl::Hours(1));
  if (period > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        "flag --since: a running scaler (--server) has the last 24h at most; use --prometheus URL "
        "for a longer period");
  }
  const int64_t hours = std::max<int64_t>(absl::ToInt64Hours(period), 1);
  ASSIGN_OR_RETURN(const WebDocument document,
                   WebDocumentOf(scaler.Get(
                       absl::StrCat("/api/v1/cost?by=", Name(query.by), "&hours=", hours))));
  std::optional<CostOutput> output = OutputOf(document, query.by);
  if (output) return *std::move(output);
  return absl::FailedPreconditionError(
      "the reply is no cost report: is --server the --web-port of a keda-gpu-scaler?");
}

}  // namespace gpuscaler
