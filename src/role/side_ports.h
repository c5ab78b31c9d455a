// The metrics and probe ports of a role, and the files that it reloads.
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
#include "serve/profile_store.h"

namespace gpuscaler {

// 0: any free port.
inline int PortToBind(int port) { return port == kAnyPort ? 0 : port; }

// These return null if the port is off.
absl::StatusOr<std::unique_ptr<HttpServer>> OpenMetricsPort(const Config& config,
                                                            std::function<std::string()> page);
absl::StatusOr<std::unique_ptr<HttpServer>> OpenProbePort(const Config& config,
                                                          const Probes& probes);

// A server without TLS adds nothing, nor do `profiles` without a file. `metrics_server` and
// `profiles` may be null.
std::vector<Reloadable> ReloadableFiles(const Config& config, GrpcServer& grpc,
                                        HttpServer* metrics_server, ProfileStore* profiles);

}  // namespace gpuscaler
