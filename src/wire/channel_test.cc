// Cases of any server, with our own as the peer (Debian's gRPC: channel_grpc_test.cc), and of
// addresses without one.
#include "wire/test_channel.h"

#include <sys/resource.h>

#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/bound_port.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Reads = BytesCall::Reads;

// A call of TestPeer's methods.
class PeerHandler : public ServerCall::Handler {
 public:
  PeerHandler(std::shared_ptr<ServerCall> call, TestPeer::Counts& counts)
      : call_(std::move(call)), counts_(counts) {
    const auto& path = call_->headers().path;
    method_ = path.substr(path.rfind('/') + 1);
    const auto found = call_->headers().metadata.find("x-test");
    if (found == call_->headers().metadata.end()) return;
    call_->AddHeader("x-test", found->second);
    call_->AddTrailer("x-test", found->second);
  }
  void OnMessage(std::string bytes) override {
    ++counts_.messages;
    if (method_ == "Echo") call_->Write(bytes);
    if (method_ == "Fail") call_->Finish(absl::NotFoundError(bytes));
    if (method_ != "Flood") return;
    left_ = std::stoi(bytes);
    OnWritten();
  }
  void OnLastMessage() override {
    if (method_ != "Hang" && method_ != "Flood") call_->Finish(absl::OkStatus());
  }
  void OnWritten() override {
    if (left_ == 0) return;
    ++counts_.flooded;
    call_->Write(std::string(kFlood, 'x'));
    if (--left_ == 0) call_->Finish(absl::OkStatus());
  }
  void OnEnd() override { ++counts_.ended_calls; }

 private:
  const std::shared_ptr<ServerCall> call_;
  TestPeer::Counts& counts_;
  std::string method_;
  int left_ = 0;
};

class WirePeer : public TestPeer {
 public:
  enum class At { kPort, kUnixSocket };

  static PeerKind Plain() {
    return {.name = "Plain",
            .start = [](const TestCa&) { return std::make_unique<WirePeer>(At::kPort); }};
  }
  static PeerKind Tls() {
    return {.name = "Tls", .has_tls = true, .start = [](const TestCa& ca) {
              const TestCertificate pair = ca.Issue("server");
              return std::make_unique<WirePeer>(
                  At::kPort, TlsPems{.cert = pair.cert, .key = pair.key, .ca = ca.pem()});
            }};
  }
  static PeerKind UnixSocket() {
    return {.name = "UnixSocket",
            .start = [](const TestCa&) { return std::make_unique<WirePeer>(At::kUnixSocket); }};
  }

  explicit WirePeer(At at, std::optional<TlsPems> tls = std::nullopt) : at_(at) {
    WireServerOptions options;
    options.bind_address = at == At::kPort ? "127.0.0.1" : unix_address_;
    options.tls = std::move(tls);
    Methods methods;
    for (const char* const name : {"Echo", "Fail", "Hang", "Flood"}) {
      methods[absl::StrCat("/test.Peer/", name)] = [this](const auto& call) {
        return std::make_unique<PeerHandler>(call, counts);
      };
    }
    server_ = WireServer::Start(std::move(options), std::move(methods)).value();
  }

  std::string address() const override {
    return at_ == At::kPort ? absl::StrCat("127.0.0.1:", server_->port()) : unix_address_;
  }
  void Drain() override { server_->Drain(absl::Seconds(30)); }

