// Leases on costly readings and on how much history is kept.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/lease_set.h"
#include "base/mutex.h"
#include "model/costly_readings.h"

namespace gpuscaler {

// Three times KEDA's default pollingInterval of 30 s, so that a late or lost poll ends no lease.
inline constexpr absl::Duration kShortestLease = absl::Seconds(90);

// Three times a pollingInterval of one hour, the longest in use. The length of a lease follows the
// gaps between requests, and an outage of KEDA is such a gap. This limits how long a source is read
// that no trigger needs any more. Agents cap the leases of aggregators at it too.
inline constexpr absl::Duration kLongestLease = absl::Hours(3);

// Look-backs are rounded up to this: tenants may choose any number of different windows.
inline constexpr absl::Duration kLookBackStep = absl::Minutes(1);

// How much history is kept without a lease. Utilization and the profiles of engines look back no
// further.
constexpr absl::Duration kShortestLookBack = absl::Minutes(2);

// Leases expire unless triggers renew them. Thread-safe.
class Leases {
 public:
  // Never shortens a longer lease.
  void Renew(const CostlyReadings& readings, absl::Time until);

  CostlyReadings Subscription(absl::Time now) const;

  // Keeps `look_back` of history for nodes with pods of these namespaces until `until`; for all
  // nodes if `namespaces` is empty. A look-back up to kShortestLookBack needs no lease.
  void RenewLookBack(const std::vector<std::string>& namespaces, absl::Duration look_back,
                     absl::Time now, absl::Time until);

  // Returns how much history a node with pods of these namespaces must keep, rounded up to a
  // minute; kShortestLookBack at least.
  absl::Duration LookBack(const std::set<std::string>& namespaces, absl::Time now) const;
  // Applies to a node with unknown pods.
  absl::Duration LongestLookBack(absl::Time now) const;

 private:
  void Sweep(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::Time pcie_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time activity_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // Keyed by namespace; "" for all.
  std::map<std::string, LeaseSet<absl::Duration>> look_backs_ ABSL_GUARDED_BY(mutex_);
  absl::Time swept_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace gpuscaler
