#include "fleet/engine_wants.h"

#include <algorithm>

namespace gpuscaler {

bool EngineWants::Renew(const EnginesWanted& wanted, absl::Time now, absl::Time until) {
  const EnginesWanted before = At(now);
  std::erase_if(wants_, [now](const auto& want) { return want.second.until <= now; });
  for (const auto& [name, wish] : wanted.namespaces) {
    if (wants_.size() >= kMostNamespacesWanted && !wants_.contains(name)) continue;
    Want& want = wants_[name];
    want.until = std::max(want.until, until);
    want.look_backs.Sweep(now);
    want.look_backs.Renew(wish.look_back, until);
    if (wish.histograms) want.histograms_until = std::max(want.histograms_until, until);
  }
  return At(now) != before;
}

EnginesWanted EngineWants::At(absl::Time now) const {
  EnginesWanted wanted;
  for (const auto& [name, want] : wants_) {
    if (want.until <= now) continue;
    wanted.namespaces[name] = {.histograms = want.histograms_until > now,
                               .look_back = want.look_backs.Longest(now)};
  }
  return wanted;
}

}  // namespace gpuscaler
