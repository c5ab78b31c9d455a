#include "web/web_api.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/duration_text.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "cost/cost_json.h"
#include "web/fleet_json.h"
#include "web/history_point.h"
#include "web/marks.h"
#include "web/web_json.h"
#include "web/web_query.h"
#include "web/what_if.h"

namespace gpuscaler {
namespace {

using gpuscaler::v1::ReplicaShare;

constexpr absl::string_view kRoot = "/api/v1/";
constexpr int kMostPoints = 2'000;
constexpr int kMostReplicas = 100'000;
constexpr double kLongestWindowSeconds = 3600;  // as Kubernetes allows

absl::Status NoSuchPath(absl::string_view path) {
  return absl::NotFoundError(absl::StrCat("there is no ", PrintableText(path)));
}

WebReply ReplyOf(absl::StatusOr<std::string> json) {
  return json.ok() ? JsonReply(*std::move(json)) : ErrorReply(json.status());
}

WebJson KeyFields(const TriggerKey& key, const std::string& instance) {
  return {{"namespace", key.namespace_name},
          {"name", key.scaled_object},
          {"trigger", key.trigger},
          {"instance", instance}};
}

// Every `stride`-th point of the series, from the first one on.
std::vector<HistoryPoint> Thinned(const std::vector<HistoryPoint>& points, size_t stride) {
  std::vector<HistoryPoint> thinned;
  for (size_t i = 0; i < points.size(); i += stride) thinned.push_back(points[i]);
  return thinned;
}

size_t StrideOf(size_t points) {
  return std::max<size_t>((points + kMostPoints - 1) / kMostPoints, 1);
}

double StepSeconds(size_t stride) {
  return absl::ToDoubleSeconds(kHistoryStep) * static_cast<double>(stride);
}

WebJson TimesJson(const std::vector<HistoryPoint>& points) {
  WebJson times = WebJson::array();
  for (const HistoryPoint& point : points) times.push_back(TimeJson(point.at));
  return times;
}

WebJson SeriesJson(const std::vector<HistoryPoint>& points,
                   std::optional<double> HistoryPoint::*number) {
  WebJson values = WebJson::array();
  for (const HistoryPoint& point : points) values.push_back(DecimalJson(point.*number));
  return values;
}

WebJson MarksJson(const std::vector<HistoryPoint>& points) {
  WebJson marks = WebJson::array();
  for (const HistoryMark& mark : MarksOf(points)) {
    marks.push_back(
        {{"at", TimeJson(mark.at)}, {"kind", std::string(Name(mark.kind))}, {"text", mark.text}});
  }
  return marks;
}

WebJson GapsJson(const std::vector<HistoryPoint>& points, absl::Time started_at) {
  WebJson gaps = WebJson::array();
  for (const HistoryGap& gap : GapsOf(points, started_at)) {
    gaps.push_back(
        {{"from", TimeJson(gap.from)}, {"to", TimeJson(gap.to)}, {"because", gap.because}});
  }
  return gaps;
}

// The text as `query --explain` prints it.
std::string PrintedText(const std::string& text) {
  return EscapedLines(LinesWithoutBlankEnd(text));
}

WebJson ShareJson(const ReplicaShare& share) {
  WebJson gpus = WebJson::array(), nodes = WebJson::array();
  for (const std::string& uuid : share.gpu_uuids()) gpus.push_back(uuid);
  for (const std::string& node : share.nodes()) nodes.push_back(node);
  return {{"name", share.name()},
          {"gpus", std::move(gpus)},
          {"nodes", std::move(nodes)},
          {"state", share.state()},
          {"load", share.has_load() ? DecimalJson(share.load()) : WebJson(nullptr)},
          {"busy", share.busy()},
          {"preallocated", share.standing()},
          {"because", share.because()}};
}

void AddExplanation(const gpuscaler::v1::Explanation& why, WebJson& json) {
  json["text"] = PrintedText(why.text());
  json["code"] = why.code();
  json["message"] = why.message();
  json["value"] = why.code() == 0 ? DecimalJson(why.value()) : WebJson(nullptr);
  json["active"] = why.active();
  json["active_because"] = why.active_because();
  json["target"] = DecimalJson(why.target());
  json["target_type"] = why.target_type();
  json["replicas"] = why.replicas();
  json["unreadable"] = why.unreadable();
  json["starting"] = why.starting();
  json["replicas_from"] = why.replicas_from();
  json["held_because"] = why.held_because();
  json["shares"] = WebJson::array();
  for (const ReplicaShare& share : why.shares()) json["shares"].push_back(ShareJson(share));
  json["notes"] = WebJson::array();
  for (const std::string& note : why.notes()) json["notes"].push_back(note);
}

WebJson CourseJson(const ReplicaCourse& course, size_t stride) {
  WebJson replicas = WebJson::array();
  for (size_t i = 0; i < course.replicas.size(); i += stride) {
    const std::optional<int>& count = course.replicas[i];
    replicas.push_back(count.has_value() ? WebJson(*count) : WebJson(nullptr));
  }
  return {{"replicas", std::move(replicas)},
          {"gpu_hours", DecimalJson(course.gpu_hours)},
          {"seconds_above_target", DecimalJson(course.seconds_above_target)}};
}

absl::StatusOr<WhatIfOptions> WhatIfOptionsOf(const WebRequest& request) {
  WhatIfOptions options;
  ASSIGN_OR_RETURN(options.target, NumberParameter(request, "target", 0.001, 1e12));
  ASSIGN_OR_RETURN(const std::optional<int> min, CountParameter(request, "min", 0, kMostReplicas));
  ASSIGN_OR_RETURN(options.max_replicas, CountParameter(request, "max", 1, kMostReplicas));
  ASSIGN_OR_RETURN(const std::optional<double> window,
                   NumberParameter(request, "scale_down_window", 0, kLongestWindowSeconds));
  ASSIGN_OR_RETURN(options.pods_per_minute,
                   CountParameter(request, "pods_per_minute", 1, kMostReplicas));
  options.min_replicas = min.value_or(options.min_replicas);
  if (window.has_value()) options.scale_down_window = absl::Seconds(*window);
  if (options.max_replicas.has_value() && *options.max_replicas < options.min_replicas) {
    return absl::InvalidArgumentError("use a `max` of at least `min`");
  }
  return options;
}

WebJson CostRowJson(const CostRow& row, GroupBy by) {
  WebJson json = {{"key", row.key}};
  if (by == GroupBy::kNamespace || by == GroupBy::kWorkload) {
    json["namespace"] = row.labels.namespace_name;
  }
  if (by == GroupBy::kWorkload) json["workload"] = row.labels.workload;
  if (by == GroupBy::kModel) json["model"] = row.labels.gpu_model;
  if (by == GroupBy::kNode) json["node"] = row.labels.node;
  AddCosts(row, json);
  return json;
}

}  // namespace

WebApi::WebApi(WebInstance instance, const Clock& clock, const FleetReader& fleets,
               const StalenessLimits& staleness, WebSources sources)
    : instance_(std::move(instance)),
      clock_(clock),
      fleets_(fleets),
      staleness_(staleness),
      sources_(std::move(sources)),
      status_([this] { return JsonReply(Status()); }),
      fleet_([this] {
        const auto fleet = fleets_.AllNodes();
        if (!fleet.ok()) return ErrorReply(fleet.status());
        return JsonReply(FleetJson(**fleet, staleness_, clock_.Now(), instance_.name));
      }),
      workloads_([this] { return JsonReply(Workloads()); }) {}

WebReply WebApi::Reply(const WebRequest& request) {
  absl::string_view path = request.path;
  if (!absl::ConsumePrefix(&path, kRoot)) return ErrorReply(NoSuchPath(path));
  const Parts parts = absl::StrSplit(path, '/');
  if (parts.size() == 1 && parts[0] == "status") return status_.Get();
  if (parts.size() == 1 && parts[0] == "fleet") return fleet_.Get();
  if (parts.size() == 1 && parts[0] == "workloads") return workloads_.Get();
  return ReplyOf(Answer(parts, request));
}

WebApi::JsonOr WebApi::Answer(const Parts& parts, const WebRequest& request) {
  if (parts.size() == 1 && parts[0] == "cost") return Cost(request);
  if (parts.size() == 2 && parts[0] == "fleet") return Node(parts[1]);
  const bool is_workload = parts.size() >= 3 && parts.size() <= 4 && parts[0] == "workloads";
  if (is_workload) return Workload(parts, request);
  return NoSuchPath(request.path);
}

WebApi::JsonOr WebApi::Workload(const Parts& parts, const WebRequest& request) {
  if (parts.size() == 3) return TriggersOf(parts[1], parts[2]);
  JsonOr (WebApi::*const answer)(const TriggerKey&, const WebRequest&) const =
      parts[3] == "history"       ? &WebApi::History
      : parts[3] == "explanation" ? &WebApi::Explanation
      : parts[3] == "what-if"     ? &WebApi::WhatIfOf
                                  : nullptr;
  if (answer == nullptr) return NoSuchPath(request.path);
  ASSIGN_OR_RETURN(const TriggerKey key, FindTrigger(parts[1], parts[2], request));
  return (this->*answer)(key, request);
}

std::string WebApi::Status() const {
  const TriggerHistory* const history = sources_.history;
  const auto fleet = fleets_.AllNodes();
  const absl::Time now = clock_.Now();
  WebJson fleet_json = {{"nodes", nullptr}, {"gpus", nullptr}};
  fleet_json["partial"] =
      fleet.ok() ? WhyPartial(**fleet, staleness_, now) : std::string(fleet.status().message());
  if (fleet.ok()) {
    fleet_json["nodes"] = (*fleet)->nodes.size();
    fleet_json["gpus"] = CountShownGpus(**fleet);
  }
  const absl::Duration keep = history == nullptr ? absl::ZeroDuration() : history->keep();
  return WebJsonText(
      {{"instance", instance_.name},
       {"version", instance_.version},
       {"commit", instance_.commit},
       {"role", instance_.role},
       {"started_at", TimeJson(instance_.started_at)},
       {"now", TimeJson(now)},
       {"history",
        {{"enabled", history != nullptr},
         {"step_seconds", DecimalJson(absl::ToDoubleSeconds(kHistoryStep))},
         {"keep_seconds", DecimalJson(absl::ToDoubleSeconds(keep))},
         {"since", history == nullptr ? WebJson(nullptr) : TimeJson(history->started_at())}}},
       {"fleet", std::move(fleet_json)},
       {"cost", sources_.cost.report != nullptr}});
}

WebApi::Rows WebApi::CurrentRows() {
  MutexLock lock(rows_mutex_);
  if (real_.Now() - rows_at_ >= absl::Seconds(1)) {
    rows_ = std::make_shared<const std::vector<WorkloadRow>>(ReadRows(sources_.workloads));
    rows_at_ = real_.Now();
  }
  return rows_;
}

std::string WebApi::Spark(const TriggerKey& key, absl::Time now) {
  if (sources_.history == nullptr) return "";
  MutexLock lock(sparks_mutex_);
  if (now - sparks_at_ >= kHistoryStep || now < sparks_at_) {
    sparks_.clear();
    sparks_at_ = now;
  }
  std::string& spark = sparks_[key];
  if (spark.empty()) spark = SparkJson(*sources_.history, key, now);
  return spark;
}

std::string WebApi::Workloads() {
  const Rows rows = CurrentRows();
  const absl::Time now = clock_.Now();
  std::vector<std::string> texts;
  texts.reserve(rows->size());
  for (const WorkloadRow& row : *rows) texts.push_back(row.Json(Spark(row.key, now)));
  std::string instance;
  AppendJsonString(instance_.name, instance);
  return absl::StrCat("{\"now\":", TimeJson(now).dump(), ",\"instance\":", instance,
                      ",\"workloads\":[", absl::StrJoin(texts, ","), "]}");
}

WebApi::JsonOr WebApi::TriggersOf(const std::string& namespace_name, const std::string& name) {
  const Rows rows = CurrentRows();
  const absl::Time now = clock_.Now();
  std::vector<std::string> texts;
  for (const WorkloadRow& row : *rows) {
    if (row.key.namespace_name != namespace_name || row.key.scaled_object != name) continue;
    texts.push_back(row.Json(Spark(row.key, now)));
  }
  if (texts.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no trigger of ", namespace_name, "/", name, " is requested at present"));
  }
  std::string instance;
  AppendJsonString(instance_.name, instance);
  return absl::StrCat("{\"now\":", TimeJson(now).dump(), ",\"instance\":", instance,
                      ",\"triggers\":[", absl::StrJoin(texts, ","), "]}");
}

absl::StatusOr<TriggerKey> WebApi::FindTrigger(const std::string& namespace_name,
                                               const std::string& name,
                                               const WebRequest& request) const {
  const auto named = request.query.find("trigger");
  if (named != request.query.end()) {
    return TriggerKey{
        .namespace_name = namespace_name, .scaled_object = name, .trigger = named->second};
  }
  std::set<std::string> triggers;
  for (const LiveTrigger& live : sources_.workloads.live_triggers_of(namespace_name, name)) {
    triggers.insert(live.name);
  }
  if (sources_.history != nullptr) {
    for (const TriggerKey& key : sources_.history->Triggers()) {
      if (key.namespace_name == namespace_name && key.scaled_object == name) {
        triggers.insert(key.trigger);
      }
    }
  }
  if (triggers.size() == 1) {
    return TriggerKey{
        .namespace_name = namespace_name, .scaled_object = name, .trigger = *triggers.begin()};
  }
  if (triggers.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no trigger of ", namespace_name, "/", name, " is requested or recorded"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(namespace_name, "/", name,
                   " has several triggers: use trigger=", absl::StrJoin(triggers, " or trigger=")));
}

