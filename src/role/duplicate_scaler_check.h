// Checks that only one standalone scaler is behind the Service name. Each one covers its own node
// alone, and KEDA calls any of several, so its value would depend on the one called.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/resolve.h"

namespace gpuscaler {

// Not thread-safe.
class DuplicateScalerCheck {
 public:
  using Resolve = std::function<absl::StatusOr<std::vector<std::string>>(const std::string& host)>;

  explicit DuplicateScalerCheck(std::string host, Resolve resolve = AddressesOf);

  // Warns if the name resolves to several scalers at two ticks in a row, because a rolling update
  // runs two for a moment. A name without an address is no evidence. It is also warned of at the
  // second tick, because it has none before the first scaler is ready. Counts addresses of one
  // family, because a pod may have one of each.
  void Tick();

 private:
  const std::string host_;
  const Resolve resolve_;
  bool several_ = false;  // at the last tick with an address
  bool warned_ = false;
  bool failed_ = false;  // at the last tick
  bool reported_failed_ = false;
};

}  // namespace gpuscaler
