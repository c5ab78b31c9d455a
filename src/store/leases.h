// What is wanted, and until when: costly readings, and how much of the past.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "model/costly_readings.h"
#include "store/look_backs.h"

namespace gpuscaler {

// What is kept of the past, asked for or not: as far as utilisation and the profiles of engines
// look back.
constexpr absl::Duration kShortestLookBack = absl::Minutes(2);

// A lease ends by itself: who still wants the reading renews it (DESIGN 3). Thread-safe.
class Leases {
 public:
  // Never shortens a longer lease.
  void Renew(const CostlyReadings& wanted, absl::Time until);

  CostlyReadings Subscription(absl::Time now) const;

  // Decisions on pods of these namespaces look back so far; of none: on whatever there is. What is
  // no longer than kShortestLookBack needs no lease.
  void RenewLookBack(const std::vector<std::string>& namespaces, absl::Duration look_back,
                     absl::Time now, absl::Time until);

  // How far decisions look back where pods of these namespaces are, to a minute more;
  // kShortestLookBack at least.
  absl::Duration LookBack(const std::set<std::string>& namespaces, absl::Time now) const;
  // Where nobody knows whose pods are.
  absl::Duration LongestLookBack(absl::Time now) const;

 private:
  void Sweep(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::Time pcie_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // By namespace; "": whatever there is.
  std::map<std::string, LookBacks> look_backs_ ABSL_GUARDED_BY(mutex_);
  absl::Time swept_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace gpuscaler
