#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/number_text.h"
#include "scaling/decision.h"

namespace gpuscaler {
namespace {

std::string ShareLine(const ReplicaShare& share, absl::string_view unit) {
  const std::string load =
      share.load ? absl::StrCat(NumberText(*share.load), " ", unit) : std::string("-");
  return absl::StrFormat("  %-24s %-10s %12s%s%s%s\n", share.name, std::string(Name(share.state)),
                         load, share.busy ? "  busy" : "", share.because.empty() ? "" : "  ",
                         share.because);
}

std::string CountsLine(const Decision& decision) {
  std::string line = absl::StrCat("replicas: ", decision.replicas, " (", decision.replicas_from);
  if (decision.unreadable > 0) absl::StrAppend(&line, "; ", decision.unreadable, " unreadable");
  if (decision.warming > 0) absl::StrAppend(&line, "; ", decision.warming, " warming beside them");
  return line + ")\n";
}

}  // namespace

std::string Explain(const Trigger& trigger, const Decision& decision) {
  const MetricTypeInfo& metric = InfoOf(trigger.metric);
  std::string text;
  if (decision.status.ok()) {
    absl::StrAppend(&text, "value: ", NumberText(decision.value), " ", metric.unit, " of ",
                    metric.name, ", target ", NumberText(trigger.target), " (",
                    Name(trigger.target_type), ")\n");
    absl::StrAppend(&text, "active: ", decision.active ? "yes" : "no", ", ",
                    decision.active_because, "\n");
  } else {
    absl::StrAppend(&text, "no value: ", decision.status.ToString(), "\n");
  }
  if (!decision.replicas_from.empty()) text += CountsLine(decision);
  for (const ReplicaShare& share : decision.shares) text += ShareLine(share, metric.unit);
  for (const std::string& note : decision.notes) absl::StrAppend(&text, "note: ", note, "\n");
  return text;
}

}  // namespace gpuscaler