 private:
  const At at_;
  const TestFolder folder_;
  const std::string unix_address_ = absl::StrCat("unix:", folder_.PathOf("peer.sock"));
  std::unique_ptr<WireServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Wire, ChannelToPeer,
                         testing::Values(WirePeer::Plain(), WirePeer::Tls(),
                                         WirePeer::UnixSocket()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Wire, ChannelToTlsPeer, testing::Values(WirePeer::Tls()), NameOf);
INSTANTIATE_TEST_SUITE_P(Wire, ChannelToPlainPeer, testing::Values(WirePeer::Plain()), NameOf);

TEST_P(ChannelToPeer, MakesUnaryCalls) {
  Serve(GetParam());
  const std::string large(1'900'000, 'x');  // more than a window
  for (const std::string& text : {std::string("hello"), std::string(), large}) {
    const UnaryAnswer answer = Call("Echo", text);
    EXPECT_TRUE(answer.end.status.ok()) << answer.end.status;
    EXPECT_EQ(answer.message, text);
  }
}

TEST_P(ChannelToPeer, MakesBidirectionalCalls) {
  Serve(GetParam());
  const auto call = Start("Echo");
  std::vector<std::string> sent;
  for (const std::string text : {"a", "", "c"}) {
    call->Write(text);
    sent.push_back(text);
    EXPECT_EQ(call->WaitForMessages(sent.size()), sent);
  }
  call->WritesDone();
  EXPECT_EQ(call->WaitForEnd(), absl::OkStatus());
  call->Write("after the end");
  call->Cancel();
}

TEST_P(ChannelToPeer, KeepsTheServersStatusAndMetadata) {
  Serve(GetParam());
  const auto call = Start("Echo", {.timeout = kLong, .metadata = {{"x-test", "a value"}}});
  call->Send("a");
  EXPECT_TRUE(call->WaitForEnd().has_value());
  EXPECT_THAT(call->trailers(), ElementsAre(Pair("x-test", "a value")));
  EXPECT_THAT(call->headers(), ElementsAre(Pair("x-test", "a value")));
  EXPECT_EQ(Call("Fail", "no GPU: 100 %\n\xC3\xA4").end.status,
            absl::NotFoundError("no GPU: 100 %\n\xC3\xA4"));
  const absl::Status unknown = Call("Nothing", "").end.status;
  EXPECT_EQ(unknown.code(), absl::StatusCode::kUnimplemented) << unknown;
}

TEST_P(ChannelToPeer, EndsCallsAtTheirDeadline) {
  Serve(GetParam());
  ASSERT_TRUE(Call("Echo", "").end.status.ok());
  const absl::Status status = Call("Hang", "", {.timeout = absl::Milliseconds(50)}).end.status;
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  WaitFor(peer_->counts.ended_calls, 2);
}

TEST_P(ChannelToPeer, CancelsCalls) {
  Serve(GetParam());
  const auto call = Start("Hang");
  call->Write("a");
  WaitFor(peer_->counts.messages, 1);
  call->Cancel();
  EXPECT_EQ(call->WaitForEnd().value().code(), absl::StatusCode::kCancelled);
  WaitFor(peer_->counts.ended_calls, 1);
  EXPECT_TRUE(Call("Echo", "").end.status.ok()) << "the connection stays";
}

TEST_P(ChannelToPeer, RefusesLongMessages) {
  Serve(GetParam());
  const absl::Status status =
      Call("Echo", std::string(1001, 'x'), {.timeout = kLong, .longest_message = 1000}).end.status;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(status.message(), HasSubstr("1001 bytes"));
  EXPECT_TRUE(Call("Echo", "").end.status.ok()) << "the connection stays";
}

TEST_P(ChannelToPeer, ReaderThatPausesStopsTheServer) {
  Serve(GetParam());
  constexpr int kMessages = 300;
  const auto call = Start("Flood", {.timeout = kLong}, Reads::kOne);
  call->Write(absl::StrCat(kMessages));
  ASSERT_EQ(call->WaitForMessages(1).size(), 1);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Call("Echo", std::string(kFlood, 'x')).end.status.ok());
  EXPECT_EQ(call->messages().size(), 1) << "while others are read";
  EXPECT_LT(peer_->counts.flooded, kMessages);
  call->StartReading();
  EXPECT_EQ(call->WaitForEnd(), absl::OkStatus());
  EXPECT_EQ(call->messages().size(), kMessages);
}

TEST_P(ChannelToPeer, ReaderThatPausesReadsACallThatHasEndedAtTheServer) {
  Serve(GetParam());
  const auto call = Start("Echo", {.timeout = kLong}, Reads::kNever);
  call->Send("a");
  WaitFor(peer_->counts.ended_calls, 1);
  ASSERT_TRUE(Call("Echo", "").end.status.ok());  // comes behind the call's end
  EXPECT_FALSE(call->HasEnded());
  EXPECT_THAT(call->messages(), ElementsAre());
  call->StartReading();
  EXPECT_EQ(call->WaitForEnd(), absl::OkStatus());
  EXPECT_THAT(call->messages(), ElementsAre("a"));
}

TEST_P(ChannelToPeer, ReplacesPendingMessagesByTheNewest) {
  Serve(GetParam());
  absl::Notification go_on;
  loop_.Post([&] { go_on.WaitForNotification(); });
  const auto call = Start("Echo");
  for (const char* const text : {"1", "2", "3"}) call->WriteNewest(text);
  call->WritesDone();
  go_on.Notify();
  EXPECT_EQ(call->WaitForEnd(), absl::OkStatus());
  EXPECT_THAT(call->messages(), ElementsAre("3"));
}

