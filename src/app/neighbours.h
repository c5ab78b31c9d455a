// Whether this scaler is alone behind its name. Each answers for its own node: of several KEDA asks
// now one, now another, and scales on what that one sees.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gpuscaler {

// Of one family, as a pod may have an address of each; sorted, each once. Asks the system's
// resolver, which may take many seconds to give up.
absl::StatusOr<std::vector<std::string>> AddressesOfOneFamily(const std::string& host);

// One thread's.
class Neighbours {
 public:
  using Resolve = std::function<absl::StatusOr<std::vector<std::string>>(const std::string& host)>;

  explicit Neighbours(std::string host, Resolve resolve = AddressesOfOneFamily);

  // Warns when the name leads to several scalers for the second time in a row: an update runs two
  // for a moment. A name that does not resolve tells nothing, and is warned of the second time too:
  // it has no address before the first scaler is ready.
  void Tick();

 private:
  const std::string host_;
  const Resolve resolve_;
  bool several_ = false;  // at the last tick that knew
  bool warned_ = false;
  bool failed_ = false;  // at the last tick
  bool told_failed_ = false;
};

}  // namespace gpuscaler
