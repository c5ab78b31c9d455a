#include "model/leases.h"

#include <algorithm>

namespace gpuscaler {
namespace {

// Clients choose the names. Beyond this number a look-back counts for all namespaces.
constexpr size_t kMaxNamespaces = 10'000;

constexpr absl::Duration kSweepEvery = absl::Minutes(1);

// Zero: none.
absl::Duration Longest(const LeaseSet<absl::Duration>& look_backs, absl::Time now) {
  absl::Duration longest;
  for (const auto& [look_back, until] : look_backs) {
    if (now < until) longest = std::max(longest, look_back);
  }
  return longest;
}

}  // namespace

void Leases::Renew(const CostlyReadings& readings, absl::Time until) {
  MutexLock lock(mutex_);
  if (readings.pcie) pcie_until_ = std::max(pcie_until_, until);
  if (readings.activity) activity_until_ = std::max(activity_until_, until);
}

CostlyReadings Leases::Subscription(absl::Time now) const {
  MutexLock lock(mutex_);
  return {.pcie = now < pcie_until_, .activity = now < activity_until_};
}

void Leases::RenewLookBack(const std::vector<std::string>& namespaces, absl::Duration look_back,
                           absl::Time now, absl::Time until) {
  if (look_back <= kShortestLookBack) return;
  MutexLock lock(mutex_);
  if (now - swept_at_ >= kSweepEvery) Sweep(now);
  look_back = absl::Ceil(look_back, kLookBackStep);
  for (const std::string& name : namespaces.empty() ? std::vector<std::string>{""} : namespaces) {
    const bool room = look_backs_.size() < kMaxNamespaces || look_backs_.contains(name);
    look_backs_[room ? name : ""].Renew(look_back, until);
  }
}

void Leases::Sweep(absl::Time now) {
  swept_at_ = now;
  for (auto& entry : look_backs_) entry.second.Sweep(now);
  std::erase_if(look_backs_, [](const auto& entry) { return entry.second.empty(); });
}

absl::Duration Leases::LookBack(const std::set<std::string>& namespaces, absl::Time now) const {
  MutexLock lock(mutex_);
  absl::Duration longest = kShortestLookBack;
  const auto all = look_backs_.find("");
  if (all != look_backs_.end()) longest = std::max(longest, Longest(all->second, now));
  for (const std::string& name : namespaces) {
    const auto found = look_backs_.find(name);
    if (found != look_backs_.end()) longest = std::max(longest, Longest(found->second, now));
  }
  return longest;
}

absl::Duration Leases::LongestLookBack(absl::Time now) const {
  MutexLock lock(mutex_);
  absl::Duration longest = kShortestLookBack;
  for (const auto& entry : look_backs_) longest = std::max(longest, Longest(entry.second, now));
  return longest;
}

}  // namespace gpuscaler