TEST_P(ChannelToPeer, CallsEndWithTheirChannel) {
  Serve(GetParam());
  const auto connected = Start("Hang");
  connected->Write("a");
  WaitFor(peer_->counts.messages, 1);
  const auto fresh = Start("Hang");
  channel_ = nullptr;
  EXPECT_EQ(connected->WaitForEnd().value().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(fresh->WaitForEnd().value().code(), absl::StatusCode::kCancelled);
}

TEST_P(ChannelToPeer, ManyThreadsShareAChannel) {
  Serve(GetParam());
  channel();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      for (int k = 0; k < 50; ++k) {
        const std::string text = absl::StrCat(i, " ", k);
        EXPECT_EQ(Call("Echo", text).message, text);
        const auto call = Start("Echo");
        for (int n = 0; n < 10; ++n) call->WriteNewest(text);
        if (k % 2 == 0) call->Cancel();
        call->WritesDone();
        EXPECT_TRUE(call->WaitForEnd().has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ChannelToPeer, CallInFlightFinishesAfterAGoaway) {
  Serve(GetParam());
  const auto call = Start("Echo");
  call->Write("a");
  call->WaitForMessages(1);
  std::thread draining([this] { peer_->Drain(); });
  while (Call("Echo", "").end.status.ok()) absl::SleepFor(absl::Milliseconds(10));
  call->Write("b");
  EXPECT_THAT(call->WaitForMessages(2), ElementsAre("a", "b"));
  call->WritesDone();
  EXPECT_EQ(call->WaitForEnd(), absl::OkStatus());
  draining.join();
}

TEST_P(ChannelToTlsPeer, ClassifiesTlsFaults) {
  Serve(GetParam());
  const TestCa other("other CA");
  struct Case {
    const char* name;
    std::string authorities;
    TestCertificate pair;
    std::string server_name;
    HandshakeFault want;
    const char* text;
  };
  for (const Case& each : std::vector<Case>{
           {"untrusted server", other.pem(), ca_.Issue("client"), "", HandshakeFault::kUntrusted,
            "certificate verify failed: "},
           {"other name", ca_.pem(), ca_.Issue("client"), "elsewhere.example",
            HandshakeFault::kWrongName, "another name"},
           {"other IP address", ca_.pem(), ca_.Issue("client"), "192.0.2.1",
            HandshakeFault::kWrongName, "another name"},
           {"no client certificate", ca_.pem(), {}, "", HandshakeFault::kRejectedByPeer, "cert"},
           {"untrusted client", ca_.pem(), other.Issue("client"), "",
            HandshakeFault::kRejectedByPeer, ""}}) {
    SCOPED_TRACE(each.name);
    const auto tls =
        ClientTls({.cert = each.pair.cert, .key = each.pair.key, .ca = each.authorities});
    ASSERT_TRUE(tls.ok()) << tls.status();
    target_.tls = [context = *tls] { return context; };
    target_.server_name = each.server_name;
    channel_ = nullptr;
    const CallEnd end = Call("Echo", "").end;
    EXPECT_EQ(end.status.code(), absl::StatusCode::kUnavailable) << end.status;
    EXPECT_THAT(end.status.message(), HasSubstr(each.text));
    ASSERT_TRUE(end.connect_fault.has_value());
    ASSERT_TRUE(end.connect_fault->handshake.has_value()) << end.status;
    EXPECT_EQ(Name(*end.connect_fault->handshake), Name(each.want)) << end.status;
  }
}

TEST_P(ChannelToTlsPeer, NamesAServerThatNeedsTls) {
  Serve(GetParam());
  target_.tls = nullptr;
  const CallEnd end = Call("Echo", "").end;
  EXPECT_EQ(end.status.code(), absl::StatusCode::kUnavailable) << end.status;
  EXPECT_TRUE(end.connect_fault.has_value()) << end.status;
}

TEST_P(ChannelToTlsPeer, ResolvesNames) {
  Serve(GetParam());
  target_.address = absl::StrCat("localhost", target_.address.substr(target_.address.rfind(':')));
  const UnaryAnswer answer = Call("Echo", "a");
  EXPECT_TRUE(answer.end.status.ok()) << answer.end.status;
}

TEST_P(ChannelToTlsPeer, AcceptsAServerByItsOtherName) {
  Serve(GetParam());
  target_.server_name = "localhost";
  EXPECT_TRUE(Call("Echo", "").end.status.ok());
}

TEST_P(ChannelToPlainPeer, NamesAServerWithoutTls) {
  Serve(GetParam());
  UseTls({});
  const CallEnd end = Call("Echo", "").end;
  ASSERT_TRUE(end.connect_fault.has_value()) << end.status;
  EXPECT_EQ(end.connect_fault->handshake, HandshakeFault::kNoTls) << end.status;
}

TEST_F(ChannelTest, TrustsAnIntermediateAuthorityWithoutItsRoot) {
  const TestCa intermediate("intermediate CA", &ca_);
  peer_ = WirePeer::Tls().start(intermediate);
  const TestCertificate pair = intermediate.Issue("client");
  const auto tls = ClientTls({.cert = pair.cert, .key = pair.key, .ca = intermediate.pem()});
  ASSERT_TRUE(tls.ok()) << tls.status();
  target_ = {.address = peer_->address(), .tls = [context = *tls] { return context; }};
  EXPECT_EQ(Call("Echo", "").end.status, absl::OkStatus());
}

TEST_F(ChannelTest, ManyConnectionsShareALoop) {
  Serve(WirePeer::Plain());
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<std::unique_ptr<BytesCall>> calls;
  for (int i = 0; i < 100; ++i) {
    channels.push_back(std::make_unique<Channel>(loop_, target_));
    calls.push_back(std::make_unique<BytesCall>(*channels.back(), "/test.Peer/Echo",
                                                CallOptions{.timeout = kLong}));
    calls.back()->Write(absl::StrCat(i));
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(calls[i]->WaitForMessages(1), ElementsAre(absl::StrCat(i)));
    calls[i]->WritesDone();
    EXPECT_EQ(calls[i]->WaitForEnd(), absl::OkStatus());
  }
}

TEST_F(ChannelTest, NamesTheAddressAndTheReasonWhenNothingListens) {
  const auto port = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(port.ok());
  target_.address = absl::StrCat("127.0.0.1:", port->port());
  const CallEnd end = Call("Echo", "").end;
  EXPECT_EQ(end.status, absl::UnavailableError(absl::StrCat("cannot connect to ", target_.address,
                                                            ": Connection refused")));
  ASSERT_TRUE(end.connect_fault.has_value());
  EXPECT_EQ(end.connect_fault->system_error, ECONNREFUSED);
}

TEST_F(ChannelTest, ConnectsAgainAfterAShortageOfDescriptors) {
  Serve(WirePeer::Plain());
  const std::string by_address = target_.address;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const std::string& address :
       {by_address, absl::StrCat("localhost", by_address.substr(by_address.rfind(':')))}) {
    target_.address = address;
    channel_ = nullptr;
    const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    const absl::Status status = Call("Echo", "").end.status;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(status.message(), HasSubstr("Too many open files"));
    const absl::Time deadline = absl::Now() + kLong;
    absl::Status later = status;
    while (!later.ok() && absl::Now() < deadline) later = Call("Echo", "").end.status;
    EXPECT_EQ(later, absl::OkStatus());
  }
}

TEST_F(ChannelTest, NamesAllAddressesOfAName) {
  const auto port = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(port.ok());
  target_.address = absl::StrCat("localhost:", port->port());
  const absl::Status status = Call("Echo", "").end.status;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("cannot connect to ", target_.address)));
  EXPECT_THAT(status.message(), HasSubstr("127.0.0.1: Connection refused"));
}

