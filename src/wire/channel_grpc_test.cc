// The cases of channel_test.cc with Debian's gRPC as the server.
#include <grpc/grpc.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/test_folder.h"
#include "gtest/gtest.h"
#include "wire/test_channel.h"

namespace gpuscaler {
namespace {

std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

grpc::ByteBuffer Buffer(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

// TestPeer's methods, and Peer, which returns the client's address and port.
class PeerService : public grpc::CallbackGenericService {
 public:
  explicit PeerService(TestPeer::Counts& counts) : counts_(counts) {}

 private:
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    Reactor(grpc::GenericCallbackServerContext& context, TestPeer::Counts& counts)
        : context_(context), method_(context.method()), counts_(counts) {
      MutexLock lock(mutex_);
      for (const auto& [name, value] : context.client_metadata()) {
        if (name != "x-test") continue;
        context.AddInitialMetadata("x-test", std::string(value.begin(), value.end()));
        context.AddTrailingMetadata("x-test", std::string(value.begin(), value.end()));
      }
      StartRead(&incoming_);
    }

    void OnReadDone(bool ok) override {
      MutexLock lock(mutex_);
      if (!ok) {
        if (!absl::EndsWith(method_, "Hang") && left_ == 0) End(grpc::Status::OK);
        return;
      }
      ++counts_.messages;
      const std::string text = Text(incoming_);
      if (absl::EndsWith(method_, "Echo")) {
        outgoing_ = Buffer(text);
        StartWrite(&outgoing_);
      } else if (absl::EndsWith(method_, "Peer")) {
        outgoing_ = Buffer(context_.peer());
        StartWrite(&outgoing_);
      } else if (absl::EndsWith(method_, "Fail")) {
        End({grpc::StatusCode::NOT_FOUND, text});
      } else if (absl::EndsWith(method_, "Flood")) {
        left_ = std::stoi(text);
        outgoing_ = Buffer(std::string(kFlood, 'x'));
        StartWrite(&outgoing_);
      } else if (absl::EndsWith(method_, "Hang")) {
        StartRead(&incoming_);
      } else {
        End({grpc::StatusCode::UNIMPLEMENTED, absl::StrCat("there is no method ", method_)});
      }
    }
    void OnWriteDone(bool ok) override {
      MutexLock lock(mutex_);
      if (!ok) return;
      if (left_ == 0) return StartRead(&incoming_);
      ++counts_.flooded;
      if (--left_ == 0) return End(grpc::Status::OK);
      StartWrite(&outgoing_);
    }
    void OnCancel() override {
      MutexLock lock(mutex_);
      End(grpc::Status::CANCELLED);
    }
    void OnDone() override {
      ++counts_.ended_calls;
      delete this;
    }

   private:
    void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (!std::exchange(ended_, true)) Finish(status);
    }

    grpc::GenericCallbackServerContext& context_;
    const std::string method_;
    TestPeer::Counts& counts_;
    Mutex mutex_;  // OnCancel() may run beside the others
    grpc::ByteBuffer incoming_, outgoing_;
    int left_ ABSL_GUARDED_BY(mutex_) = 0;
    bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Reactor(*context, counts_);
  }

  TestPeer::Counts& counts_;
};

class GrpcPeer : public TestPeer {
 public:
  struct Options {
    bool is_unix = false;
    const TestCa* ca = nullptr;  // null: no TLS
    std::optional<int> connection_age_ms = std::nullopt;
  };

  static PeerKind Plain() {
    return {.name = "Plain",
            .start = [](const TestCa&) { return std::make_unique<GrpcPeer>(Options{}); }};
  }
  static PeerKind Tls() {
    return {.name = "Tls", .has_tls = true, .start = [](const TestCa& ca) {
              return std::make_unique<GrpcPeer>(Options{.ca = &ca});
            }};
  }
  static PeerKind UnixSocket() {
    return {.name = "UnixSocket", .start = [](const TestCa&) {
              return std::make_unique<GrpcPeer>(Options{.is_unix = true});
            }};
  }

  explicit GrpcPeer(const Options& options) {
    // gRPC's last shutdown waits for a poller, 10 s.
    [[maybe_unused]] static const bool is_kept = (grpc_init(), true);
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    if (options.connection_age_ms.has_value()) {
      builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, *options.connection_age_ms);
    }
    auto credentials = grpc::InsecureServerCredentials();
    if (options.ca != nullptr) {
      const TestCertificate pair = options.ca->Issue("server");
      grpc::SslServerCredentialsOptions ssl(
          GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
      ssl.pem_root_certs = options.ca->pem();
      ssl.pem_key_cert_pairs = {{pair.key, pair.cert}};
      credentials = grpc::SslServerCredentials(ssl);
    }
    address_ = absl::StrCat("unix:", folder_.PathOf("peer.sock"));
    int port = 0;
    builder.AddListeningPort(options.is_unix ? address_ : "127.0.0.1:0", credentials, &port);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    EXPECT_NE(server_, nullptr);
    if (!options.is_unix) address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~GrpcPeer() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const override { return address_; }
  void Drain() override {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(30));
  }

 private:
  const TestFolder folder_;
  std::string address_;
  PeerService service_{counts};
  std::unique_ptr<grpc::Server> server_;
};

INSTANTIATE_TEST_SUITE_P(Grpc, ChannelToPeer,
                         testing::Values(GrpcPeer::Plain(), GrpcPeer::Tls(),
                                         GrpcPeer::UnixSocket()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Grpc, ChannelToTlsPeer, testing::Values(GrpcPeer::Tls()), NameOf);
INSTANTIATE_TEST_SUITE_P(Grpc, ChannelToPlainPeer, testing::Values(GrpcPeer::Plain()), NameOf);

using ChannelToGrpc = ChannelTest;

TEST_F(ChannelToGrpc, ConnectsAgainAfterAGoaway) {
  peer_ = std::make_unique<GrpcPeer>(GrpcPeer::Options{.connection_age_ms = 50});
  target_.address = peer_->address();
  std::set<std::string> connections;
  while (connections.size() < 3) {
    const UnaryAnswer answer = Call("Peer", "");
    // A call may meet the GOAWAY on its way.
    if (!answer.end.status.ok()) {
      ASSERT_EQ(answer.end.status.code(), absl::StatusCode::kUnavailable) << answer.end.status;
    } else {
      connections.insert(answer.message);
    }
  }
}

}  // namespace
}  // namespace gpuscaler
