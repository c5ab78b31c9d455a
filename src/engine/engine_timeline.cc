#include "engine/engine_timeline.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable_text.h"
#include "engine/engine_answers.h"
#include "engine/reported_metrics.h"
#include "model/served_models.h"

namespace gpuscaler {
namespace {

// Limits for the model names in an explanation.
constexpr size_t kMaxNamedModels = 5;
constexpr size_t kMaxNameLength = 60;

std::string OtherModels(const std::vector<std::string>& names, size_t unnamed) {
  if (names.empty()) return "it has no model loaded";
  return absl::StrCat("it has ", absl::StrJoin(names, ", "), unnamed > 0 ? ", ..." : "");
}

}  // namespace

bool EngineTimeline::AddReading(absl::Time at, absl::string_view engine,
                                const EngineReading& reading) {
  if (!IsNew(at)) return false;
  engine_ = std::string(engine);
  answers_since_ = std::min(answers_since_, at);
  failure_ = absl::OkStatus();
  const Engine* const family = EngineNamed(engine);
  Name(reading);
  // Engines export no model name before they have loaded a model, and some never do.
  std::string served = ModelsOf(reading);
  if (AreOtherModels(served, served_)) models_[""].timeline.BeginAnotherModel();
  if (!served.empty()) served_ = std::move(served);
  for (auto& [name, model] : models_) {
    std::optional<ModelReading> own = ReadingOf(reading, name);
    model.absent = !own.has_value();
    model.lacks_backend =
        own.has_value() && family != nullptr && !HasBackend(*family, reading, name);
    if (own.has_value()) model.timeline.AddReading(at, *std::move(own));
  }
  return true;
}

void EngineTimeline::Name(const EngineReading& reading) {
  names_.clear();
  const size_t named = std::min(reading.models.size(), kMaxNamedModels);
  for (size_t i = 0; i < named; ++i)
    names_.push_back(PrintableText(reading.models[i].model, kMaxNameLength));
  unnamed_ = reading.models.size() - named;
}

bool EngineTimeline::Fail(absl::Time at, const absl::Status& why) {
  if (!IsNew(at)) return false;
  failure_ = why;
  return true;
}

bool EngineTimeline::IsNew(absl::Time at) {
  if (at <= newest_at_) return false;
  newest_at_ = at;
  return true;
}

void EngineTimeline::KeepOnly(const std::set<std::string>& models) {
  std::erase_if(models_, [&](const auto& model) {
    return !model.first.empty() && !models.contains(model.first);
  });
  for (const std::string& model : models) models_.try_emplace(model);
}

void EngineTimeline::Forget(absl::Time before) {
  for (auto& [name, model] : models_) model.timeline.Forget(before);
}

void EngineTimeline::ForgetHistograms() {
  for (auto& [name, model] : models_) model.timeline.ForgetHistograms();
}

size_t EngineTimeline::Bytes() const {
  size_t bytes = sizeof(*this) + failure_.message().size();
  for (const auto& [name, model] : models_) bytes += 2 * name.size() + model.timeline.Bytes();
  for (const std::string& name : names_) bytes += sizeof(std::string) + name.size();
  bytes += served_.size();
  return bytes;
}

const EngineTimeline::StoredModel* EngineTimeline::Find(const std::string& model) const {
  const auto found = models_.find(model);
  return found == models_.end() ? nullptr : &found->second;
}

SignalSeries EngineTimeline::Answer(const EngineQuery& query, absl::Time now,
                                    absl::Duration max_gap) const {
  SignalSeries series{.engine = engine_};
  series.models = served_;
  series.first_read_at = answers_since_;
  series.was_attempted = newest_at_ != absl::InfinitePast();
  if (NeverReports(query)) series.reported_by = EnginesThatReport(query.metric);
  const StoredModel* const model = Find(query.model);
  if (model != nullptr) {
    const ModelTimeline& timeline = model->timeline;
    series.points = timeline.Points(query, now, max_gap);
    series.unchanged_since = timeline.UnchangedSince();
    const bool is_pressure = query.metric == EngineMetric::kPressurePercent;
    const bool is_about_demand = query.demand_window > absl::ZeroDuration();
    if (is_pressure) series.pressure_basis = timeline.PressureBasis(query);
    if (is_pressure || is_about_demand) {
      series.batch = std::make_shared<const EngineBatch>(timeline.Batch(query, now));
    }
    std::optional<EngineDemand> demand = is_about_demand ? timeline.Demand(query) : std::nullopt;
    if (demand.has_value()) {
      series.demand = std::make_shared<const EngineDemand>(*std::move(demand));
    }
  }
  series.error = ErrorOf(query, series);
  return series;
}

bool EngineTimeline::NeverReports(const EngineQuery& query) const {
  const Engine* const family = EngineNamed(engine_);
  if (family == nullptr) return false;
  if (!CanReport(*family, query.metric)) return true;
  const StoredModel* const model = Find(query.model);
  return model != nullptr && model->lacks_backend && !BackendFor(*family, query.metric).empty();
}

std::string EngineTimeline::ErrorOf(const EngineQuery& query, const SignalSeries& series) const {
  if (!failure_.ok()) return std::string(failure_.message());
  if (engine_.empty()) return "not read yet";
  const StoredModel* const model = Find(query.model);
  if (model != nullptr && model->absent) {
    return absl::StrCat("no model \"", query.model, "\": ", OtherModels(names_, unnamed_));
  }
  if (!series.reported_by.empty()) {
    const absl::string_view backend = BackendFor(*EngineNamed(engine_), query.metric);
    return backend.empty() ? absl::StrCat(engine_, " never reports ", InputsOf(query.metric))
                           : absl::StrCat(engine_, " does not export ", InputsOf(query.metric),
                                          " without ", backend);
  }
  if (series.points.empty()) return "not read yet";
  if (series.points.back().value.has_value()) return "";
  if (IsOverWindow(query.metric)) {
    return absl::StrCat(engine_, " has not reported yet ", InputsOf(query.metric));
  }
  return absl::StrCat(engine_, " does not report ", InputsOf(query.metric));
}

}  // namespace gpuscaler
