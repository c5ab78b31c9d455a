// What one engine's process said over time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/engine_reading.h"
#include "engine/model_timeline.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"

namespace gpuscaler {

// Not thread-safe.
class EngineTimeline {
 public:
  // `engine` by its name ("vllm"). What is no later than the newest one is dropped: false.
  bool Take(absl::Time at, absl::string_view engine, const EngineReading& reading);

  // It could not be read then, and why. What it said before stays. As Take().
  bool Fail(absl::Time at, const absl::Status& why);

  // From now on the own readings of these models are kept, and of no others. All models together
  // always are: a page may have a thousand.
  void KeepOnly(const std::set<std::string>& models);

  // Readings before then, which no question looks back on, may go.
  void Forget(absl::Time before);
  void ForgetHistograms();

  size_t Bytes() const;  // of memory, about

  // Without what the series is called and whose it is. About a model that is not kept it knows
  // nothing.
  SignalSeries Answer(const EngineQuestion& question, absl::Time now,
                      absl::Duration longest_gap) const;

  const std::string& engine() const { return engine_; }  // empty: it never answered
  const std::string& models() const { return served_; }  // SignalSeries::models

 private:
  bool IsNew(absl::Time at);
  struct StoredModel {
    ModelTimeline timeline;
    bool absent = false;         // from the newest page
    bool lacks_backend = false;  // as below
  };

  const StoredModel* Find(const std::string& model) const;
  // That it will not report what the question takes, as far as is known.
  bool NeverTells(const EngineQuestion& question) const;
  void Name(const EngineReading& reading);  // the models that it has
  std::string GapOf(const EngineQuestion& question, const SignalSeries& series) const;

  std::string engine_;
  absl::Time newest_at_ = absl::InfinitePast();  // be it a failure
  absl::Time answers_since_ = absl::InfiniteFuture();
  absl::Status failure_;  // of the newest reading
  ModelTimeline together_;
  bool lacks_backend_ = false;  // its newest page has nothing that only a backend exports
  std::map<std::string, StoredModel> models_;
  std::vector<std::string> names_;  // some models of its newest page, for an explanation
  size_t unnamed_ = 0;              // how many others are there
  std::string served_;              // models of the last page that names them
};

}  // namespace gpuscaler
