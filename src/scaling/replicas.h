// All replicas that a trigger counts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/fleet_history.h"
#include "model/signal_history.h"
#include "scaling/ambiguity_warning.h"
#include "scaling/held_requests.h"
#include "scaling/node_view.h"
#include "scaling/replica.h"
#include "scaling/workload_engines.h"
#include "scaling/workload_pods.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// GPUs of a block that nobody uses.
struct IdleBlock {
  std::string name;
  std::vector<std::string> gpu_uuids;
  std::optional<double> metric;
  std::string why_unreadable;  // why it has none
};

struct Replicas {
  std::vector<Replica> replicas;  // those present, then those gone
  std::vector<IdleBlock> idle;
  std::string from;                // where R comes from: "GPUs in use", "pods of Deployment/llm"
  AmbiguityWarning ambiguity;      // whether they are those that are meant
  std::vector<std::string> notes;  // what else people should know of it
  // Samples before were not looked at (ReplicasOf).
  absl::Time oldest = absl::InfinitePast();
  // As time passes, its replicas count by something else from then on; InfiniteFuture: they do not.
  absl::Time changes_at = absl::InfiniteFuture();
  // Collected for a trigger that reads engines.
  std::vector<WorkloadEngine> engines;
  std::optional<double> batch_limit;  // that engines without one of their own share
  HeldRequests held;                  // at the gateway in front of them
  // Why it may be larger than it looks where it has no replica; OK: it is what it looks like.
  absl::Status unseen;
};

// Whether its replicas are told apart by who holds GPUs.
bool IsByOwner(const Trigger& trigger, const FleetHistory& fleet);

// What of the fleet is not known, each in words, where that may hide replicas of the trigger's.
std::vector<std::string> MissingParts(const Trigger& trigger, const FleetHistory& fleet,
                                      const StalenessLimits& staleness);

// FAILED_PRECONDITION: this scope never can be decided on; the text says what to change.
// UNAVAILABLE: its engines are not known yet. Samples of pods and engines reach back to `oldest`.
absl::StatusOr<Replicas> ReplicasOf(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                                    const FleetHistory& fleet, const SignalHistory* signals,
                                    const StalenessLimits& staleness, absl::Time oldest);

}  // namespace gpuscaler
