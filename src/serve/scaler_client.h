// Asks a scaler what KEDA would ask, and understands the answers as KEDA does.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "explain.pb.h"
#include "fleetview.pb.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct ScalerClientOptions {
  std::string address;  // host:port
  bool tls = false;
  std::string ca;    // PEM file; empty: the system's authorities
  std::string cert;  // PEM files of the client's own certificate, where the scaler wants one
  std::string key;
  std::string server_name;  // the name the scaler's certificate bears; empty: the address's
  absl::Duration deadline = absl::Seconds(5);  // more than a scaler waits for a first reading
};

// One trigger of a ScaledObject, as KEDA names it to a scaler.
struct TriggerRef {
  std::string name;
  std::string namespace_name;
  Metadata metadata;
};

// Each call takes `deadline` at most. Errors are the scaler's own, or UNAVAILABLE and
// DEADLINE_EXCEEDED when it cannot be reached. Thread-safe.
class ScalerClient {
 public:
  // Does not wait for the connection. INVALID_ARGUMENT: a file that cannot be read, a certificate
  // without key or the reverse.
  static absl::StatusOr<std::unique_ptr<ScalerClient>> Open(const ScalerClientOptions& options);
  ~ScalerClient();

  absl::StatusOr<bool> IsActive(const TriggerRef& trigger) const;

  // INTERNAL when the reply does not hold exactly one spec.
  absl::StatusOr<MetricSpec> GetMetricSpec(const TriggerRef& trigger) const;

  // INTERNAL when the reply is empty; several values are added up, as the HPA does.
  absl::StatusOr<double> GetMetrics(const TriggerRef& trigger,
                                    const std::string& metric_name) const;

  // UNIMPLEMENTED: a scaler that is not this project's.
  absl::StatusOr<gpuscaler::v1::Explanation> Explain(const TriggerRef& trigger) const;

  // PERMISSION_DENIED: this is not the scaler's own host. UNIMPLEMENTED as Explain().
  absl::StatusOr<gpuscaler::v1::FleetView> View() const;

 private:
  class Impl;
  explicit ScalerClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
