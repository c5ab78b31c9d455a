// The readings of engines and queues over time, one number each: the input of scaling decisions
// besides GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "model/engine_batch.h"
#include "model/engine_demand.h"
#include "model/pod.h"

namespace gpuscaler {

struct SignalPoint {
  absl::Time at;
  std::optional<double> value;  // empty: the reading failed or lacks it. Never 0 instead

  friend bool operator==(const SignalPoint&, const SignalPoint&) = default;
};

// The value of a metrics endpoint at one address of its host name.
struct SignalPart {
  std::string address;
  std::optional<double> value;  // newest; empty: none now
  std::string error;            // why it is empty
};

// One engine process, one metrics endpoint or one queue.
struct SignalSeries {
  // Display name: "vllm at 10.1.2.3:8000", "stream jobs at redis.team-a.svc:6379"
  std::string name;

  // The engine's pod, if known. Empty for endpoints and queues.
  std::string namespace_name;
  std::string pod;
  std::string address;  // the pod's, without a port: identifies the pod

  // The engine's family: "vllm". Empty until recognised, and for endpoints and queues.
  std::string engine;
  // The families that export the metric, if this one never does, or only with a backend that it
  // lacks.
  std::vector<std::string> reported_by;
  // Display text on the 100 % of its pressure: "of maxConcurrency 64". Empty for other metrics.
  std::string pressure_basis;
  // The batch behind a pressure, and the demand of an engine. Null unless the query needs them: it
  // is about kPressurePercent, or has a demand_window. The demand of a metrics endpoint is the
  // number of requests in its gauge.
  std::shared_ptr<const EngineBatch> batch;
  std::shared_ptr<const EngineDemand> demand;
  // A remark on a queue, for display: that its group does not exist. Empty: none.
  std::string note;

  std::string models;  // served by an engine, separated by commas; empty: unknown
  // Set only in a capacity record from an agent.
  int port = 0;
  std::string gpu_model;  // empty: unknown
  std::shared_ptr<const Pod> pod_with_owners;

  std::vector<SignalPoint> points;  // oldest first; as far back as requested
  std::string error;  // why the newest reading failed or lacks the number; empty: it has it

  std::vector<SignalPart> parts;  // parts of a metrics endpoint, by address: its value is their sum

  // When the first reading succeeded. InfiniteFuture: never, so a running process is still loading.
  absl::Time first_read_at = absl::InfiniteFuture();
  // A reading has finished, even if it failed.
  bool was_attempted = false;
  // When the series was first listed. InfinitePast: since the first reading of any series.
  absl::Time listed_since = absl::InfinitePast();
  // Since when an engine with requests has had unchanged requests and counters. Suspect if its GPUs
  // are idle too (vLLM #22545). Empty: they change, or there is no request.
  std::optional<absl::Time> unchanged_since;
};

// The capacity that engines have shown. When an engine has departed, its agent keeps the record, or
// the aggregator if no agent reads that engine.
using CapacityRecords = std::vector<std::shared_ptr<const SignalSeries>>;
inline constexpr absl::Duration kCapacityRecordsKept = absl::Hours(24);

// A pod or node on which engines are looked for but none is found.
struct MissingEngine {
  std::string node;  // all of its pods if `pod` is empty
  std::string namespace_name;
  std::string pod;
  std::string why;          // display text: "its agent does not look for engines"
  bool is_awaited = false;  // the node will report at any moment, and may have engines

  friend bool operator==(const MissingEngine&, const MissingEngine&) = default;
};

// Immutable once shared.
struct SignalHistory {
  // Increases with each update of `series`, and when series come or go. Results computed from an
  // equal number are still valid.
  int64_t generation = 0;
  absl::Time now;  // the instant for which decisions are made
  // OK: `series` is complete, even if empty, except for awaited nodes (`missing_engines`).
  // UNAVAILABLE: not known yet, or the addresses cannot be determined. PERMISSION_DENIED,
  // FAILED_PRECONDITION, INVALID_ARGUMENT: permanent, with the reason.
  absl::Status status;
  std::vector<SignalSeries> series;  // sorted by name
  // Departed engines: no longer listed. With their readings until then, as far back as requested.
  // An engine that is listed again is in `series` too, as a new one.
  std::vector<SignalSeries> departed;
  // Records of engines that departed within the last day: `batch` and `demand`, without points.
  // Empty unless the query is about demand or pressure.
  CapacityRecords capacity_records;
  // The requests that the gateway in front of these engines holds. Null if the trigger names none.
  // Its updates count in `generation` too.
  std::shared_ptr<const SignalHistory> gateway;
  // Null: none. In a fleet it is long, shared by all clients, and rarely replaced.
  std::shared_ptr<const std::vector<MissingEngine>> missing_engines;
  // Since when they are read without a break. The time before is unknown.
  absl::Time read_since = absl::InfiniteFuture();
  // The first reading is in progress and worth waiting for.
  bool is_awaited = false;
};

}  // namespace gpuscaler
