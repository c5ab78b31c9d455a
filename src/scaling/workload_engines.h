// The engines of a workload, and the batch limit that they share.
//
// A replica that never queued has shown no limit, though it has the one of its neighbours: without
// it three replicas at 60 of 64 requests read 104 %, and the HPA goes from 3 to 2.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/fleet_history.h"
#include "model/signal_history.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct WorkloadEngine {
  const SignalSeries* series = nullptr;
  bool is_present = true;             // false: it left, and is remembered
  bool is_of_newest_template = true;  // its pod is
  std::string gpu_model;              // empty: not known
  std::string replica;                // the name of its replica; empty: not known
};

// Returns the name of the ReplicaSet that made the pod, which has the hash of its template. Empty
// if the name has no such hash: pods of a StatefulSet all look alike.
absl::string_view TemplateOf(absl::string_view pod_name);

// Collects engines with what their replicas show of them.
class WorkloadEngines {
 public:
  // All references outlive it. Names of GPU models are looked up only if `with_models`.
  WorkloadEngines(const FleetHistory& fleet, std::span<const Replica> replicas, bool with_models);

  // `replica`: null if no replica is known to have it.
  void AddPresent(const SignalSeries& engine, const Replica* replica);
  void AddLeft(const SignalSeries& engine);
  // Adds those that count besides the engines added before: of a model and a GPU model that
  // present engines have. While none is known of the present ones, these and the pod template are
  // those of the engine that left last.
  void AddRecords(const std::vector<const SignalSeries*>& engines);

  std::vector<WorkloadEngine> Take() &&;

 private:
  std::string ModelOf(const Replica& replica) const;

  std::map<absl::string_view, absl::string_view> models_;  // key: UUID of the GPU
  bool has_pods_ = false;
  std::string newest_template_;  // that of its newest pod
  std::vector<WorkloadEngine> engines_;
};

// Requests that an engine runs at once if it does not report its own limit: the largest that the
// engines of the newest pod template have shown, while they are there; else the last one that any
// has shown. Empty: none has.
std::optional<double> SharedLimit(std::span<const WorkloadEngine> engines);

// The limit of one engine: its own, else maxConcurrency, else the shared one.
std::optional<double> LimitOf(const Trigger& trigger, const SignalSeries& engine,
                              std::optional<double> shared_limit);

// Its pressure is computed with the limit that the workload shares.
bool SharesLimit(const Trigger& trigger, const SignalSeries& engine);

}  // namespace gpuscaler
