// The value and the activity that KEDA receives, with the reasons. Every decision from samples is
// made here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/demand.h"
#include "engine/latency_demand.h"
#include "model/fleet_history.h"
#include "model/signal_history.h"
#include "scaling/node_view.h"
#include "scaling/workload_pods.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The part of the value from one replica, or from one GPU without a replica.
struct Contribution {
  enum class State {
    kCounted,      // adds `load`
    kUnreadable,   // present, but not readable: counts the target
    kStarting,     // adds nothing, keeps the trigger active
    kTerminating,  // deleted, but present: its earlier load still counts in the mean over `window`
    // A GPU in scope that is not in use: no replica, but it adds to the sum of an extensive metric,
    // such as power (metric_type.h).
    kUnused,
    // Departed, but present within activationWindow: counts for activity, and its earlier load
    // still counts in the mean over `window`.
    kGone,
  };
  std::string name;                // "gpu-7/0", "gpu-7/0-3"; or the name of the pod or group
  std::vector<std::string> gpus;   // uuids
  std::vector<std::string> nodes;  // names
  size_t uid_hash = 0;             // Replica::uid_hash
  State state = State::kCounted;
  std::optional<double> load;    // in the metric's unit, smoothed over `window`
  double peak = 0;               // the highest single sample within activationWindow
  bool busy = false;             // utilization above 0 within activationWindow
  bool is_preallocated = false;  // its VRAM is preallocated
  std::string because;           // "unreadable for 12s: NVML error 15 (GPU_IS_LOST)"
};
absl::string_view Name(Contribution::State state);

// A node that had replicas within activationWindow.
struct DecidedNode {
  std::string name;
  int replicas = 0;    // counted on it, as in Decision
  absl::Duration age;  // age of its newest reading
  std::string why;     // why its readings are stale; empty: they are not
};

// Immutable once shared. RPC answers, web pages and `query --explain` all report from it.
struct Decision {
  // OK; UNAVAILABLE: nothing in scope is readable; FAILED_PRECONDITION: nothing ever will be.
  absl::Status status;
  double value = 0;     // the metric's value for KEDA, rounded to three decimals
  bool active = false;  // IsActive
  std::string active_because;

  // True if the metric belongs to no replica (queue_decision.h). Replicas are not counted then: the
  // four numbers below are 0, although there may be replicas.
  bool by_queue = false;
  int replicas = 0;  // counted: unreadable ones are included, starting ones are not
  int unreadable = 0;
  int starting = 0;
  int terminating = 0;
  // Why the value is held while replicas start or end (hold.h). Empty: it is not held.
  std::string held_because;
  // Names of replicas that have been starting for longer than kLongestStart. They do not count.
  std::vector<std::string> unstarted;
  // Unused GPUs that are missing in the sum of an extensive metric, because they are not readable.
  int unreadable_unused = 0;
  std::string replicas_from;  // "GPUs in use", "pods of Deployment/llm"
  std::vector<Contribution> contributions;
  std::vector<DecidedNode> nodes;
  // True if part of the fleet is unknown: there may be replicas that are not counted, or GPUs that
  // are missing in the sum of an extensive metric.
  bool partial = false;
  // True if VRAM is preallocated and no engine reports its saturation. The value then shows busy,
  // not full.
  bool saturation_unknown = false;
  // True if the value includes preallocated VRAM, whether its engine is busy or idle: the trigger
  // has memory_used_percent and no profile (PreallocatedMemory::kLiteral).
  bool literal_memory = false;
  int frozen = 0;  // replicas with an engine that no longer updates its metrics (frozen_engine.h)
  bool by_engines = false;  // readings of engines replace those of GPUs
  bool by_demand = false;   // the value is computed from the demand
  // Whether each engine has a limit for its pressure: its own, maxConcurrency, or the shared one.
  // Empty if no pressure counts, or if there is neither an engine nor maxConcurrency.
  std::optional<bool> batch_limit_known;
  std::optional<Demand> demand;  // empty: not computed, or no engine reports the metrics for it
  std::optional<LatencyDemand>
      latency;                        // empty: first tokens are in time, or no ttftSloMs is given
  std::optional<double> batch_limit;  // learnt, of engines without their own or maxConcurrency
  AmbiguityWarning ambiguity;         // whether its pods may be the wrong ones
  std::vector<std::string> notes;     // the above in words, and other remarks for people
  absl::Time taken_at;                // the time of the decision
  // Without new readings the decision is right before `valid_until`, and its status and `active`
  // are right before `active_until` (next_change.h). Ages in its texts are those at `taken_at`.
  absl::Time valid_until;
  absl::Time active_until;
  // The same as `active_until` on the condition that each node keeps reporting unchanged GPUs. No
  // reading becomes stale then, so this time is never earlier.
  absl::Time active_while_read;
  // No later reading of the same pods can make the trigger inactive before this time, because a
  // reading above activationThreshold stays within activationWindow, and no engine counts as
  // frozen. Memory that becomes steady is the exception. InfinitePast: there is no such reading.
  absl::Time evidence_until = absl::InfinitePast();
  // How much history the decision needs while replicas start or end: more than LookBack(trigger).
  // Zero if none does.
  absl::Duration look_back;
};

// All references must outlive it. Times are compared with the fleet's `now`.
struct DecisionInputs {
  const Trigger& trigger;
  const ScaledObjectRef& scaled_object;
  const FleetHistory& fleet;
  const SignalHistory* signals;  // history of SourceOf(trigger); null: none, or not read
  const StalenessLimits& staleness;
};

// Pure: equal inputs give equal decisions.
Decision Decide(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                const FleetHistory& fleet, const SignalHistory* signals,
                const StalenessLimits& staleness);

inline Decision Decide(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                       const FleetHistory& fleet, const StalenessLimits& staleness) {
  return Decide(trigger, scaled_object, fleet, nullptr, staleness);
}

// The text is for people and has several lines.
std::string Explain(const Trigger& trigger, const Decision& decision);

}  // namespace gpuscaler
