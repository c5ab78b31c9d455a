// `explain`: why a workload has its value, now or at an instant of the last day.
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "app/commands.h"
#include "app/explain_report.h"
#include "app/instant.h"
#include "app/value_flags.h"
#include "app/web_client.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kLongestHistory = absl::Hours(24);

struct ExplainFlags {
  WebClientOptions client;
  std::string trigger;
  std::string at;
  absl::Duration since;
  std::string format = "text";
  bool ascii = false;
};

// The ScaledObject of the argument NAMESPACE/NAME.
struct ExplainedName {
  std::string text;
  std::string path;  // "/api/v1/workloads/NAMESPACE/NAME"
};

absl::StatusOr<ExplainedName> NameOfArguments(const std::vector<std::string>& arguments) {
  const std::string text = arguments.size() == 1 ? arguments.front() : "";
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(text.empty() ? "" : absl::StrCat("\"", text, "\": "),
                     "use NAMESPACE/NAME of one ScaledObject, such as default/llm"));
  }
  return ExplainedName{
      .text = text,
      .path = absl::StrCat("/api/v1/workloads/", UrlEscaped(parts[0]), "/", UrlEscaped(parts[1]))};
}

// The period on the scaler's clock.
struct Period {
  std::optional<absl::Time> at;  // empty: now
  absl::Time from;               // with --since
  absl::Time to;
};

// Returns FAILED_PRECONDITION if the past is needed and not recorded.
absl::StatusOr<Period> PeriodOf(HttpClient& client, const ExplainFlags& flags) {
  Period period;
  if (flags.at.empty() && flags.since == absl::ZeroDuration()) return period;
  ASSIGN_OR_RETURN(const WebDocument status, WebDocumentOf(client.Get("/api/v1/status")));
  const std::optional<absl::Time> now = TimeOf(status, "now");
  if (!now) return absl::FailedPreconditionError("the scaler's status has no time");
  if (!BoolOf(FieldOf(status, "history"), "enabled")) {
    return absl::FailedPreconditionError(
        "this scaler records no history (--history 0), so it explains only the present; leave out "
        "--at and --since");
  }
  if (!flags.at.empty()) {
    const auto at = ParseInstant(flags.at, *now, absl::LocalTimeZone());
    if (!at.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("flag --at: ", at.status().message()));
    }
    period.at = *at;
  }
  period.to = period.at.value_or(*now);
  period.from = period.to - flags.since;
  return period;
}

std::string UnixSeconds(absl::Time time) {
  return absl::StrCat(absl::ToInt64Milliseconds(time - absl::UnixEpoch()) / 1000);
}

// Returns the triggers of the ScaledObject that have requested a value lately. One that no longer
// does may still have a history: it is then the only trigger, without a name.
absl::StatusOr<std::vector<std::string>> TriggersOf(HttpClient& client, const ExplainFlags& flags,
                                                    const ExplainedName& name, bool of_past) {
  if (!flags.trigger.empty()) return std::vector<std::string>{flags.trigger};
  const auto row = WebDocumentOf(client.Get(name.path));
  if (absl::IsNotFound(row.status()) && of_past) return std::vector<std::string>{""};
  RETURN_IF_ERROR(row.status());
  std::vector<std::string> triggers;
  const WebDocument& rows = FieldOf(*row, "triggers");
  for (size_t i = 0; rows.is_array() && i < rows.size(); ++i) {
    triggers.push_back(TextOf(rows[i], "trigger"));
  }
  if (triggers.empty()) return absl::NotFoundError(name.text);
  return triggers;
}

absl::StatusOr<ExplainReport> ReportOf(HttpClient& client, const ExplainFlags& flags,
                                       const ExplainedName& name, const std::string& trigger,
                                       const Period& period) {
  ExplainReport report;
  report.trigger = trigger;
  const std::string which =
      trigger.empty() ? "?" : absl::StrCat("?trigger=", UrlEscaped(trigger), "&");
  if (flags.since > absl::ZeroDuration()) {
    ASSIGN_OR_RETURN(report.history,
                     WebDocumentOf(client.Get(absl::StrCat(name.path, "/history", which,
                                                           "from=", UnixSeconds(period.from),
                                                           "&to=", UnixSeconds(period.to)))));
  }
  auto explanation = WebDocumentOf(
      client.Get(absl::StrCat(name.path, "/explanation", which,
                              period.at ? absl::StrCat("at=", UnixSeconds(*period.at)) : "")));
  report.fault = explanation.status();
  if (explanation.ok()) report.explanation = *std::move(explanation);
  // Without an explanation the timeline is still of use.
  const bool is_gone = absl::IsOutOfRange(report.fault) && !report.history.is_null();
  if (!report.fault.ok() && !is_gone) return report.fault;
  return report;
}

