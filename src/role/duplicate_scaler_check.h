// Whether this scaler is alone behind its name. Each answers for its own node: of several KEDA asks
// now one, now another, and scales on what that one sees.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/resolve.h"

namespace gpuscaler {

// One thread's.
class DuplicateScalerCheck {
 public:
  using Resolve = std::function<absl::StatusOr<std::vector<std::string>>(const std::string& host)>;

  explicit DuplicateScalerCheck(std::string host, Resolve resolve = AddressesOf);

  // Warns when the name leads to several scalers for the second time in a row: an update runs two
  // for a moment. A name without an address tells nothing, and is warned of the second time too: it
  // has none before the first scaler is ready. A pod may have an address of each family.
  void Tick();

 private:
  const std::string host_;
  const Resolve resolve_;
  bool several_ = false;  // at the last tick that knew
  bool warned_ = false;
  bool failed_ = false;  // at the last tick
  bool reported_failed_ = false;
};

}  // namespace gpuscaler
