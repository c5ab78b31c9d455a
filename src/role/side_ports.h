// The metrics, probe and web ports of a role, and the files that it reloads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "model/fleet_reader.h"
#include "role/config.h"
#include "role/fleet_prices.h"
#include "role/reloader.h"
#include "serve/grpc_server.h"
#include "serve/http_server.h"
#include "serve/probes.h"
#include "serve/profile_store.h"
#include "web/web_api.h"
#include "web/web_port.h"

namespace gpuscaler {

// 0: any free port.
inline int PortToBind(int port) { return port == kAnyPort ? 0 : port; }

// These return null if the port is off.
absl::StatusOr<std::unique_ptr<HttpServer>> OpenMetricsPort(const Config& config,
                                                            std::function<std::string()> page);
absl::StatusOr<std::unique_ptr<HttpServer>> OpenProbePort(const Config& config,
                                                          const Probes& probes);

absl::StatusOr<std::unique_ptr<WebPort>> OpenWebPort(const Config& config, const Clock& clock,
                                                     const FleetReader& fleets, WebSources sources);

// The readers of files. Any but `grpc` may be null.
struct FileUsers {
  GrpcServer& grpc;
  HttpServer* metrics_server = nullptr;
  ProfileStore* profiles = nullptr;
  WebPort* web = nullptr;
  FleetPrices* prices = nullptr;
};

// A server without TLS adds nothing, nor do users without a file.
std::vector<Reloadable> ReloadableFiles(const Config& config, const FileUsers& users);

}  // namespace gpuscaler