absl::StatusOr<TriggerSeries> WebApi::SeriesOf(const TriggerKey& key,
                                               const WebRequest& request) const {
  if (sources_.history == nullptr) {
    return absl::NotFoundError("the history is turned off (--history 0)");
  }
  const absl::Time now = clock_.Now();
  ASSIGN_OR_RETURN(TimeRange range, TimeRangeOf(request, now));
  const absl::Duration keep = sources_.history->keep();
  if (range.to < now - keep) {
    return absl::OutOfRangeError(
        absl::StrCat("nothing is kept for longer than ", DurationText(keep), " (--history)"));
  }
  range.from = std::max(range.from, now - keep);
  ASSIGN_OR_RETURN(TriggerSeries series, sources_.history->Read(key, range.from, range.to));
  std::vector<HistoryPoint>& points = series.points;
  const bool ends_now = !points.empty() && points.back().at + kHistoryStep > now;
  if (ends_now && !points.back().code.has_value()) points.pop_back();
  return series;
}

std::optional<LiveTrigger> WebApi::FindLive(const TriggerKey& key) const {
  for (LiveTrigger& live :
       sources_.workloads.live_triggers_of(key.namespace_name, key.scaled_object)) {
    if (live.name == key.trigger) return std::move(live);
  }
  return std::nullopt;
}

