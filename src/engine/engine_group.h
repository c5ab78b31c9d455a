// The engines of one source: those that a DNS name resolves to, or those in the pods of a
// namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/not_yet.h"
#include "engine/engine_reading.h"
#include "engine/engine_timeline.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"

namespace gpuscaler {

// The address of one engine's process.
struct EngineAddress {
  std::string address;  // IP address of its pod
  int port = 0;
  std::string namespace_name;  // the pod's; empty if unknown
  std::string pod;

  friend auto operator<=>(const EngineAddress&, const EngineAddress&) = default;
};

// The result of reading one engine once.
struct EngineUpdate {
  absl::Time at;             // when the response arrived
  absl::string_view engine;  // "vllm"
  absl::StatusOr<EngineReading> reading;
  // The agent's newest record of the engine (NodeCapacityRecords). Null: the last one still counts.
  std::shared_ptr<const SignalSeries> capacity_record = nullptr;
};

// Returns "vllm at 10.1.2.3:8000", or "engine at ..." if `engine` is empty.
std::string EngineName(const EngineAddress& engine_address, absl::string_view engine);

inline constexpr size_t kMaxEngines = 10000;  // per source

// Not thread-safe.
class EngineGroup {
 public:
  // Replaces the listed engines by `engines`. Returns false if nothing changed.
  //
  // Readings of engines that left are kept until they are older than both `kept_since` and the
  // window of KeepDeparted(). An engine behind a DNS name also leaves a capacity record for a day.
  //
  // An error leaves the engines as they are, and Answer() returns it as the status. If there are
  // more than kMaxEngines engines, the rest is dropped and the status is RESOURCE_EXHAUSTED.
  //
  // `missing_engines` lists nodes and pods without an engine; null: none. It is kept, and groups
  // may share it. While one of them is awaited, an engine that is listed later counts as present
  // from the beginning. `capacity_records` are those that agents keep of engines that left.
  bool SetEngines(const absl::StatusOr<std::vector<EngineAddress>>& engines, absl::Time at,
                  std::shared_ptr<const std::vector<MissingEngine>> missing_engines = nullptr,
                  absl::Time kept_since = absl::InfinitePast(),
                  const CapacityRecords& capacity_records = {});

  // Returns false if the update is dropped: its engine is not listed, or it is not later than the
  // newest one. Readings before `kept_since`, which no query looks back on, may be deleted.
  bool AddReading(const EngineAddress& engine_address, const EngineUpdate& update,
                  absl::Time kept_since = absl::InfinitePast());

  // From now on, readings of single models are kept for `models` only.
  void KeepOnly(const std::set<std::string>& models);

  void ForgetHistograms();

  // Keeps departed engines for at least this long.
  void KeepDeparted(absl::Duration demand_window) { demand_window_ = demand_window; }

  size_t size() const { return engines_.size(); }
  bool HasNone() const { return listed_.ok() && engines_.empty(); }  // per the newest list
  size_t Bytes() const { return bytes_; }                            // approximate memory use

  // Returns the version of the list and of the engines for which `includes` is true. It grows with
  // each change.
  int64_t Version(absl::FunctionRef<bool(const EngineAddress&)> includes) const;

  // Returns the history of the engines for which `includes` is true, with the status of the newest
  // SetEngines(): UNAVAILABLE before the first. Includes all capacity records of agents: their pods
  // may have left before the fleet's history begins, so `includes` does not apply to them.
  SignalHistory Answer(const EngineQuery& query, absl::Time now, absl::Duration max_gap,
                       absl::FunctionRef<bool(const EngineAddress&)> includes) const;

 private:
  struct Listed {
    absl::Time since;  // SignalSeries::listed_since
    EngineTimeline engine;
    int64_t update = 0;                                   // version of its newest update
    std::shared_ptr<const SignalSeries> capacity_record;  // newest record of its agent; null: none
  };
  struct DepartedEngine {
    EngineAddress engine_address;
    absl::Time at;
    Listed listed;
  };

  static void AddRecord(const Listed& listed, const EngineQuery& query, SignalSeries& series);
  bool UpdateVersion(bool is_new);
  // Returns true if an engine came or left.
  bool Replace(const std::set<EngineAddress>& engines, absl::Time since, absl::Time at);
  void ForgetDeparted(absl::Time kept_since);
  // Keeps the capacity record of an engine behind a DNS name. No agent reads that engine.
  void RecordCapacity(const DepartedEngine& left);
  // Recomputes `bytes_` from all engines and records.
  void UpdateBytes();

  absl::Status listed_ = NotYet("not looked for yet");
  bool was_whole_ = false;  // true once a list awaited no node
  std::map<EngineAddress, Listed> engines_;
  std::vector<DepartedEngine> departed_;  // all were read; oldest departure first
  CapacityRecords capacity_records_;      // from agents
  CapacityRecords own_records_;           // engines behind a DNS name; oldest departure first
  std::shared_ptr<const std::vector<MissingEngine>> missing_engines_;  // null: none
  std::set<std::string> models_;
  absl::Duration demand_window_;
  size_t bytes_ = 0;
  int64_t update_ = 0;          // version of the newest update of any engine or list
  int64_t version_of_all_ = 0;  // version of the newest list
};

}  // namespace gpuscaler
