// How far decisions look back on something, for as long as each of them is still made.
#pragma once

#include <map>

#include "absl/time/time.h"

namespace gpuscaler {

// Not thread-safe.
class LookBacks {
 public:
  // Counts as the next whole minute: tenants choose their windows, and there are few of these.
  // Never shortens a longer lease.
  void Renew(absl::Duration look_back, absl::Time until);

  // Zero: none.
  absl::Duration Longest(absl::Time now) const;

  // Those that have ended are forgotten.
  void Sweep(absl::Time now);
  bool empty() const { return until_.empty(); }

 private:
  std::map<absl::Duration, absl::Time> until_;
};

}  // namespace gpuscaler
