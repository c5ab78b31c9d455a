// The replica that each engine belongs to.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/fleet_history.h"
#include "model/signal_history.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Returns whether the engine is known to be in the pod.
bool IsInPod(const SignalSeries& engine, const Pod& pod);

// Matches every engine to its replica, by its pod or by its pod's address. All constructor
// arguments must outlive it. Methods with an index read the present state of that replica.
class EngineOwners {
 public:
  using Engines = std::vector<const SignalSeries*>;

  // `by_owner`: the replicas are pods. If false, no engine belongs to a replica.
  EngineOwners(const Trigger& trigger, const FleetHistory& fleet, bool by_owner,
               const SignalHistory& signals, const std::vector<Replica>& replicas);

  const Engines& EnginesOf(size_t replica) const { return engines_of_[replica]; }
  const Engines& unmatched() const { return unmatched_; }  // without a replica

  // Whether unmatched engines belong to the workload: its endpoint is named, or owners are not
  // known.
  bool CountsUnmatched() const { return !by_owner_ || endpoint_is_named_; }
  Engines All() const;             // the workload's
  Engines PresentEngines() const;  // the present replicas', and unmatched ones that count

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
  int64_t Present() const;
  const Pod& NewestOf(const Pod& pod) const;
  const std::string& AddressOf(const Pod& pod) const;

  const bool endpoint_is_named_;
  const bool by_owner_;
  const SignalHistory& signals_;
  const std::vector<Replica>& replicas_;
  std::map<PodName, const Pod*> pods_;  // as their nodes report them now
  std::vector<Engines> engines_of_;     // index: that of the replica
  Engines unmatched_;
};

}  // namespace gpuscaler
