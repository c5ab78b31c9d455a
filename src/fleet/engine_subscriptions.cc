#include "fleet/engine_subscriptions.h"

#include <algorithm>

namespace gpuscaler {

bool EngineSubscriptions::Renew(const EngineSubscription& wanted, absl::Time now,
                                absl::Time until) {
  const EngineSubscription before = At(now);
  std::erase_if(subscriptions_, [now](const auto& lease) { return lease.second.until <= now; });
  for (const auto& [name, interest] : wanted.namespaces) {
    if (subscriptions_.size() >= kMaxNamespacesSubscribed && !subscriptions_.contains(name))
      continue;
    NamespaceLease& lease = subscriptions_[name];
    lease.until = std::max(lease.until, until);
    lease.look_backs.Sweep(now);
    lease.look_backs.Renew(interest.look_back, until);
    if (interest.histograms) lease.histograms_until = std::max(lease.histograms_until, until);
  }
  return At(now) != before;
}

EngineSubscription EngineSubscriptions::At(absl::Time now) const {
  EngineSubscription wanted;
  for (const auto& [name, lease] : subscriptions_) {
    if (lease.until <= now) continue;
    wanted.namespaces[name] = {.histograms = lease.histograms_until > now,
                               .look_back = lease.look_backs.Longest(now)};
  }
  return wanted;
}

}  // namespace gpuscaler
