// A client that calls a scaler and interprets its replies as KEDA does.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "explain.pb.h"
#include "fleetview.pb.h"
#include "trigger/trigger.h"
#include "wire/channel.h"

namespace gpuscaler {

struct ScalerClientOptions {
  std::string address;  // host:port
  bool tls = false;
  std::string ca;    // PEM file; empty: the system's authorities
  std::string cert;  // PEM files of a client certificate, if the scaler requires one
  std::string key;
  std::string server_name;  // the name in the scaler's certificate; empty: the address's host
  absl::Duration deadline = absl::Seconds(5);  // longer than a scaler waits for a first reading
};

// One trigger of a ScaledObject, as in KEDA's requests.
struct TriggerRef {
  std::string name;
  std::string namespace_name;
  Metadata metadata;
};

// Each call blocks for `deadline` at most. It returns the scaler's own error, or UNAVAILABLE or
// DEADLINE_EXCEEDED if the scaler cannot be reached. Thread-safe.
class ScalerClient {
 public:
  // Does not wait for the connection. Returns INVALID_ARGUMENT if a file cannot be read, or there
  // is a certificate without a key or the reverse.
  static absl::StatusOr<std::unique_ptr<ScalerClient>> Open(const ScalerClientOptions& options);

  absl::StatusOr<bool> IsActive(const TriggerRef& trigger) const;

  // Returns INTERNAL if the reply does not have exactly one spec.
  absl::StatusOr<MetricSpec> GetMetricSpec(const TriggerRef& trigger) const;

  // Returns the sum of the values, as the HPA does, or INTERNAL if there is none.
  absl::StatusOr<double> GetMetrics(const TriggerRef& trigger,
                                    const std::string& metric_name) const;

  // Returns UNIMPLEMENTED if the scaler is not one of this project.
  absl::StatusOr<gpuscaler::v1::Explanation> Explain(const TriggerRef& trigger) const;

  // Returns PERMISSION_DENIED unless called on the scaler's own host, and UNIMPLEMENTED as
  // Explain() does.
  absl::StatusOr<gpuscaler::v1::FleetView> View() const;

 private:
  ScalerClient(Target target, absl::Duration deadline)
      : channel_(loop_, std::move(target)), deadline_(deadline) {}

  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Call(const char* method, const Request& request) const;

  EventLoop loop_;
  mutable Channel channel_;
  const absl::Duration deadline_;
};

}  // namespace gpuscaler
