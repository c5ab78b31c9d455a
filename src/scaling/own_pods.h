// Whose engines can matter to a decision: all others need not be looked at for it.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "model/fleet_history.h"
#include "scaling/workload_pods.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// A workload's pods, as an engine's place may name them. Immutable once shared.
class OwnPods {
 public:
  // With all that it is known to be at.
  void Add(absl::string_view pod, absl::string_view address);

  // An engine there may be one of theirs; false: it is none. A pod of another namespace that is
  // called alike is told apart by who decides.
  bool MayHave(absl::string_view pod, absl::string_view address) const {
    return pods_.contains(pod) || addresses_.contains(address);
  }

  bool empty() const { return pods_.empty() && addresses_.empty(); }
  size_t size_bytes() const;

 private:
  std::set<std::string, std::less<>> pods_;
  std::set<std::string, std::less<>> addresses_;
};

// Those of the fleet, holding GPUs or gone: Decide() is the same with their engines alone. Null:
// every engine counts, for they are named by their endpoint, or owners are not known.
std::shared_ptr<const OwnPods> OwnPodsOf(const Trigger& trigger,
                                         const ScaledObjectRef& scaled_object,
                                         const FleetHistory& fleet);

}  // namespace gpuscaler
