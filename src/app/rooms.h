// What the roles have in common: the ports besides gRPC's, and the files that are read again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "app/config.h"
#include "app/reloader.h"
#include "base/periodic_thread.h"
#include "serve/grpc_server.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/probes.h"

namespace gpuscaler {

// A ConfigMap takes the kubelet up to a minute to write: a few seconds more are not felt.
constexpr absl::Duration kReloadInterval = absl::Seconds(5);

inline int AskedPort(int port) { return port == kAnyPort ? 0 : port; }

// Null: the port is off.
absl::StatusOr<std::unique_ptr<HttpServer>> OpenMetricsPort(const Config& config,
                                                            std::function<std::string()> page);
absl::StatusOr<std::unique_ptr<HttpServer>> OpenProbePort(const Config& config,
                                                          const Probes& probes);

// The certificates of the servers that have any; `metrics_page` may be null.
std::vector<Reloadable> Certificates(const Config& config, GrpcServer& grpc,
                                     HttpServer* metrics_page);

// Stops the threads by `deadline`, all told first and then asked; names those that still hang.
struct NamedThread {
  PeriodicThread* thread;  // null: there is none
  std::string name;
};
std::vector<std::string> StopAll(const std::vector<NamedThread>& threads, absl::Duration patience);

}  // namespace gpuscaler
