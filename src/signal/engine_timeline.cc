#include "signal/engine_timeline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "signal/engine_answers.h"

namespace gpuscaler {
namespace {

constexpr size_t kMostNamed = 5;  // of a page's models, in an explanation

std::string OtherModels(const std::vector<std::string>& names) {
  if (names.empty()) return "it has no model loaded";
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNamed));
  return absl::StrCat("it has ", absl::StrJoin(names.begin(), end, ", "),
                      names.size() > kMostNamed ? ", ..." : "");
}

}  // namespace

bool EngineTimeline::Take(absl::Time at, absl::string_view engine, const EngineReading& reading) {
  if (!IsNews(at)) return false;
  engine_ = std::string(engine);
  answers_since_ = std::min(answers_since_, at);
  failure_ = absl::OkStatus();
  together_.Take(at, *ReadingOf(reading, ""));
  for (auto& [name, timeline] : models_) {
    if (std::optional<ModelReading> own = ReadingOf(reading, name)) {
      timeline.Take(at, *std::move(own));
    }
  }
  names_.clear();
  for (const ModelReading& model : reading.models) names_.push_back(model.model);
  return true;
}

bool EngineTimeline::Fail(absl::Time at, const absl::Status& why) {
  if (!IsNews(at)) return false;
  failure_ = why;
  return true;
}

bool EngineTimeline::IsNews(absl::Time at) {
  if (at <= newest_at_) return false;
  newest_at_ = at;
  return true;
}

void EngineTimeline::Keep(const std::string& model) {
  if (!model.empty()) models_.try_emplace(model);
}

void EngineTimeline::Forget(absl::Time before) {
  together_.Forget(before);
  for (auto& [name, timeline] : models_) timeline.Forget(before);
}

const ModelTimeline* EngineTimeline::Find(absl::string_view model) const {
  if (model.empty()) return &together_;
  const auto found = models_.find(model);
  return found == models_.end() ? nullptr : &found->second;
}

SignalSeries EngineTimeline::Answer(const EngineQuestion& question, absl::Time now,
                                    absl::Duration longest_gap) const {
  SignalSeries series;
  series.answers_since = answers_since_;
  if (const ModelTimeline* timeline = Find(question.model)) {
    series.points = timeline->Points(question, now, longest_gap);
    series.unmoved_since = timeline->StillSince();
  }
  series.gap = GapOf(question, series);
  return series;
}

std::string EngineTimeline::GapOf(const EngineQuestion& question,
                                  const SignalSeries& series) const {
  if (!failure_.ok()) return std::string(failure_.message());
  if (engine_.empty()) return "not read yet";
  if (!question.model.empty() && std::ranges::count(names_, question.model) == 0) {
    return absl::StrCat("no model \"", question.model, "\": ", OtherModels(names_));
  }
  if (series.points.empty()) return "not read yet";
  if (series.points.back().value.has_value()) return "";
  if (IsOverWindow(question.metric)) {
    return absl::StrCat(engine_, " has not told yet ", WhatIsAsked(question.metric));
  }
  return absl::StrCat(engine_, " does not tell ", WhatIsAsked(question.metric));
}

}  // namespace gpuscaler