absl::StatusOr<std::vector<ExplainReport>> ReportsOf(HttpClient& client, const ExplainFlags& flags,
                                                     const ExplainedName& name,
                                                     const Period& period) {
  ASSIGN_OR_RETURN(const std::vector<std::string> triggers,
                   TriggersOf(client, flags, name, period.to != absl::Time()));
  std::vector<ExplainReport> reports;
  for (const std::string& trigger : triggers) {
    ASSIGN_OR_RETURN(ExplainReport report, ReportOf(client, flags, name, trigger, period));
    reports.push_back(std::move(report));
  }
  return reports;
}

// Returns an error with the names of the workloads that are known instead of NOT_FOUND.
absl::Status WithNames(HttpClient& client, const ExplainFlags& flags, const ExplainedName& name,
                       const absl::Status& fault) {
  if (!absl::IsNotFound(fault)) return fault;
  ASSIGN_OR_RETURN(const WebDocument workloads, WebDocumentOf(client.Get("/api/v1/workloads")));
  return UnknownWorkload(name.text, flags.trigger, workloads, fault);
}

int FailExplain(const absl::Status& why) {
  const bool is_reply =
      absl::IsNotFound(why) || absl::IsOutOfRange(why) || absl::IsFailedPrecondition(why);
  return Fail("keda-gpu-scaler explain", why, is_reply ? kExitFindings : kExitUnavailable);
}

int PrintReports(const std::vector<ExplainReport>& reports, const ExplainFlags& flags,
                 const Period& period) {
  const ExplainStyle style = {.names_trigger = reports.size() > 1,
                              .at = period.at,
                              .ascii = flags.ascii,
                              .zone = absl::LocalTimeZone()};
  if (flags.format == "json") std::cout << ExplainJson(reports) << std::flush;
  int code = kExitOk;
  for (const ExplainReport& report : reports) {
    if (flags.format == "text") {
      std::cout << (&report == &reports.front() ? "" : "\n") << ExplainText(report, style)
                << std::flush;
    }
    if (!report.fault.ok()) {
      code = FailExplain(report.fault);
    } else if (NumberOf(report.explanation, "code").value_or(0) != 0) {
      code = kExitFindings;
    }
  }
  return code;
}

int RunExplain(const ExplainFlags& flags, const std::vector<std::string>& arguments) {
  const auto name = NameOfArguments(arguments);
  if (!name.ok()) return FailExplain(name.status());
  const auto client = OpenWebClient(flags.client);
  if (!client.ok()) return FailExplain(client.status());
  const auto period = PeriodOf(**client, flags);
  if (!period.ok()) return FailExplain(period.status());
  const auto reports = ReportsOf(**client, flags, *name, *period);
  if (!reports.ok()) return FailExplain(WithNames(**client, flags, *name, reports.status()));
  return PrintReports(*reports, flags, *period);
}

}  // namespace

Command ExplainCommand() {
  const auto flags = std::make_shared<ExplainFlags>();
  Command command = {
      .name = "explain",
      .help = "Show why a workload has its value, now or at an instant of the last day.",
      .arguments = "NAMESPACE/NAME",
      .flags = {TextFlag("at", "TIME",
                         "The instant: 15:04, 10m for ten minutes ago, or 2026-01-31T15:04:05Z.",
                         &flags->at),
                DurationFlag("since",
                             "Show the time before as well, in one line a series; 0: leave out.",
                             absl::ZeroDuration(), kLongestHistory, &flags->since),
                TextFlag("trigger", "NAME", "Only this trigger, as KEDA names its metric.",
                         &flags->trigger),
                SwitchFlag("ascii", "Draw with ASCII characters only.", &flags->ascii),
                WordFlag("format", "FORMAT", "Format; json has the web API's documents.",
                         {"text", "json"}, &flags->format)},
      .run = [flags](const std::vector<std::string>& arguments) {
        return RunExplain(*flags, arguments);
      }};
  for (Flag& flag : WebClientFlags(&flags->client)) command.flags.push_back(std::move(flag));
  return command;
}

}  // namespace gpuscaler
