#include "app/explain_report.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "app/explain_timeline.h"
#include "app/gpu_cells.h"
#include "app/instant.h"
#include "base/nearest.h"
#include "base/number_text.h"
#include "base/printable_text.h"

namespace gpuscaler {
namespace {

constexpr size_t kMostNames = 5;

// Returns the line above an explanation of the past.
std::string TimeLine(const ExplainReport& report, const ExplainStyle& style) {
  const std::optional<absl::Time> at = TimeOf(report.explanation, "at");
  return absl::StrCat("explained at ", at ? InstantText(*at, style.zone) : "-", ", the newest ",
                      "explanation on ", TextOf(report.explanation, "instance"), " at or before ",
                      InstantText(*style.at, style.zone));
}

std::vector<absl::string_view> Views(const std::set<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

std::string ExplainText(const ExplainReport& report, const ExplainStyle& style) {
  std::vector<std::string> lines;
  if (style.names_trigger) lines.push_back(absl::StrCat("trigger ", report.trigger));
  if (!report.history.is_null()) {
    for (std::string& line : TimelineLines(report.history, style.ascii, style.zone)) {
      lines.push_back(std::move(line));
    }
  }
  const WebDocument& text = FieldOf(report.explanation, "text");
  if (text.is_string()) {
    if (!report.history.is_null()) lines.emplace_back();
    if (style.at) lines.push_back(TimeLine(report, style));
    for (std::string& line : LinesWithoutBlankEnd(text.get<std::string>())) {
      lines.push_back(std::move(line));
    }
  }
  return EscapedLines(lines);
}

std::string ExplainJson(const std::vector<ExplainReport>& reports) {
  OrderedJson json = OrderedJson::array();
  for (const ExplainReport& report : reports) {
    OrderedJson documents = {{"trigger", report.trigger}, {"explanation", report.explanation}};
    if (!report.history.is_null()) documents["history"] = report.history;
    if (!report.fault.ok()) documents["error"] = std::string(report.fault.message());
    json.push_back(std::move(documents));
  }
  return JsonText(json, false);
}

absl::Status UnknownWorkload(const std::string& name, const std::string& trigger,
                             const WebDocument& workloads, const absl::Status& fault) {
  std::set<std::string> names;
  std::set<std::string> triggers;  // that the workload has
  const WebDocument& rows = FieldOf(workloads, "workloads");
  for (size_t i = 0; rows.is_array() && i < rows.size(); ++i) {
    const std::string row =
        absl::StrCat(TextOf(rows[i], "namespace"), "/", TextOf(rows[i], "name"));
    if (row == name) triggers.insert(TextOf(rows[i], "trigger"));
    names.insert(row);
  }
  if (names.empty()) {
    return absl::NotFoundError(absl::StrCat(
        name,
        ": no ScaledObject requests values from this scaler; if it is an aggregator, "
        "KEDA may request them from the other one: kubectl port-forward pod/NAME 8082"));
  }
  if (!triggers.empty() && (trigger.empty() || triggers.contains(trigger))) return fault;
  const bool is_trigger = !triggers.empty();
  const std::set<std::string>& known = is_trigger ? triggers : names;
  const std::string& unknown = is_trigger ? trigger : name;
  const std::vector<absl::string_view> views = Views(known);
  return absl::NotFoundError(absl::StrCat(
      is_trigger ? absl::StrCat(name, " has no trigger ", unknown)
                 : absl::StrCat(name, ": this ScaledObject requests no values from this scaler"),
      DidYouMean(unknown, views), is_trigger ? "; it has " : "; those that do are ",
      ListText(NearestFew(unknown, views, known.size()), kMostNames)));
}

}  // namespace gpuscaler
