#include "engine/model_timeline.h"

#include <span>
#include <utility>

#include "engine/engine_answers.h"
#include "engine/look_back.h"

namespace gpuscaler {
namespace {

ServiceReading ServiceOf(absl::Time at, const ModelReading& reading) {
  return {.at = at,
          .waiting = reading.waiting,
          .running = reading.running,
          .kv_cache_usage_ratio = reading.kv_cache_usage_ratio,
          .requests_done = reading.requests_done,
          .generation_tokens = reading.generation_tokens,
          .answers = reading.answers,
          .answer_tokens = reading.answer_tokens,
          .counters_began = reading.counters_began};
}

}  // namespace

void ModelTimeline::AddReading(absl::Time at, ModelReading reading) {
  stalled_.Take(at, reading);
  ServiceReading service = ServiceOf(at, reading);
  readings_.AddReading(at, std::move(reading));
  const TimedReading& taken = readings_.all().back();
  batch_limit_.Take(taken);
  service.continues = taken.continues;
  demand_.Take(service);
  first_tokens_.Take(taken);
}

void ModelTimeline::ForgetHistograms() {
  readings_.ForgetHistograms();
  first_tokens_.Forget();
}

std::optional<EngineDemand> ModelTimeline::Demand(const EngineQuery& query) const {
  std::optional<EngineDemand> demand = demand_.Sums();
  if (demand.has_value() && query.ttft_slo.has_value()) {
    demand->first_tokens = first_tokens_.Bins(*query.ttft_slo);
  }
  return demand;
}

void ModelTimeline::BeginAnotherModel() {
  batch_limit_ = BatchLimitEstimator();
  demand_.BeginAnotherModel();
}

EngineBatch ModelTimeline::Batch(const EngineQuery& query, absl::Time now) const {
  const std::span<const TimedReading> all = readings_.all();
  EngineBatch batch{.learnt_limit = batch_limit_.Limit(), .learnt_at = batch_limit_.LearntAt()};
  if (all.empty()) return batch;
  batch.reported_limit = all.back().limit;
  const size_t first = FirstOfWindow(all, now - query.look_back, &TimedReading::at);
  batch.readings.reserve(all.size() - first);
  for (const TimedReading& reading : all.subspan(first)) {
    batch.readings.push_back(BatchOf(reading));
  }
  return batch;
}

std::vector<SignalPoint> ModelTimeline::Points(const EngineQuery& query, absl::Time now,
                                               absl::Duration max_gap) const {
  const std::span<const TimedReading> all = readings_.all();
  if (all.empty()) return {};
  const size_t first = FirstOfWindow(all, now - query.look_back, &TimedReading::at);
  const size_t first_of_window =
      IsOverWindow(query.metric)
          ? FirstOfWindow(all, all[first].at - query.window, &TimedReading::at)
          : first;
  const ValuesAtReadings answers =
      Answers(query, all.subspan(first_of_window), max_gap, batch_limit_.Limit());
  std::vector<SignalPoint> points;
  points.reserve(all.size() - first);
  for (size_t i = first; i < all.size(); ++i) {
    points.push_back({.at = all[i].at, .value = answers[i - first_of_window]});
  }
  return points;
}

std::string ModelTimeline::PressureBasis(const EngineQuery& query) const {
  if (readings_.all().empty()) return "";
  return PressureBasisText(readings_.all().back(), query.max_concurrency, batch_limit_.Limit());
}

}  // namespace gpuscaler
