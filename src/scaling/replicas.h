// All replicas that a trigger counts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/fleet_history.h"
#include "model/signal_history.h"
#include "scaling/decision.h"
#include "scaling/held_requests.h"
#include "scaling/replica.h"
#include "scaling/workload_engines.h"
#include "scaling/workload_pods.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct Replicas {
  std::vector<Replica> replicas;  // present ones, then those that are gone
  // Blocks of GPUs that are not in use. `load` is their metric, and `because` why there is none.
  std::vector<Contribution> unused;
  std::string from;  // source of the number of replicas: "GPUs in use", "pods of Deployment/llm"
  AmbiguityWarning ambiguity;      // whether these may be the wrong pods
  std::vector<std::string> notes;  // other remarks for people
  // Earlier samples were left out (ReplicasOf).
  absl::Time oldest = absl::InfinitePast();
  // When readings of engines or of the gateway stop counting, if no new one comes. InfiniteFuture:
  // never.
  absl::Time changes_at = absl::InfiniteFuture();
  // Set for a trigger that reads engines.
  std::vector<WorkloadEngine> engines;
  std::optional<double> batch_limit;  // shared by engines without their own or maxConcurrency
  HeldRequests held;                  // at the gateway in front of the engines
  // If no replica is present: why there may be one nevertheless. OK: there is none.
  absl::Status zero_status;
};

// Returns whether replicas are formed from the pods that hold GPUs.
bool IsByOwner(const Trigger& trigger, const FleetHistory& fleet);

// Returns the parts of the fleet that are not known and may hide replicas of the trigger, in words.
std::vector<std::string> MissingParts(const DecisionInputs& inputs);

// FAILED_PRECONDITION: this scope will never have any replicas; the text names what to change.
// UNAVAILABLE: its engines are not known yet. Samples of pods and engines reach back to `oldest`.
absl::StatusOr<Replicas> ReplicasOf(const DecisionInputs& inputs, absl::Time oldest);

}  // namespace gpuscaler
