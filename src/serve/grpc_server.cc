#include "serve/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/bound_port.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "rpc/grpc_log.h"
#include "rpc/reloading_credentials.h"
#include "serve/acceptor.h"

namespace gpuscaler {
namespace {

constexpr char kScaler[] = "externalscaler.ExternalScaler";

// A Kubernetes object has 1.5 MiB at most: whatever KEDA sends gets an answer in words.
constexpr int kLargestMessage = 2 << 20;
constexpr int kLargestHeaders = 16 << 10;
// Only reflection takes threads, one for each call: four are plenty.
constexpr int kMostThreads = 4;
// What is open longer than any answer takes (DESIGN 3) is a Watch of health, which does not end by
// itself, or a client that does not read.
constexpr absl::Duration kLongestAnswer = absl::Seconds(2);

// A client that does not acknowledge for so long has gone.
constexpr absl::Duration kUnanswered = absl::Seconds(20);

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void SetLimits(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kLargestMessage);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kLargestHeaders);
  // A call beyond such a limit would hang behind the streams (DESIGN 3).
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, INT_MAX);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                             Milliseconds(options.max_connection_age));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             Milliseconds(options.max_connection_age_grace));
  // A client that vanished is noticed; one that pings as often as it likes is not punished.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(absl::Minutes(1)));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kUnanswered));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  grpc::ResourceQuota quota("server");
  builder.SetResourceQuota(quota.SetMaxThreads(kMostThreads));
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
}

// As gRPC does for the connections that it accepts itself.
void SetOptions(int connection) {
  const int on = 1, milliseconds = Milliseconds(kUnanswered);
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}

}  // namespace

class GrpcServer::Impl {
 public:
  Impl(GrpcServerOptions options, std::optional<TlsPems> pems) : options_(std::move(options)) {
    if (pems) pair_.emplace(*std::move(pems));
  }

  ~Impl() { Drain(absl::ZeroDuration()); }

  absl::Status Start(const std::vector<grpc::Service*>& services) {
    ASSIGN_OR_RETURN(BoundPort bound, BoundPort::Open(options_.bind_address, options_.port));
    port_ = bound.port();
    ASSIGN_OR_RETURN(const int listening, std::move(bound).Listen());
    grpc::ServerBuilder builder;
    SetLimits(options_, builder);
    connections_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        pair_ ? ReloadingCredentials(*pair_) : grpc::InsecureServerCredentials());
    for (grpc::Service* service : services) builder.RegisterService(service);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      close(listening);
      return absl::UnavailableError("cannot start the gRPC server");
    }
    SetScalerServing(false);
    acceptor_ = std::make_unique<Acceptor>(
        listening, [this, listening](int connection) { Serve(listening, connection); });
    return absl::OkStatus();
  }

  int port() const { return port_; }

  void SetScalerServing(bool serving) {
    server_->GetHealthCheckService()->SetServingStatus(kScaler, serving);
  }

  absl::Status ReloadTls() {
    if (!pair_) return absl::OkStatus();
    ASSIGN_OR_RETURN(TlsPems pems, ReadTls(options_.tls));
    if (pair_->Replace(std::move(pems))) {
      LogInfo("tls_reloaded", {{"port", port_}, {"cert", options_.tls.cert}});
    }
    return absl::OkStatus();
  }

  void Drain(absl::Duration staleness) {
    if (server_ == nullptr) return;
    acceptor_ = nullptr;
    server_->GetHealthCheckService()->Shutdown();
    server_->Shutdown(absl::ToChronoTime(absl::Now() + std::min(staleness, kLongestAnswer)));
    server_->Wait();
  }

 private:
  void Serve(int listening, int connection) {
    SetOptions(connection);
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
    taken.listener_fd = listening;
    taken.fd = connection;
    connections_->HandleNewConnection(&taken);
  }

  const GrpcServerOptions options_;
  std::optional<TlsPair> pair_;
  int port_ = 0;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;
};

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const GrpcServerOptions& options, const std::vector<grpc::Service*>& services) {
  TakeOverGrpcLog();
  static const bool kPlugins = [] {
    // Debian's abseil looks for deadlocks at every lock that gRPC takes: a tenth of a call's CPU.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  static_cast<void>(kPlugins);
  std::optional<TlsPems> pems;
  if (options.tls.Enabled()) {
    ASSIGN_OR_RETURN(pems, ReadTls(options.tls));
  }
  auto impl = std::make_unique<Impl>(options, std::move(pems));
  RETURN_IF_ERROR(impl->Start(services));
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(impl)));
}

GrpcServer::GrpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcServer::~GrpcServer() = default;
int GrpcServer::port() const { return impl_->port(); }
void GrpcServer::SetScalerServing(bool serving) { impl_->SetScalerServing(serving); }
absl::Status GrpcServer::ReloadTls() { return impl_->ReloadTls(); }
void GrpcServer::Drain(absl::Duration staleness) { impl_->Drain(staleness); }

}  // namespace gpuscaler