TargetType WebApi::TargetTypeOf(const TriggerKey& key) const {
  const std::optional<LiveTrigger> live = FindLive(key);
  if (live.has_value() && live->parsed->trigger.ok()) return live->parsed->trigger->target_type;
  const auto past = sources_.history->ExplanationAt(key, clock_.Now());
  const bool is_value = past.ok() && past->explanation.target_type() == Name(TargetType::kValue);
  return is_value ? TargetType::kValue : TargetType::kAverageValue;
}

WebApi::JsonOr WebApi::History(const TriggerKey& key, const WebRequest& request) const {
  ASSIGN_OR_RETURN(const TriggerSeries series, SeriesOf(key, request));
  const std::vector<HistoryPoint>& all = series.points;
  const size_t stride = StrideOf(all.size());
  const std::vector<HistoryPoint> points = Thinned(all, stride);
  WebJson json = KeyFields(key, instance_.name);
  const absl::Time from = all.empty() ? clock_.Now() : all.front().at;
  const absl::Time to = all.empty() ? from : all.back().at;
  json["from"] = TimeJson(from);
  json["to"] = TimeJson(to);
  json["step_seconds"] = DecimalJson(StepSeconds(stride));
  json["since"] = TimeJson(series.since);
  json["target_type"] = std::string(Name(TargetTypeOf(key)));
  json["points"] = TimesJson(points);
  const std::pair<const char*, std::optional<double> HistoryPoint::*> columns[] = {
      {"value", &HistoryPoint::value},           {"target", &HistoryPoint::target},
      {"replicas", &HistoryPoint::replicas},     {"starting", &HistoryPoint::starting},
      {"unreadable", &HistoryPoint::unreadable}, {"terminating", &HistoryPoint::terminating},
      {"active", &HistoryPoint::active},         {"limit", &HistoryPoint::limit},
      {"capacity", &HistoryPoint::capacity},     {"demand", &HistoryPoint::demand}};
  for (const auto& [name, number] : columns) json[name] = SeriesJson(points, number);
  json["gaps"] = GapsJson(all, sources_.history->started_at());
  json["marks"] = MarksJson(all);
  json["explanations"] = WebJson::array();
  for (const absl::Time at : sources_.history->ExplanationTimes(key, from, to)) {
    json["explanations"].push_back(TimeJson(at));
  }
  return WebJsonText(json);
}

