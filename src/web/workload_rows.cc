#include "web/workload_rows.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable_text.h"
#include "serve/outcome.h"
#include "trigger/metric_type.h"
#include "trigger/trigger.h"
#include "web/web_json.h"

namespace gpuscaler {
namespace {

constexpr int kSparkPoints = 60;

// Returns why a value needs attention, as one line, or "". A value that is held is usual.
std::string TroubleOf(const Decision& decision) {
  if (!decision.status.ok()) return std::string(decision.status.message());
  switch (OutcomeOf(decision)) {
    case Outcome::kValue:
    case Outcome::kHeld:
    case Outcome::kSaturationUnknown:
      return "";
    default:
      break;
  }
  const auto unreadable = std::ranges::find(decision.contributions,
                                            Contribution::State::kUnreadable, &Contribution::state);
  if (unreadable != decision.contributions.end()) {
    return absl::StrCat(unreadable->name, " ", unreadable->because);
  }
  return decision.notes.empty() ? std::string(Name(OutcomeOf(decision))) : decision.notes.front();
}

// Returns ceil(value / target). Both have three decimals.
std::optional<int64_t> DesiredOf(double value, double target, TargetType type) {
  if (type != TargetType::kAverageValue || target <= 0 || value < 0) return std::nullopt;
  const double replicas = std::ceil(std::round(value * 1000) / std::round(target * 1000));
  if (!std::isfinite(replicas) || replicas > 1e15) return std::nullopt;
  return static_cast<int64_t>(replicas);
}

WebJson TriggerFields(const LiveTrigger& live) {
  WebJson row = {
      {"namespace", live.namespace_name}, {"name", live.scaled_object}, {"trigger", live.name}};
  const absl::StatusOr<Trigger>& trigger = live.parsed->trigger;
  row["metric"] = trigger.ok() ? std::string(InfoOf(trigger->metric).name) : "";
  row["profile"] = trigger.ok() ? trigger->profile : "";
  return row;
}

}  // namespace

std::string WorkloadRow::Json(const std::string& spark) const {
  return absl::StrCat(fields, ",\"requested_at\":", TimeJson(requested_at).dump(),
                      spark.empty() ? "" : ",\"spark\":", spark, "}");
}

WorkloadRow RowOf(const LiveTrigger& live, const WorkloadSource::DecisionOr& decided) {
  Decision decision;
  decision.status = decided.status();
  if (decided.ok()) decision = (*decided)->decision;
  const bool has_value = decision.status.ok();
  const absl::StatusOr<Trigger>& trigger = live.parsed->trigger;
  const TargetType type = trigger.ok() ? trigger->target_type : TargetType::kAverageValue;
  const std::string trouble = PrintableText(TroubleOf(decision), 300);
  WebJson row = TriggerFields(live);
  row["code"] = static_cast<int>(decision.status.code());
  row["message"] = std::string(decision.status.message());
  row["value"] = has_value ? DecimalJson(decision.value) : WebJson(nullptr);
  row["target"] = DecimalJson(live.parsed->spec.target);
  row["target_type"] = std::string(Name(type));
  const auto count = [&decision](int replicas) {
    return decision.by_queue ? WebJson(nullptr) : WebJson(replicas);
  };
  row["replicas"] = count(decision.replicas);
  row["starting"] = count(decision.starting);
  row["unreadable"] = count(decision.unreadable);
  row["terminating"] = count(decision.terminating);
  row["active"] = decision.active;
  row["active_because"] = decision.active_because;
  const auto desired = has_value ? DesiredOf(decision.value, live.parsed->spec.target, type)
                                 : std::optional<int64_t>();
  row["desired"] = desired.has_value() ? WebJson(*desired) : WebJson(nullptr);
  row["trouble"] = trouble;
  std::string fields = WebJsonText(row);
  fields.pop_back();  // the closing brace
  return {.key = KeyOf(live),
          .has_trouble = !trouble.empty(),
          .fields = std::move(fields),
          .requested_at = live.requested_at};
}

std::vector<WorkloadRow> ReadRows(const WorkloadSource& source) {
  std::vector<WorkloadRow> rows;
  for (const LiveTrigger& live : source.live_triggers()) {
    rows.push_back(RowOf(live, source.evaluate(live)));
  }
  std::ranges::sort(rows, [](const WorkloadRow& a, const WorkloadRow& b) {
    return std::make_tuple(!a.has_trouble, std::cref(a.key)) <
           std::make_tuple(!b.has_trouble, std::cref(b.key));
  });
  return rows;
}

std::string SparkJson(const TriggerHistory& history, const TriggerKey& key, absl::Time now) {
  const auto series = history.Read(key, now - kSparkPoints * kHistoryStep, now);
  std::vector<std::string> values;
  if (series.ok()) {
    for (const HistoryPoint& point : series->points) {
      // The newest step may not be recorded yet.
      const bool is_due = &point == &series->points.back() && !point.code.has_value();
      if (!is_due) values.push_back(DecimalJson(point.value).dump());
    }
  }
  while (values.size() > kSparkPoints) values.erase(values.begin());
  values.insert(values.begin(), kSparkPoints - values.size(), "null");
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

}  // namespace gpuscaler
