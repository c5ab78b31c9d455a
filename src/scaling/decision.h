// What KEDA is told, and why: the one place where samples become a value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "demand/demand.h"
#include "demand/latency_ask.h"
#include "model/fleet_history.h"
#include "model/signal_history.h"
#include "scaling/ambiguity_warning.h"
#include "scaling/node_view.h"
#include "scaling/workload_pods.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// What one replica, or one GPU that no replica holds, added to the value.
struct Contribution {
  enum class State {
    kCounted,      // adds `load`
    kUnreadable,   // there, but unknown: stands for the target
    kWarming,      // starting: adds nothing, keeps the trigger active
    kTerminating,  // deleted, and not gone: adds nothing but its past within `window`
    kIdle,         // a GPU in scope that nobody uses: no replica (extensive metrics still add it)
    kGone,         // was there within activationWindow: counts for activity, and its past
  };
  std::string name;                // "gpu-7/0", "gpu-7/0-3"; of a pod or a group its own
  std::vector<std::string> gpus;   // uuids
  std::vector<std::string> nodes;  // where they are
  State state = State::kCounted;
  std::optional<double> load;  // in the metric's unit, smoothed over `window`
  double peak = 0;             // the highest single sample within activationWindow
  bool busy = false;           // utilisation above 0 within activationWindow
  bool standing = false;       // its VRAM is preallocated (DESIGN 2)
  std::string because;         // "unreadable for 12s: NVML error 15 (GPU_IS_LOST)"
};
absl::string_view Name(Contribution::State state);

// A node that replicas were on within activationWindow.
struct DecidedNode {
  std::string name;
  int replicas = 0;    // that are there
  absl::Duration age;  // of its newest reading
  std::string why;     // it is not read now; empty: it is
};

// Immutable once shared; what RPC, page and `query --explain` say is all read from here.
struct Decision {
  // OK; UNAVAILABLE: nothing in scope can be read; FAILED_PRECONDITION: this scope never can be.
  absl::Status status;
  double value = 0;     // V; three decimals
  bool active = false;  // IsActive
  std::string active_because;

  int replicas = 0;  // R, with the unreadable, without the warming
  int unreadable = 0;
  int warming = 0;
  int terminating = 0;
  // Why the value is held while replicas start or end (hold.h); empty: it is not.
  std::string held_because;
  // Replicas that have not started for longer than any start may take: they count as none.
  std::vector<std::string> unstarted;
  // Idle GPUs that are missing from an extensive total, for they cannot be read.
  int unreadable_idle = 0;
  std::string replicas_from;  // "GPUs in use", "pods of Deployment/llm"
  std::vector<Contribution> contributions;
  std::vector<DecidedNode> nodes;
  // Something of the fleet is not known: it may have replicas that are not counted, or GPUs that an
  // extensive total lacks.
  bool partial = false;
  // Preallocated VRAM, and no engine tells how full it is: busy counts, not full (DESIGN 2).
  bool saturation_unknown = false;
  // memory_used_percent named by hand counts preallocated VRAM as load, busy or idle.
  bool literal_memory = false;
  int frozen = 0;           // replicas whose engines have stopped counting (DESIGN 2)
  bool by_engines = false;  // what they say takes the place of what GPUs show
  bool by_demand = false;   // the value is the demand's
  // Whether there is a limit for the pressure of each engine: its own, maxConcurrency, or the
  // shared one. Empty: no pressure counts, or there is no engine and no maxConcurrency.
  std::optional<bool> batch_limit_known;
  std::optional<Demand> demand;  // empty: it is not computed, or no engine reports what it takes
  std::optional<LatencyAsk> latency;  // empty: first tokens are in time, or no ttftSloMs is given
  std::optional<double> batch_limit;  // that engines without one of their own share
  AmbiguityWarning ambiguity;         // whether its pods are those that are meant
  std::vector<std::string> notes;     // these in words, and what else people should know
  absl::Time taken_at;                // the instant it was made for
  // If nothing more is heard, it is right before `valid_until`, and its status and `active` are so
  // before `active_until` (next_change.h). What the words say of ages is that of `taken_at`.
  absl::Time valid_until;
  absl::Time active_until;
  // The same of status and `active` while each node goes on to find its GPUs as they are.
  absl::Time active_while_read;
  // Whatever is heard it stays active until then: a reading above activationThreshold is within
  // activationWindow. (Other pods, or memory that begins to stand, may give readings another
  // meaning; requests that freeze do so no earlier.) InfinitePast: nothing says so.
  absl::Time evidence_until = absl::InfinitePast();
  // How much of the past it looks at while replicas start or end: more than LookBack(trigger).
  // Zero: none do.
  absl::Duration look_back;
};

// Pure: the same question and histories give the same decision. Times are evaluated against the
// fleet's `now`. `signals` is what SourceOf(trigger) said; null: nobody reads it, or there is none.
Decision Decide(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                const FleetHistory& fleet, const SignalHistory* signals,
                const StalenessLimits& staleness);

inline Decision Decide(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                       const FleetHistory& fleet, const StalenessLimits& staleness) {
  return Decide(trigger, scaled_object, fleet, nullptr, staleness);
}

// The explanation, a line each, for people.
std::string Explain(const Trigger& trigger, const Decision& decision);

}  // namespace gpuscaler