WebApi::JsonOr WebApi::Explanation(const TriggerKey& key, const WebRequest& request) const {
  ASSIGN_OR_RETURN(const std::optional<absl::Time> at, TimeParameter(request, "at"));
  WebJson json = KeyFields(key, instance_.name);
  if (at.has_value()) {
    if (sources_.history == nullptr) {
      return absl::NotFoundError("the history is turned off (--history 0)");
    }
    ASSIGN_OR_RETURN(const PastExplanation past, sources_.history->ExplanationAt(key, *at));
    json["at"] = TimeJson(past.at);
    AddExplanation(past.explanation, json);
    return WebJsonText(json);
  }
  const std::optional<LiveTrigger> live = FindLive(key);
  if (!live.has_value()) {
    return absl::NotFoundError(absl::StrCat(
        "trigger ", PrintableText(key.trigger), " of ", key.namespace_name, "/", key.scaled_object,
        " is not requested at present; with at=SECONDS its past is explained"));
  }
  const auto decision = sources_.workloads.evaluate(*live);
  json["at"] = TimeJson(clock_.Now());
  AddExplanation(sources_.workloads.explanation_of(*live, decision), json);
  return WebJsonText(json);
}

WebApi::JsonOr WebApi::WhatIfOf(const TriggerKey& key, const WebRequest& request) const {
  ASSIGN_OR_RETURN(WhatIfOptions options, WhatIfOptionsOf(request));
  ASSIGN_OR_RETURN(const TriggerSeries series, SeriesOf(key, request));
  options.target_type = TargetTypeOf(key);
  const std::vector<HistoryPoint>& points = series.points;
  const WhatIf replay = Replay(points, options);
  const size_t stride = StrideOf(points.size());
  return WebJsonText({{"from", points.empty() ? WebJson(nullptr) : TimeJson(points.front().at)},
                      {"to", points.empty() ? WebJson(nullptr) : TimeJson(points.back().at)},
                      {"step_seconds", DecimalJson(StepSeconds(stride))},
                      {"points", TimesJson(Thinned(points, stride))},
                      {"happened", CourseJson(replay.happened, stride)},
                      {"would", CourseJson(replay.would, stride)},
                      {"changes",
                       {{"happened", DecimalJson(replay.happened.direction_changes)},
                        {"would", DecimalJson(replay.would.direction_changes)}}},
                      {"gpus_per_replica", DecimalJson(replay.gpus_per_replica)},
                      {"note", WhatIfNote(options.target_type, replay.has_unknown_replicas)}});
}

