#include "engine/model_timeline.h"

#include <span>
#include <utility>

#include "engine/engine_answers.h"
#include "series/look_back.h"

namespace gpuscaler {

void ModelTimeline::Take(absl::Time at, ModelReading reading) {
  still_.Take(at, reading);
  readings_.Take(at, std::move(reading));
  full_batch_.Take(readings_.all().back());
}

std::vector<SignalPoint> ModelTimeline::Points(const EngineQuestion& question, absl::Time now,
                                               absl::Duration longest_gap) const {
  const EngineFacts facts{.full_batch = full_batch_.Limit(), .longest_gap = longest_gap};
  const std::span<const TimedReading> all = readings_.all();
  if (all.empty()) return {};
  const size_t first = FirstOfWindow(all, now - question.look_back, &TimedReading::at);
  const size_t first_of_window =
      IsOverWindow(question.metric)
          ? FirstOfWindow(all, all[first].at - question.window, &TimedReading::at)
          : first;
  const NumberAtEach answers = Answers(question, all.subspan(first_of_window), facts);
  std::vector<SignalPoint> points;
  points.reserve(all.size() - first);
  for (size_t i = first; i < all.size(); ++i) {
    points.push_back({.at = all[i].at, .value = answers[i - first_of_window]});
  }
  return points;
}

std::string ModelTimeline::PressureAgainst(const EngineQuestion& question) const {
  if (readings_.all().empty()) return "";
  return AgainstText(readings_.all().back(), question.max_concurrency, full_batch_.Limit());
}

}  // namespace gpuscaler
