// The engines that matter to a decision. All others can be skipped.
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

// Names and addresses of a workload's pods. Immutable once shared.
class WorkloadPodNames {
 public:
  // Adds a pod with one of its addresses. Either may be empty.
  void Add(absl::string_view pod, absl::string_view address);

  // Returns false if an engine there belongs to none of the pods. Returns true also for a pod of
  // the same name in another namespace, which Decide() excludes.
  bool MayHave(absl::string_view pod, absl::string_view address) const {
    return pods_.contains(pod) || addresses_.contains(address);
  }

  bool empty() const { return pods_.empty() && addresses_.empty(); }
  size_t size_bytes() const;

 private:
  std::set<std::string, std::less<>> pods_;
  std::set<std::string, std::less<>> addresses_;
};

// Returns the workload's pods of the fleet, present and gone: Decide() returns the same with their
// engines alone. Returns null if every engine counts, because the endpoint is named or owners are
// not known.
std::shared_ptr<const WorkloadPodNames> WorkloadPodNamesOf(const Trigger& trigger,
                                                           const ScaledObjectRef& scaled_object,
                                                           const FleetHistory& fleet);

}  // namespace gpuscaler
