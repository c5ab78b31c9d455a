// The readings of one engine's process over time.
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
  EngineTimeline() { models_[""]; }

  // `engine` is its name ("vllm"). Returns false, and drops the reading, unless it is later than
  // the newest one.
  bool AddReading(absl::Time at, absl::string_view engine, const EngineReading& reading);

  // Records a failed read. Earlier readings stay. Returns as AddReading().
  bool Fail(absl::Time at, const absl::Status& why);

  // From now on, readings of single models are kept for `models` only. The sum over all models is
  // always kept. An exposition may have a thousand models.
  void KeepOnly(const std::set<std::string>& models);

  // Readings before `before`, which no query looks back on, may be deleted.
  void Forget(absl::Time before);
  void ForgetHistograms();

  size_t Bytes() const;  // approximate memory use

  // Returns the series without its name, namespace, pod and address. Empty for a model that is not
  // kept.
  SignalSeries Answer(const EngineQuery& query, absl::Time now, absl::Duration max_gap) const;

  const std::string& engine() const { return engine_; }  // empty: never read
  const std::string& models() const { return served_; }  // SignalSeries::models

 private:
  bool IsNew(absl::Time at);
  struct StoredModel {
    ModelTimeline timeline;
    bool absent = false;         // from the newest exposition
    bool lacks_backend = false;  // the newest exposition has no number that only a backend exports
  };

  const StoredModel* Find(const std::string& model) const;
  // Returns true if the engine, with the backend in its newest exposition, never exports what the
  // query needs.
  bool NeverReports(const EngineQuery& query) const;
  void Name(const EngineReading& reading);  // keeps some model names
  std::string ErrorOf(const EngineQuery& query, const SignalSeries& series) const;

  std::string engine_;
  absl::Time newest_at_ = absl::InfinitePast();  // the newest reading or failure
  absl::Time answers_since_ = absl::InfiniteFuture();
  absl::Status failure_;                       // the newest reading's
  std::map<std::string, StoredModel> models_;  // "": the sum over all models, always there
  std::vector<std::string> names_;  // some models of the newest exposition, for the explanation
  size_t unnamed_ = 0;              // number of models beyond `names_`
  std::string served_;              // models of the newest exposition that names them
};

}  // namespace gpuscaler
