// Keys that clients lease: each is in use until its lease expires, unless a client renews it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/time/time.h"

namespace gpuscaler {

// Not thread-safe. Expired leases stay until Sweep().
template <typename Key>
class LeaseSet {
 public:
  // Never shortens a longer lease. Returns true if the key is new.
  bool Renew(const Key& key, absl::Time until) {
    const auto [lease, is_new] = until_.try_emplace(key, until);
    lease->second = std::max(lease->second, until);
    return is_new;
  }

  // Removes expired leases. Returns true if there were any.
  bool Sweep(absl::Time now) {
    return std::erase_if(until_, [now](const auto& lease) { return lease.second <= now; }) > 0;
  }

  bool contains(const Key& key) const { return until_.contains(key); }
  bool empty() const { return until_.empty(); }
  size_t size() const { return until_.size(); }

  // Pairs of a key and the end of its lease, in the order of the keys.
  auto begin() const { return until_.begin(); }
  auto end() const { return until_.end(); }

 private:
  std::map<Key, absl::Time> until_;
};

}  // namespace gpuscaler
