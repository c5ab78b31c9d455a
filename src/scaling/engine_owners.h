// Whose an engine is.
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

// Every engine to its replica, by its pod, or by its pod's address. What it is made of outlives it;
// what it says by an index is of the replicas as they are then.
class EngineOwners {
 public:
  using Engines = std::vector<const SignalSeries*>;

  // `by_owner`: the replicas are pods. Otherwise no engine is anybody's.
  EngineOwners(const Trigger& trigger, const FleetHistory& fleet, bool by_owner,
               const SignalHistory& signals, const std::vector<Replica>& replicas);

  const Engines& Of(size_t replica) const { return of_[replica]; }
  const Engines& unmatched() const { return unmatched_; }  // of no replica

  // Unmatched are the workload's: its endpoint is named, or nobody knows owners.
  bool UnmatchedCount() const { return !by_owner_ || endpoint_is_named_; }
  Engines All() const;             // that are the workload's
  Engines OfThosePresent() const;  // of those the ones whose replicas are, and unmatched engines

  // Index of the replica whose it is; empty: nobody's.
  std::optional<size_t> OwnerOf(const SignalSeries& engine) const;
  bool IsOf(const SignalSeries& engine, const Replica& replica) const;
  // It is the workload's: a replica's, or a unmatched engine that counts.
  bool IsOfWorkload(const SignalSeries& engine) const {
    return UnmatchedCount() || OwnerOf(engine).has_value();
  }

  // The endpoint is one address for several pods, and that of none of them, as far as theirs are
  // known.
  bool IsOneAddressOfSeveral() const;
  // One of its pods' is known.
  bool HasAddress(const Replica& replica) const;
  // Its pods are there, and nobody knows at which address.
  bool IsUnplaced(size_t replica) const;
  // Whether all of its pods are known to be Ready, or to have been.
  bool WasReady(const Replica& replica) const;
  // Whether all of its pods are known to be Ready, or to have been, and not to end.
  bool IsToServe(const Replica& replica) const;

 private:
  using PodName = std::pair<absl::string_view, absl::string_view>;  // namespace, name

  void Join();
  int64_t Present() const;
  const Pod& AsKnownNow(const Pod& pod) const;
  const std::string& AddressOf(const Pod& pod) const;

  const bool endpoint_is_named_;
  const bool by_owner_;
  const SignalHistory& signals_;
  const std::vector<Replica>& replicas_;
  std::map<PodName, const Pod*> pods_;  // as nodes know them now
  std::vector<Engines> of_;             // each replica
  Engines unmatched_;
};

}  // namespace gpuscaler
