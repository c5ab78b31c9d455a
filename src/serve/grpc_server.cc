#include "serve/grpc_server.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status_macros.h"
#include "wire/protobuf_log.h"

namespace gpuscaler {
namespace {

constexpr char kScaler[] = "externalscaler.ExternalScaler";

// No call takes longer, so one that is still open has a client that does not read.
constexpr absl::Duration kLongestAnswer = absl::Seconds(2);

// Returns "pkg.Service" for "/pkg.Service/Method".
std::string ServiceOf(const std::string& path) { return path.substr(1, path.rfind('/') - 1); }

std::vector<std::string> ServicesOf(const Methods& methods) {
  std::set<std::string> services;
  for (const auto& [path, start] : methods) services.insert(ServiceOf(path));
  return {services.begin(), services.end()};
}

}  // namespace

SessionLimits ScalerLimits(int max_streams_per_peer) {
  const auto streams = static_cast<size_t>(max_streams_per_peer);
  SessionLimits limits;
  limits.streams = std::max<uint32_t>(limits.streams, streams + streams / 5);
  limits.streams_per_address = std::max<size_t>(limits.streams_per_address, limits.streams);
  limits.resets_at_once =
      std::max<uint64_t>(limits.resets_at_once, limits.streams_per_address * 5 / 4);
  limits.streams_in_all = std::max(limits.streams_in_all, 3 * limits.streams_per_address);
  return limits;
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const WireServerOptions& options,
                                                              const TlsFiles& tls,
                                                              Methods methods) {
  TakeOverProtobufLog();
  std::unique_ptr<GrpcServer> server(new GrpcServer(tls));
  RETURN_IF_ERROR(server->Listen(options, std::move(methods)));
  return server;
}

absl::Status GrpcServer::Listen(WireServerOptions options, Methods methods) {
  MutexLock lock(mutex_);
  if (tls_reader_.files().Enabled()) {
    ASSIGN_OR_RETURN(tls_, tls_reader_.Read());
  }
  options.tls = tls_;
  health_.SetServing(kScaler, false);
  methods.merge(health_.methods());
  reflection_.emplace(ServicesOf(methods));
  methods.merge(reflection_->methods());
  ASSIGN_OR_RETURN(server_, WireServer::Start(std::move(options), std::move(methods)));
  return absl::OkStatus();
}

void GrpcServer::SetScalerServing(bool serving) { health_.SetServing(kScaler, serving); }

absl::Status GrpcServer::ReloadTls() {
  if (!tls_reader_.files().Enabled()) return absl::OkStatus();
  ASSIGN_OR_RETURN(TlsPems pems, tls_reader_.Read());
  MutexLock lock(mutex_);
  if (pems == tls_) return absl::OkStatus();
  RETURN_IF_ERROR(server_->SetTls(pems));
  tls_ = std::move(pems);
  LogInfo("tls_reloaded", {{"port", port()}, {"cert", tls_reader_.files().cert}});
  return absl::OkStatus();
}

void GrpcServer::Drain(absl::Duration timeout) {
  health_.Shutdown();
  if (server_ != nullptr) server_->Drain(std::min(timeout, kLongestAnswer));
}

}  // namespace gpuscaler
