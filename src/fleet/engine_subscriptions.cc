#include "fleet/engine_subscriptions.h"

#include <algorithm>

namespace gpuscaler {

bool EngineSubscriptions::Renew(const EngineSubscription& wanted, absl::Time now,
                                absl::Time until) {
  const EngineSubscription before = At(now);
  std::erase_if(subscriptions_, [now](const auto& want) { return want.second.until <= now; });
  for (const auto& [name, interest] : wanted.namespaces) {
    if (subscriptions_.size() >= kMostNamespacesSubscribed && !subscriptions_.contains(name))
      continue;
    Want& want = subscriptions_[name];
    want.until = std::max(want.until, until);
    want.look_backs.Sweep(now);
    want.look_backs.Renew(interest.look_back, until);
    if (interest.histograms) want.histograms_until = std::max(want.histograms_until, until);
  }
  return At(now) != before;
}

EngineSubscription EngineSubscriptions::At(absl::Time now) const {
  EngineSubscription wanted;
  for (const auto& [name, want] : subscriptions_) {
    if (want.until <= now) continue;
    wanted.namespaces[name] = {.histograms = want.histograms_until > now,
                               .look_back = want.look_backs.Longest(now)};
  }
  return wanted;
}

}  // namespace gpuscaler