WebApi::JsonOr WebApi::Node(const std::string& name) const {
  ASSIGN_OR_RETURN(const auto fleet, fleets_.AllNodes());
  return NodeJson(*fleet, staleness_, clock_.Now(), name);
}

WebApi::JsonOr WebApi::Cost(const WebRequest& request) const {
  if (sources_.cost.report == nullptr) return absl::NotFoundError("no GPU time is counted here");
  constexpr int kMostHours = 24;
  ASSIGN_OR_RETURN(const std::optional<int> hours, CountParameter(request, "hours", 1, kMostHours));
  const auto named = request.query.find("by");
  const std::optional<GroupBy> by =
      named == request.query.end() ? GroupBy::kNamespace : GroupByNamed(named->second);
  if (!by.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("by=\"", PrintableText(named->second),
                                                   "\": use namespace, workload, model or node"));
  }
  const CostReport report = sources_.cost.report(hours.value_or(kMostHours), *by);
  WebJson rows = WebJson::array();
  for (const CostRow& row : report.rows) rows.push_back(CostRowJson(row, *by));
  WebJson total = {{"key", ""}};
  AddCosts(report.total, total);
  std::string note;
  if (!sources_.cost.has_prices) {
    note = "This scaler was started without prices (serve --prices).";
  } else if (!report.unpriced_models.empty()) {
    note = absl::StrCat("Without a price: ", absl::StrJoin(report.unpriced_models, ", "), ".");
  }
  return WebJsonText({{"from", TimeJson(report.from)},
                      {"to", TimeJson(report.to)},
                      {"instance", instance_.name},
                      {"by", std::string(Name(*by))},
                      {"currency", sources_.cost.currency},
                      {"priced", sources_.cost.has_prices},
                      {"rows", std::move(rows)},
                      {"total", std::move(total)},
                      {"note", note}});
}

EventBatch WebApi::NextEvents(int64_t since) {
  const Rows rows = CurrentRows();
  const auto fleet = fleets_.AllNodes();
  MutexLock lock(changes_mutex_);
  std::optional<FleetSize> size;
  if (fleet.ok()) {
    size = {.generation = (*fleet)->generation,
            .nodes = (*fleet)->nodes.size(),
            .gpus = CountShownGpus(**fleet)};
  }
  changes_.Update(clock_.Now(), *rows, size);
  return changes_.Since(since);
}

}  // namespace gpuscaler
