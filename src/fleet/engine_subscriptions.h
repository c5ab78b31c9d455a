// Which namespaces' engines the readers of an agent want, each for as long as its lease lasts.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "signal/engine_subscription.h"
#include "store/look_backs.h"

namespace gpuscaler {

// Far above what nodes have pods of, far below what a hostile reader would like to have kept.
inline constexpr size_t kMostNamespacesSubscribed = 4096;

// Not thread-safe.
class EngineSubscriptions {
 public:
  // True: more is wanted than before. Namespaces beyond kMostNamespacesSubscribed are not.
  bool Renew(const EngineSubscription& wanted, absl::Time now, absl::Time until);

  // What all of them together want.
  EngineSubscription At(absl::Time now) const;

 private:
  struct Want {
    absl::Time until = absl::InfinitePast();
    absl::Time histograms_until = absl::InfinitePast();
    LookBacks look_backs;
  };

  std::map<std::string, Want> subscriptions_;
};

}  // namespace gpuscaler
