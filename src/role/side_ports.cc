#include "role/side_ports.h"

#include <utility>

#include "absl/strings/str_split.h"
#include "base/bound_port.h"
#include "role/option_value.h"

namespace gpuscaler {
namespace {

// Returns the name of the pod, or else that of the host or node.
std::string InstanceName(const Config& config) {
  const size_t slash = config.own_pod.find('/');
  return slash == std::string::npos ? config.node_name : config.own_pod.substr(slash + 1);
}

// Returns ::1 for 127.0.0.1 on a host without IPv4.
std::string WebAddress(const Config& config) {
  const std::string& address = config.web_bind_address;
  return address == "127.0.0.1" && !BoundPort::Open(address, 0).ok() ? "::1" : address;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> OpenMetricsPort(const Config& config,
                                                            std::function<std::string()> page) {
  if (config.metrics_port == 0) return nullptr;
  return HttpServer::Start({.bind_address = config.bind_address,
                            .port = PortToBind(config.metrics_port),
                            .tls = config.MetricsTls()},
                           {{"/metrics", [page = std::move(page)] {
                               return HttpReply{
                                   .content_type = "text/plain; version=0.0.4; charset=utf-8",
                                   .body = page()};
                             }}});
}

absl::StatusOr<std::unique_ptr<HttpServer>> OpenProbePort(const Config& config,
                                                          const Probes& probes) {
  if (config.probe_port == 0) return nullptr;
  return HttpServer::Start(
      {.bind_address = config.bind_address, .port = PortToBind(config.probe_port)},
      {{"/healthz", [&probes] { return probes.Healthz(); }},
       {"/readyz", [&probes] { return probes.Readyz(); }}});
}

absl::StatusOr<std::unique_ptr<WebPort>> OpenWebPort(const Config& config, const Clock& clock,
                                                     const FleetReader& fleets,
                                                     WebSources sources) {
  if (config.web_port == 0) return nullptr;
  // Streams hold a connection each.
  constexpr int kMostConnections = 64;
  WebServerOptions options;
  const std::string address = WebAddress(config);
  options.http = {.bind_address = address,
                  .port = PortToBind(config.web_port),
                  .tls = config.WebTls(),
                  .max_connections = kMostConnections};
  options.access = {.bind_address = address,
                    .hosts = absl::StrSplit(config.web_hosts, ',', absl::SkipEmpty()),
                    .token_file = config.web_token_file};
  options.only_this_host = config.WebIsOnLoopback();
  return WebPort::Open(options,
                       {.name = InstanceName(config),
                        .version = GPUSCALER_VERSION,
                        .commit = config.commit,
                        .role = std::string(WordOf(config.role)),
                        .started_at = clock.Now()},
                       clock, fleets,
                       {.stale_after = config.StaleAfter(),
                        .grace = config.grace,
                        .forget_after = config.forget_after},
                       std::move(sources));
}

std::vector<Reloadable> ReloadableFiles(const Config& config, const FileUsers& users) {
  std::vector<Reloadable> files;
  if (config.Tls().Enabled()) {
    files.push_back({ReloadTarget::kGrpcTls, [&grpc = users.grpc] { return grpc.ReloadTls(); }});
  }
  if (users.metrics_server != nullptr && config.MetricsTls().Enabled()) {
    files.push_back({ReloadTarget::kMetricsTls,
                     [server = users.metrics_server] { return server->ReloadTls(); }});
  }
  if (users.profiles != nullptr && users.profiles->HasFile()) {
    files.push_back(
        {ReloadTarget::kProfiles, [profiles = users.profiles] { return profiles->Reload(); }});
  }
  if (users.web != nullptr && config.WebTls().Enabled()) {
    files.push_back({ReloadTarget::kWebTls, [web = users.web] { return web->ReloadTls(); }});
  }
  if (users.web != nullptr && users.web->HasToken()) {
    files.push_back({ReloadTarget::kWebToken, [web = users.web] { return web->ReloadToken(); }});
  }
  if (users.prices != nullptr) {
    files.push_back({ReloadTarget::kPrices, [prices = users.prices] { return prices->Reload(); }});
  }
  return files;
}

}  // namespace gpuscaler
