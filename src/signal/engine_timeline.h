// What one engine's process said over time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"
#include "signal/engine_reading.h"
#include "signal/model_timeline.h"

namespace gpuscaler {

// Not thread-safe.
class EngineTimeline {
 public:
  // `engine` by its name ("vllm"). What is no later than the newest one is dropped: false.
  bool Take(absl::Time at, absl::string_view engine, const EngineReading& reading);

  // It could not be read then, and why. What it said before stays. As Take().
  bool Fail(absl::Time at, const absl::Status& why);

  // From now on the model's own readings are kept. All models together always are: a page may have
  // a thousand.
  void Keep(const std::string& model);

  // Readings before then, which no question looks back on, may go.
  void Forget(absl::Time before);

  // Without what the series is called and whose it is. About a model that is not kept it knows
  // nothing.
  SignalSeries Answer(const EngineQuestion& question, absl::Time now,
                      absl::Duration longest_gap) const;

  const std::string& engine() const { return engine_; }  // empty: it never answered

 private:
  bool IsNews(absl::Time at);
  const ModelTimeline* Find(absl::string_view model) const;
  std::string GapOf(const EngineQuestion& question, const SignalSeries& series) const;

  std::string engine_;
  absl::Time newest_at_ = absl::InfinitePast();  // be it a failure
  absl::Time answers_since_ = absl::InfiniteFuture();
  absl::Status failure_;  // of the newest reading
  ModelTimeline together_;
  std::map<std::string, ModelTimeline, std::less<>> models_;
  std::vector<std::string> names_;  // of the models on its newest page
};

}  // namespace gpuscaler
