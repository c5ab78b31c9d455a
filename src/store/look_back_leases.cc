#include "store/look_back_leases.h"

#include <algorithm>

namespace gpuscaler {

void LookBackLeases::Renew(absl::Duration look_back, absl::Time until) {
  absl::Time& known =
      until_.try_emplace(absl::Ceil(look_back, absl::Minutes(1)), until).first->second;
  known = std::max(known, until);
}

absl::Duration LookBackLeases::Longest(absl::Time now) const {
  absl::Duration longest;
  for (const auto& [look_back, until] : until_) {
    if (now < until) longest = std::max(longest, look_back);
  }
  return longest;
}

void LookBackLeases::Sweep(absl::Time now) {
  std::erase_if(until_, [now](const auto& lease) { return lease.second <= now; });
}

}  // namespace gpuscaler
