#include "simulate/load_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

struct LatencyRow {
  const char* name;
  double share;
};
constexpr LatencyRow kLatencyRows[] = {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}};

double PerSecond(int64_t count, absl::Duration time) {
  const double seconds = absl::ToDoubleSeconds(time);
  return seconds > 0 ? RoundToThreeDecimals(static_cast<double>(count) / seconds) : 0;
}

// Three digits match the error of the percentiles.
std::string LatencyText(absl::Duration latency) {
  const double milliseconds = absl::ToDoubleMilliseconds(latency);
  if (milliseconds < 1000) return absl::StrFormat("%.3g ms", milliseconds);
  return absl::StrFormat("%.2f s", milliseconds / 1000);
}

std::string PercentilesText(const LatencyCounts& latency) {
  if (latency.count() == 0) return "none";
  std::string text;
  for (const LatencyRow& row : kLatencyRows) {
    absl::StrAppend(&text, row.name, " ", LatencyText(latency.Percentile(row.share)), "  ");
  }
  return absl::StrCat(text, "max ", LatencyText(latency.max()));
}

std::string ErrorsText(const LoadTally& tally) {
  const int64_t errors = ErrorsOf(tally);
  if (errors == 0) return "none";
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : tally.errors) kinds.push_back(absl::StrCat(count, " ", kind));
  if (tally.not_sent > 0) kinds.push_back(absl::StrCat(tally.not_sent, " not sent in time"));
  return absl::StrCat(errors, ": ", absl::StrJoin(kinds, ", "));
}

}  // namespace

std::string LoadText(const std::string& target, const LoadTally& tally, bool stopped) {
  const auto rate = [&](int64_t count) {
    return absl::StrCat(count, ", ", NumberText(PerSecond(count, tally.sending)), " a second");
  };
  std::string text = absl::StrCat("target    ", target, "\nrequests  ", rate(tally.due), ", for ",
                                  NumberText(absl::ToDoubleSeconds(tally.sending)),
                                  " s\nsent      ", rate(tally.sent));
  if (tally.late > 0) {
    absl::StrAppend(&text, "; ", tally.late, " more than ", absl::ToInt64Milliseconds(kLate),
                    " ms after their time");
  }
  absl::StrAppend(&text, "\nanswered  ", rate(tally.answered), "\nerrors    ", ErrorsText(tally),
                  "\nlatency   ", PercentilesText(tally.latency),
                  tally.latency.count() > 0 ? ", from the intended time\n" : "\n");
  if (stopped) {
    absl::StrAppend(&text, "stopped   before its end; ", tally.cut_off,
                    " sent and not answered yet\n");
  }
  return text;
}

std::string LoadJson(const std::string& target, const LoadTally& tally, bool stopped) {
  nlohmann::ordered_json errors = nlohmann::ordered_json::object();
  for (const auto& [kind, count] : tally.errors) errors[kind] = count;
  nlohmann::ordered_json latency = nlohmann::ordered_json::object();
  for (const LatencyRow& row : kLatencyRows) {
    latency[row.name] = absl::ToDoubleSeconds(tally.latency.Percentile(row.share));
  }
  latency["max"] = absl::ToDoubleSeconds(tally.latency.max());
  latency["mean"] = absl::ToDoubleSeconds(tally.latency.mean());
  const nlohmann::ordered_json report = {
      {"target", target},
      {"seconds", absl::ToDoubleSeconds(tally.sending)},
      {"requests", tally.due},
      {"requests_per_second", PerSecond(tally.due, tally.sending)},
      {"sent", tally.sent},
      {"sent_per_second", PerSecond(tally.sent, tally.sending)},
      {"late", tally.late},
      {"not_sent", tally.not_sent},
      {"answered", tally.answered},
      {"answered_per_second", PerSecond(tally.answered, tally.sending)},
      {"errors", errors},
      {"stopped", stopped},
      {"cut_off", tally.cut_off},
      {"latency_seconds", tally.latency.count() > 0 ? latency : nlohmann::ordered_json()},
      {"latency_error_ratio", kLatencyErrorRatio}};
  return report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string LoadLine(absl::Duration passed, double target_rate, const LoadTally& tally,
                     const LatencyCounts& recent, absl::Duration since_last) {
  const double answered = PerSecond(recent.count(), since_last);
  std::string line =
      absl::StrFormat("%5.0fs  requests %.4g/s  answered %.4g/s  in flight %d",
                      absl::ToDoubleSeconds(passed), target_rate, answered, tally.in_flight);
  if (tally.waiting > 0) absl::StrAppend(&line, "  waiting ", tally.waiting);
  if (ErrorsOf(tally) > 0) absl::StrAppend(&line, "  errors ", ErrorsOf(tally));
  return absl::StrCat(line, "  ", PercentilesText(recent));
}

}  // namespace gpuscaler
