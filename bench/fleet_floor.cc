// The minimum cost of a fleet of agents for an aggregator with gRPC: connects to all of them as the
// real one does, reads every message, and drops it.
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "telemetry.grpc.pb.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

std::atomic<int64_t> received = 0;
std::atomic<int> agents_heard = 0;

// Returns a channel with arguments that keep the cost of a connection low.
std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  constexpr int kReadChunk = 8 << 10;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 256 << 10);
  arguments.SetInt(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadChunk);
  arguments.SetInt(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadChunk);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

class Reader : public grpc::ClientBidiReactor<wire::Subscription, wire::Telemetry> {
 public:
  explicit Reader(const std::string& address)
      : stub_(wire::NodeTelemetry::NewStub(Connect(address))) {
    stub_->async()->Watch(&context_, this);
    StartWrite(&wanted_);
    StartRead(&message_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    ++received;
    if (!std::exchange(was_received_, true)) ++agents_heard;
    StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override {
    std::cerr << "fleet_floor: " << status.error_message() << "\n";
  }

 private:
  const std::unique_ptr<wire::NodeTelemetry::Stub> stub_;
  grpc::ClientContext context_;
  wire::Subscription wanted_;
  wire::Telemetry message_;
  bool was_received_ = false;
};

}  // namespace
}  // namespace gpuscaler

// Reads "HOST:PORT,HOST:PORT..."; for each line after that it prints "heard MESSAGES AGENTS". Ends
// at the end of standard input.
int main() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // a tenth of a call's CPU
  std::string line;
  std::getline(std::cin, line);
  std::vector<std::unique_ptr<gpuscaler::Reader>> readers;
  for (const auto address : absl::StrSplit(line, ',')) {
    readers.push_back(std::make_unique<gpuscaler::Reader>(std::string(address)));
  }
  while (std::getline(std::cin, line)) {
    std::cout << "heard " << gpuscaler::received << " " << gpuscaler::agents_heard << std::endl;
  }
  std::_Exit(0);
}
