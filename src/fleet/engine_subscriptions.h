// The namespaces that an agent's readers subscribe to, each until its lease ends.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "signal/engine_subscription.h"
#include "store/look_back_leases.h"

namespace gpuscaler {

// Far above the namespaces on a node, and far below what a hostile reader might send.
inline constexpr size_t kMaxNamespacesSubscribed = 4096;

// Not thread-safe.
class EngineSubscriptions {
 public:
  // Returns true if the union has grown. Namespaces beyond kMaxNamespacesSubscribed are ignored.
  bool Renew(const EngineSubscription& wanted, absl::Time now, absl::Time until);

  // Returns the union of all subscriptions.
  EngineSubscription At(absl::Time now) const;

 private:
  struct NamespaceLease {
    absl::Time until = absl::InfinitePast();
    absl::Time histograms_until = absl::InfinitePast();
    LookBackLeases look_backs;
  };

  std::map<std::string, NamespaceLease> subscriptions_;
};

}  // namespace gpuscaler
