// The engines of a workload, and the batch limit that they share.
//
// An engine that reports no limit shows it only while requests wait
// (engine/batch_limit_estimator.h), so a replica that never had a queue uses the limit that others
// have shown. Otherwise the pressure of such a replica would be its KV cache usage alone. If three
// replicas ran 60 of 64 requests, and one had shown its limit, they could add up to 94 + 5 + 5 =
// 104 %, and the HPA would go from 3 to 2.
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
  bool is_present = true;  // false: it left, and is remembered
  bool is_of_newest_template = true;
  std::string gpu_model;  // empty: not known
  std::string replica;    // name of its replica; empty: not known
};

// Returns the name of the ReplicaSet that made the pod, which ends with the hash of the pod
// template. Empty if the name has no such hash: pods of a StatefulSet all look alike.
absl::string_view TemplateOf(absl::string_view pod_name);

// Collects engines with what their replicas show of them. Not thread-safe.
class WorkloadEngines {
 public:
  // All references must outlive it. GPU models are looked up only if `with_models`.
  WorkloadEngines(const FleetHistory& fleet, std::span<const Replica> replicas, bool with_models);

  // `replica` is null if the engine has no known replica.
  void AddPresent(const SignalSeries& engine, const Replica* replica);
  void AddDeparted(const SignalSeries& engine);
  // Adds records of the models and GPU models that present engines have. If a property of the
  // present engines is not known, or their pod template is not, that of the engine that left last
  // applies.
  void AddRecords(const std::vector<const SignalSeries*>& engines);

  std::vector<WorkloadEngine> Take() &&;

 private:
  std::string ModelOf(const Replica& replica) const;

  std::map<absl::string_view, absl::string_view> models_;  // key: UUID of the GPU
  bool has_pods_ = false;
  std::string newest_template_;  // that of its newest pod
  std::vector<WorkloadEngine> engines_;
};

// Returns how many requests an engine that reports no limit can run at once: the highest limit that
// present engines of the newest pod template have shown, or else the last that any engine has
// shown. Empty: none has shown one.
std::optional<double> SharedLimit(std::span<const WorkloadEngine> engines);

// The engine's own limit applies, else maxConcurrency, else the shared one.
std::optional<double> LimitOf(const Trigger& trigger, const SignalSeries& engine,
                              std::optional<double> shared_limit);

// Returns whether its pressure is computed with the shared limit.
bool SharesLimit(const Trigger& trigger, const SignalSeries& engine);

}  // namespace gpuscaler
