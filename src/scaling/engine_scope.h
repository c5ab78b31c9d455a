// The engines of one workload, the replica that each belongs to, and the readings of them that a
// decision uses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/signal_history.h"
#include "scaling/decision.h"
#include "scaling/replicas.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Returns whether the engine is known to be in the pod.
bool IsInPod(const SignalSeries& engine, const Pod& pod);

// Matches every engine to its replica, by its pod or by its pod's address.
//
// EngineReadingsApplier (engine_replicas.cc) changes `workload_replicas` while this object exists:
// it replaces the GPU readings of one replica after the other with readings of its engines. Methods
// read a replica as it is at the call. Not thread-safe.
struct EngineScope {
  using Engines = std::vector<const SignalSeries*>;

  // Requires inputs with signals. Both arguments must outlive it.
  EngineScope(const DecisionInputs& decision_inputs, const Replicas& replicas);

  const DecisionInputs& inputs;
  const Replicas& workload_replicas;
  const Trigger& trigger = inputs.trigger;
  const SignalHistory& signals = *inputs.signals;
  const absl::Time now = inputs.fleet.now;
  const absl::Duration stale_after = inputs.staleness.stale_after;
  const bool endpoint_is_named = !trigger.engine_endpoint.url.empty();
  // The replicas are pods. If false, the owners of GPUs are not known, and no engine belongs to a
  // replica.
  const bool by_owner = IsByOwner(trigger, inputs.fleet);

  // Returns whether engines were read for longer than stale_after before `at`.
  bool IsKnownBefore(absl::Time at) const { return at > signals.read_since + stale_after; }

  const Engines& EnginesOf(size_t replica) const { return engines_of_[replica]; }
  const Engines& unmatched() const { return unmatched_; }  // without a replica

  // Whether unmatched engines belong to the workload: its endpoint is named, or owners are not
  // known.
  bool CountsUnmatched() const { return !by_owner || endpoint_is_named; }
  Engines All() const;             // the workload's
  Engines PresentEngines() const;  // the present replicas', and unmatched ones that count

  // The capacity records of the workload's engines. If owners are not known or the endpoint is
  // named, these are the records of all engines. If the workload has no pods, SelectPods() selects
  // it among the records' pods.
  const Engines& records() const { return records_; }

  // Empty: the engine has no replica.
  std::optional<size_t> OwnerOf(const SignalSeries& engine) const;
  bool IsOf(const SignalSeries& engine, const Replica& replica) const;
  // Whether the engine belongs to the workload: it has a replica, or is unmatched and counts.
  bool IsOfWorkload(const SignalSeries& engine) const {
    return CountsUnmatched() || OwnerOf(engine).has_value();
  }

  // Whether the endpoint is one address in front of several pods, and not the address of any of
  // them, as far as these are known.
  bool IsOneAddressOfSeveral() const;
  // Whether the address of one of its pods is known.
  bool HasAddress(const Replica& replica) const;
  // Whether its pods are present without an engine or a known address.
  bool HasNoEngineOrAddress(size_t replica) const;
  // Whether all of its pods are, or were, Ready.
  bool WasReady(const Replica& replica) const;
  // Whether all of its pods are, or were, Ready, and are known not to terminate.
  bool IsReadyAndNotEnding(const Replica& replica) const;

 private:
  using PodName = std::pair<absl::string_view, absl::string_view>;  // namespace, name

  void Join();
  Engines Records() const;
  int64_t Present() const;
  const Pod& NewestOf(const Pod& pod) const;
  const std::string& AddressOf(const Pod& pod) const;

  std::map<PodName, const Pod*> pods_;  // as their nodes report them now
  std::vector<Engines> engines_of_;     // index: that of the replica
  Engines unmatched_;
  Engines records_;
};

}  // namespace gpuscaler
