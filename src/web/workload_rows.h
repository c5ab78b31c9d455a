// The triggers that clients request at present, one row each, as JSON.
#pragma once

#include <compare>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "explain.pb.h"
#include "serve/live_trigger.h"
#include "serve/trigger_cache.h"
#include "web/trigger_history.h"

namespace gpuscaler {

// The source of the rows: the functions of ScalerService with these names.
struct WorkloadSource {
  using DecisionOr = absl::StatusOr<std::shared_ptr<const CachedDecision>>;

  std::function<std::vector<LiveTrigger>()> live_triggers;
  std::function<std::vector<LiveTrigger>(const std::string& namespace_name,
                                         const std::string& scaled_object)>
      live_triggers_of;
  std::function<DecisionOr(const LiveTrigger& live)> evaluate;
  std::function<gpuscaler::v1::Explanation(const LiveTrigger& live, const DecisionOr& decision)>
      explanation_of;
};

// A ROW of docs/api.yaml.
struct WorkloadRow {
  TriggerKey key;
  bool has_trouble = false;
  // A JSON object without its closing brace. Json() adds the time of the newest request, which is
  // no change of the row, and the sparkline.
  std::string fields;
  absl::Time requested_at;

  std::string Json(const std::string& spark = "") const;  // `spark`: an array; empty: none
};

WorkloadRow RowOf(const LiveTrigger& live, const WorkloadSource::DecisionOr& decision);

// Evaluates all live triggers. The rows with trouble come first, then by key.
std::vector<WorkloadRow> ReadRows(const WorkloadSource& source);

// Returns the newest 60 values up to `now` as an array, oldest first, null where there is none.
std::string SparkJson(const TriggerHistory& history, const TriggerKey& key, absl::Time now);

}  // namespace gpuscaler
