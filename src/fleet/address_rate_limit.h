// A token bucket for each client address.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "wire/token_bucket.h"

namespace gpuscaler {

// Has a bucket only for addresses that have used tokens, and at most `kMostAddresses`. Beyond that
// a new address replaces another one, which then has a full bucket. Not thread-safe.
class AddressRateLimit {
 public:
  static constexpr size_t kMostAddresses = 1024;  // as many as an agent has connections

  AddressRateLimit(int at_once, int per_second) : at_once_(at_once), per_second_(per_second) {}

  // Takes a token of the address. Returns false if it has none. `now` never goes back.
  bool Take(const std::string& address, absl::Time now) {
    std::erase_if(buckets_, [now](const auto& each) { return each.second.IsFull(now); });
    if (buckets_.size() == kMostAddresses && !buckets_.contains(address)) {
      buckets_.erase(buckets_.begin());
    }
    return buckets_.try_emplace(address, at_once_, per_second_).first->second.Take(now);
  }

  size_t size() const { return buckets_.size(); }  // addresses that have a bucket

 private:
  const int at_once_;
  const int per_second_;
  std::map<std::string, TokenBucket> buckets_;
};

}  // namespace gpuscaler
