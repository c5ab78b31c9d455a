#include "role/side_ports.h"

#include <utility>

namespace gpuscaler {

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

std::vector<Reloadable> ReloadableFiles(const Config& config, GrpcServer& grpc,
                                        HttpServer* metrics_server, ProfileStore* profiles) {
  std::vector<Reloadable> files;
  if (config.Tls().Enabled()) {
    files.push_back({ReloadTarget::kGrpcTls, [&grpc] { return grpc.ReloadTls(); }});
  }
  if (metrics_server != nullptr && config.MetricsTls().Enabled()) {
    files.push_back(
        {ReloadTarget::kMetricsTls, [metrics_server] { return metrics_server->ReloadTls(); }});
  }
  if (profiles != nullptr && profiles->HasFile()) {
    files.push_back({ReloadTarget::kProfiles, [profiles] { return profiles->Reload(); }});
  }
  return files;
}

}  // namespace gpuscaler
