#include "store/leases.h"

#include <algorithm>

namespace gpuscaler {

void Leases::Renew(const CostlyReadings& wanted, absl::Time until) {
  MutexLock lock(mutex_);
  if (wanted.pcie) pcie_until_ = std::max(pcie_until_, until);
}

CostlyReadings Leases::Wanted(absl::Time now) const {
  MutexLock lock(mutex_);
  return {.pcie = now < pcie_until_};
}

}  // namespace gpuscaler
