#include "fleet/agent_channel.h"

#include <grpcpp/grpcpp.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace gpuscaler {
namespace {

// What an agent sends at once is 256 KiB and one reading more.
constexpr int kLargestMessage = 4 << 20;
constexpr int kWindow = 256 << 10;

constexpr int kReadChunk = 8 << 10;  // a reading of a busy node is 253 bytes

// The kernel would go on for 15 minutes with a connection whose cable is cut.
constexpr absl::Duration kKeepalive = absl::Seconds(10);
constexpr absl::Duration kUnanswered = absl::Seconds(5);

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

}  // namespace

std::shared_ptr<grpc::Channel> ConnectToAgent(const AgentConnection& connection,
                                              const std::string& address) {
  // Debian's abseil looks for deadlocks at each lock that gRPC takes: a tenth of a call's CPU.
  static const bool kLooksForNone = [] {
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    return true;
  }();
  static_cast<void>(kLooksForNone);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // the agent itself, not a proxy's view of it
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kKeepalive));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kUnanswered));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  // There are thousands of channels, each with a message a second: no ping after each of them to
  // measure how wide the wire is, and no buffer that stays as large as the past once was.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindow);
  arguments.SetInt(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadChunk);
  arguments.SetInt(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadChunk);
  if (!connection.server_name.empty()) arguments.SetSslTargetNameOverride(connection.server_name);
  return grpc::CreateCustomChannel(
      address,
      connection.credentials ? connection.credentials() : grpc::InsecureChannelCredentials(),
      arguments);
}

}  // namespace gpuscaler
