// The fixture of the cases in channel_test.cc, which any server must pass: ours, and Debian's gRPC.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/test_ca.h"
#include "gtest/gtest.h"
#include "wire/channel.h"
#include "wire/client_tls.h"
#include "wire/test_call.h"

namespace gpuscaler {

constexpr size_t kFlood = 64 << 10;  // bytes of each message

// A server with methods of bytes:
//   /test.Peer/Echo   answers each message with itself; sends the metadata "x-test" back, in its
//                     headers and trailers
//   /test.Peer/Fail   fails with NOT_FOUND and the first message as its text
//   /test.Peer/Hang   never answers
//   /test.Peer/Flood  sends as many messages of kFlood bytes as the first message asks for
class TestPeer {
 public:
  struct Counts {
    std::atomic<int> messages = 0, ended_calls = 0, flooded = 0;
  };

  virtual ~TestPeer() = default;
  virtual std::string address() const = 0;  // as in Target
  // Sends GOAWAY; blocks until all calls have ended, 30 s at most.
  virtual void Drain() = 0;

  Counts counts;
};

struct PeerKind {
  std::string name;
  bool has_tls = false;
  // Issues the server's certificate from `ca`, which clients need a certificate of too.
  std::function<std::unique_ptr<TestPeer>(const TestCa& ca)> start;
};
inline void PrintTo(const PeerKind& kind, std::ostream* out) { *out << kind.name; }
inline std::string NameOf(const testing::TestParamInfo<PeerKind>& info) { return info.param.name; }

class ChannelTest : public testing::TestWithParam<PeerKind> {
 protected:
  static constexpr absl::Duration kLong = absl::Seconds(60);

  void Serve(const PeerKind& kind) {
    peer_ = kind.start(ca_);
    ASSERT_NE(peer_, nullptr);
    target_.address = peer_->address();
    if (kind.has_tls) UseTls(ca_.Issue("client"));
  }

  void UseTls(const TestCertificate& pair) {
    auto tls = ClientTls({.cert = pair.cert, .key = pair.key, .ca = ca_.pem()});
    ASSERT_TRUE(tls.ok()) << tls.status();
    target_.tls = [context = *std::move(tls)] { return context; };
  }

  // Connects to `target_` as it is at the first use.
  Channel& channel() {
    if (channel_ == nullptr) channel_ = std::make_unique<Channel>(loop_, target_);
    return *channel_;
  }

  UnaryAnswer Call(const std::string& method, const std::string& request,
                   CallOptions options = {.timeout = kLong}) {
    return channel().CallRaw(absl::StrCat("/test.Peer/", method), request, std::move(options));
  }
  std::unique_ptr<BytesCall> Start(const std::string& method,
                                   const CallOptions& options = {.timeout = kLong},
                                   BytesCall::Reads reads = BytesCall::Reads::kAll) {
    return std::make_unique<BytesCall>(channel(), absl::StrCat("/test.Peer/", method), options,
                                       reads);
  }
  static void WaitFor(const std::atomic<int>& counter, int count) {
    while (counter < count) absl::SleepFor(absl::Milliseconds(1));
  }

  const TestCa ca_{"test CA"};
  std::unique_ptr<TestPeer> peer_;
  Target target_;
  EventLoop loop_;
  std::unique_ptr<Channel> channel_;
};

// All peers, those with TLS, and those without.
using ChannelToPeer = ChannelTest;
using ChannelToTlsPeer = ChannelTest;
using ChannelToPlainPeer = ChannelTest;

}  // namespace gpuscaler
