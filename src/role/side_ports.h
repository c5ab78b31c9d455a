// The ports of a role besides gRPC's, and the certificates of all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "role/reloader.h"
#include "serve/grpc_server.h"
#include "serve/http_server.h"
#include "serve/probes.h"

namespace gpuscaler {

inline int AskedPort(int port) { return port == kAnyPort ? 0 : port; }

// Null: the port is off.
absl::StatusOr<std::unique_ptr<HttpServer>> OpenMetricsPort(const Config& config,
                                                            std::function<std::string()> page);
absl::StatusOr<std::unique_ptr<HttpServer>> OpenProbePort(const Config& config,
                                                          const Probes& probes);

// The certificates of the servers that have any; `metrics_page` may be null.
std::vector<Reloadable> Certificates(const Config& config, GrpcServer& grpc,
                                     HttpServer* metrics_page);

}  // namespace gpuscaler