TEST_F(ChannelTest, KeepsTheSystemsErrorOfAUnixSocket) {
  const TestFolder folder;
  for (const auto& [path, error] :
       {std::pair(folder.PathOf("missing.sock"), ENOENT), {std::string(200, 'x'), ENAMETOOLONG}}) {
    target_.address = absl::StrCat("unix:", path);
    channel_ = nullptr;
    const CallEnd end = Call("Echo", "").end;
    EXPECT_EQ(end.status.code(), absl::StatusCode::kUnavailable) << end.status;
    ASSERT_TRUE(end.connect_fault.has_value());
    EXPECT_EQ(end.connect_fault->system_error, error);
  }
}

TEST_F(ChannelTest, RefusesInvalidAddresses) {
  for (const char* const address : {"", "host", "host:", ":80", "::1:80", "host:0", "host:70000"}) {
    target_.address = address;
    channel_ = nullptr;
    const absl::Status status = Call("Echo", "").end.status;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address << ": " << status;
  }
}

TEST(ClientTls, RefusesUnusableTexts) {
  const TestCa ca("test CA");
  const TestCertificate one = ca.Issue("one"), two = ca.Issue("two");
  for (const TlsPems& pems :
       std::vector<TlsPems>{{.ca = "text"},
                            {.cert = "text", .key = one.key, .ca = ca.pem()},
                            {.cert = one.cert, .key = "", .ca = ca.pem()},
                            {.cert = one.cert, .key = two.key, .ca = ca.pem()}}) {
    EXPECT_EQ(ClientTls(pems).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace gpuscaler
