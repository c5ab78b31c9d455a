// What an engine said of one model over time, or of all of its models together.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "demand/demand_track.h"
#include "engine/first_token_track.h"
#include "engine/full_batch.h"
#include "engine/steady_requests.h"
#include "engine/stored_readings.h"
#include "model/engine_batch.h"
#include "model/engine_demand.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"

namespace gpuscaler {

// Not thread-safe.
class ModelTimeline {
 public:
  // Later than all before.
  void Take(absl::Time at, ModelReading reading);

  // The next reading is of another model: nothing learnt of the last one counts for it.
  void BeginAnotherModel();

  // Readings before then, which no question looks back on, may go.
  void Forget(absl::Time before) { readings_.Forget(before); }
  void ForgetHistograms();
  // Of memory, about.
  size_t Bytes() const {
    return sizeof(*this) + readings_.Bytes() + demand_.Bytes() + first_tokens_.Bytes();
  }

  // One for each reading in the time that the question looks back on, and for the one that stood
  // when it began; oldest first. What comes from counters is over the question's window at each of
  // them. Readings farther apart than `longest_gap` say nothing of the time between them.
  std::vector<SignalPoint> Points(const EngineQuestion& question, absl::Time now,
                                  absl::Duration longest_gap) const;

  // What the newest pressure is measured against, for people; empty: there is none.
  std::string PressureAgainst(const EngineQuestion& question) const;

  // The batch at each of Points().
  EngineBatch Batch(const EngineQuestion& question, absl::Time now) const;

  // Empty: no reading had requests and counters.
  std::optional<EngineDemand> Demand(const EngineQuestion& question) const;

  std::optional<absl::Time> SteadySince() const { return still_.Since(); }

 private:
  StoredReadings readings_;
  SteadyRequests still_;
  FullBatch full_batch_;
  DemandTrack demand_;
  FirstTokenTrack first_tokens_;
};

}  // namespace gpuscaler
