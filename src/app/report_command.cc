// `report`: GPU-hours and money of a period.
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "app/commands.h"
#include "app/cost_output.h"
#include "app/cost_sources.h"
#include "app/input_file.h"
#include "app/value_flags.h"
#include "app/web_client.h"
#include "base/clock.h"
#include "base/duration_text.h"
#include "base/status_macros.h"
#include "role/option_checks.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kLongestPeriod = absl::Hours(24 * 400);
constexpr absl::Duration kShortestPeriod = absl::Minutes(10);

struct ReportFlags {
  std::string prometheus;
  WebClientOptions client = {.server = "", .timeout = absl::Minutes(2)};  // long queries
  std::string since;
  std::string until;
  std::string by = "namespace";
  std::string format = "table";
  std::string prices;
  std::string currency;
  absl::Duration longest_gap = absl::Hours(1);
};

// Parses "7d" or "2w" besides durations.
absl::StatusOr<absl::Duration> ParsePeriod(const std::string& text) {
  constexpr int kDaysInWeek = 7;
  absl::string_view number = text;
  int days_in_unit = 0;
  if (absl::ConsumeSuffix(&number, "d")) days_in_unit = 1;
  if (absl::ConsumeSuffix(&number, "w")) days_in_unit = kDaysInWeek;
  absl::Duration period;
  int units = 0;
  constexpr int kMostUnits = 1000;
  if (days_in_unit == 0) {
    ASSIGN_OR_RETURN(period, ParseDuration(text));
  } else if (absl::SimpleAtoi(number, &units) && units <= kMostUnits) {
    period = units * days_in_unit * absl::Hours(24);
  }
  if (period >= kShortestPeriod && period <= kLongestPeriod) return period;
  return absl::InvalidArgumentError(
      absl::StrCat("flag --since: \"", text, "\": use a period from 10m to 400d, such as 7d"));
}

absl::StatusOr<absl::Time> ParseUntil(const std::string& text, absl::Time now) {
  if (text.empty()) return now;
  absl::Time until;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &until, &error) && until <= now) return until;
  return absl::InvalidArgumentError(
      absl::StrCat("flag --until: \"", text, "\": use a past time such as 2026-11-29T00:00:00Z"));
}

absl::StatusOr<CostQuery> QueryOf(const ReportFlags& flags) {
  CostQuery query;
  query.by = *GroupByNamed(flags.by);
  query.longest_gap = flags.longest_gap;
  const std::string default_since = flags.prometheus.empty() ? "24h" : "7d";
  ASSIGN_OR_RETURN(const absl::Duration period,
                   ParsePeriod(flags.since.empty() ? default_since : flags.since));
  ASSIGN_OR_RETURN(const absl::Time until, ParseUntil(flags.until, SteadyClock().Now()));
  const absl::Duration step = StepOf(period);
  query.to = absl::UnixEpoch() + absl::Floor(until - absl::UnixEpoch(), step);
  query.from = query.to - absl::Ceil(period, step);
  return query;
}

absl::StatusOr<CostOutput> ReadCosts(const ReportFlags& flags) {
  if (flags.prometheus.empty() == flags.client.server.empty()) {
    return absl::InvalidArgumentError(
        "use either --prometheus URL, or --server URL of a running scaler for the last day");
  }
  ASSIGN_OR_RETURN(const CostQuery query, QueryOf(flags));
  RETURN_IF_ERROR(CheckCurrency(flags.currency));
  if (flags.prometheus.empty()) {
    if (!flags.prices.empty() || !flags.currency.empty() || !flags.until.empty()) {
      return absl::InvalidArgumentError(
          "--prices, --currency and --until are for --prometheus: a running scaler has its own "
          "prices, and the last day alone");
    }
    ASSIGN_OR_RETURN(const auto scaler, OpenWebClient(flags.client));
    return CostFromServer(*scaler, query);
  }
  std::optional<PriceList> prices;
  if (!flags.prices.empty()) {
    ASSIGN_OR_RETURN(prices, ParseInput(flags.prices, &PriceList::Parse));
  }
  WebClientOptions source = flags.client;
  source.server = flags.prometheus;
  ASSIGN_OR_RETURN(const auto prometheus, OpenWebClient(source, "prometheus"));
  ASSIGN_OR_RETURN(CostOutput output,
                   CostFromPrometheus(*prometheus, query, prices ? &*prices : nullptr));
  output.currency = flags.currency;
  return output;
}

int Report(const ReportFlags& flags) {
  const absl::StatusOr<CostOutput> output = ReadCosts(flags);
  if (!output.ok()) return Fail("keda-gpu-scaler report", output.status(), kExitUnavailable);
  if (flags.format == "json") {
    std::cout << CostJson(*output);
  } else {
    std::cout << (flags.format == "csv" ? CostCsv(*output) : CostTable(*output));
  }
  std::cout << std::flush;
  return kExitOk;
}

}  // namespace

Command ReportCommand() {
  const auto flags = std::make_shared<ReportFlags>();
  Command command = {
      .name = "report",
      .help = "Show what GPUs cost: busy, idle, starting, free and unknown hours.",
      .flags = {TextFlag("prometheus", "URL", "Prometheus that scrapes the agents.",
                         &flags->prometheus),
                TextFlag("server", "URL",
                         "Web API of a running aggregator or standalone scaler instead, for the "
                         "last day.",
                         &flags->client.server),
                TextFlag("since", "PERIOD",
                         "Length of the period that ends now, such as 24h or 7d; by default 7d, "
                         "with --server 24h.",
                         &flags->since),
                TextFlag("until", "TIME", "Another end of the period, as 2026-11-29T00:00:00Z.",
                         &flags->until),
                WordFlag("by", "GROUP", "Rows of the report.",
                         {"namespace", "workload", "model", "node"}, &flags->by),
                TextFlag("prices", "FILE",
                         "Prices, with --prometheus: \"GPU model,price per hour\", or OpenCost's "
                         "CSV; -: standard input. Without it, GPU-hours alone.",
                         &flags->prices),
                TextFlag("currency", "CODE", "Currency of --prices, such as USD.",
                         &flags->currency),
                DurationFlag("gap",
                             "How long a node may have no points before it counts as removed "
                             "rather than unknown.",
                             absl::ZeroDuration(), kLongestPeriod, &flags->longest_gap),
                WordFlag("format", "FORMAT", "Format of the report; csv has FOCUS columns.",
                         {"table", "csv", "json"}, &flags->format)},
      .run = [flags](const std::vector<std::string>&) { return Report(*flags); }};
  for (Flag& flag : ConnectionFlags(&flags->client)) command.flags.push_back(std::move(flag));
  return command;
}

}  // namespace gpuscaler
