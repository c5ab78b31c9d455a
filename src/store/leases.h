// Which costly readings are wanted, and until when.
#pragma once

#include "absl/time/time.h"
#include "base/mutex.h"
#include "model/costly_readings.h"

namespace gpuscaler {

// A lease ends by itself: who still wants the reading renews it (DESIGN 3). Thread-safe.
class Leases {
 public:
  // Never shortens a longer lease.
  void Renew(const CostlyReadings& wanted, absl::Time until);

  CostlyReadings Wanted(absl::Time now) const;

 private:
  mutable Mutex mutex_;
  absl::Time pcie_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace gpuscaler
