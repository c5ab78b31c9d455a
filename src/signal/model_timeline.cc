#include "signal/model_timeline.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "signal/engine_answers.h"
#include "signal/look_back.h"

namespace gpuscaler {
void ModelTimeline::Take(absl::Time at, ModelReading reading) {
  still_.Take(at, reading);
  Append(readings_, at, std::move(reading));
  const TimedReading& newest = readings_.back();
  if (!newest.goes_on) most_running_.reset();  // it may have been started with another limit
  if (newest.reading.waiting > 0.0 && newest.reading.running.has_value()) {
    most_running_ = std::max(most_running_.value_or(0), *newest.reading.running);
  }
}

void ModelTimeline::Forget(absl::Time before) {
  ForgetBefore(readings_, before, &TimedReading::at);
}

std::vector<SignalPoint> ModelTimeline::Points(const EngineQuestion& question, absl::Time now,
                                               absl::Duration longest_gap) const {
  const EngineFacts facts{.most_running = most_running_, .longest_gap = longest_gap};
  const std::span<const TimedReading> all = readings_;
  std::vector<SignalPoint> points;
  for (size_t i = FirstOfWindow(readings_, now - question.look_back, &TimedReading::at);
       i < all.size(); ++i) {
    const absl::Time at = all[i].at;
    const size_t first = IsOverWindow(question.metric)
                             ? FirstOfWindow(readings_, at - question.window, &TimedReading::at)
                             : i;
    points.push_back(
        {.at = at, .value = Answer(question, all.subspan(first, i + 1 - first), facts)});
  }
  return points;
}

}  // namespace gpuscaler
