// Look-backs of decisions, each with a lease.
#pragma once

#include <map>

#include "absl/time/time.h"

namespace gpuscaler {

// Not thread-safe.
class LookBackLeases {
 public:
  // Rounds up to a whole minute, because tenants may choose any number of different windows. Never
  // shortens a longer lease.
  void Renew(absl::Duration look_back, absl::Time until);

  // Returns zero if there is none.
  absl::Duration Longest(absl::Time now) const;

  // Removes expired ones.
  void Sweep(absl::Time now);
  bool empty() const { return until_.empty(); }

 private:
  std::map<absl::Duration, absl::Time> until_;
};

}  // namespace gpuscaler
