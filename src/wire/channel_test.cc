// Debian's gRPC and our own server are the peers; faults are written by hand.
#include "wire/channel.h"

#include <arpa/inet.h>
#include <grpc/grpc.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/bound_port.h"
#include "base/mutex.h"
#include "base/test_ca.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wire/client_tls.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr absl::Duration kLong = absl::Seconds(60);

// Keeps what a call brings.
class Recorder : public ClientCall::Listener {
 public:
  void OnHeaders(const Metadata& headers) override {
    MutexLock lock(mutex_);
    headers_ = headers;
  }
  void OnMessage(std::string bytes) override {
    std::function<void()> then;
    {
      MutexLock lock(mutex_);
      messages_.push_back(std::move(bytes));
      then = on_message_;
      changed_.NotifyAll();
    }
    if (then) then();
  }
  void OnEnd(const CallEnd& end) override {
    MutexLock lock(mutex_);
    ++ends_;
    end_ = end;
    changed_.NotifyAll();
  }

  void SetOnMessage(std::function<void()> then) {
    MutexLock lock(mutex_);
    on_message_ = std::move(then);
  }
  std::vector<std::string> WaitForMessages(size_t count) {
    MutexLock lock(mutex_);
    while (messages_.size() < count && ends_ == 0) changed_.Wait(mutex_);
    return messages_;
  }
  CallEnd WaitForEnd() {
    MutexLock lock(mutex_);
    while (ends_ == 0) changed_.Wait(mutex_);
    EXPECT_EQ(ends_, 1);
    return end_;
  }
  std::vector<std::string> messages() {
    MutexLock lock(mutex_);
    return messages_;
  }
  Metadata headers() {
    MutexLock lock(mutex_);
    return headers_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::function<void()> on_message_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> messages_ ABSL_GUARDED_BY(mutex_);
  Metadata headers_ ABSL_GUARDED_BY(mutex_);
  CallEnd end_ ABSL_GUARDED_BY(mutex_);
  int ends_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The methods of both peers, by the last part of their names:
//   Echo   answers each message with itself
//   Fail   fails with the first message as its text
//   Hang   never answers
//   Flood  sends as many messages of 64 KiB as the first message asks
//   Peer   returns the client's address and port (Debian's gRPC alone)
struct PeerCounts {
  std::atomic<int> got = 0, ended = 0, sent = 0;
};
constexpr size_t kFlood = 64 << 10;

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

class GrpcPeer : public grpc::CallbackGenericService {
 public:
  explicit GrpcPeer(PeerCounts& counts) : counts_(counts) {}

 private:
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    Reactor(grpc::GenericCallbackServerContext& context, PeerCounts& counts)
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
      ++counts_.got;
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
      ++counts_.sent;
      if (--left_ == 0) return End(grpc::Status::OK);
      StartWrite(&outgoing_);
    }
    void OnCancel() override {
      MutexLock lock(mutex_);
      End(grpc::Status::CANCELLED);
    }
    void OnDone() override {
      ++counts_.ended;
      { MutexLock lock(mutex_); }
      delete this;
    }

   private:
    void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (!std::exchange(ended_, true)) Finish(status);
    }

    grpc::GenericCallbackServerContext& context_;
    const std::string method_;
    PeerCounts& counts_;
    // gRPC orders its callbacks by means that ThreadSanitizer does not see.
    Mutex mutex_;
    grpc::ByteBuffer incoming_, outgoing_;
    int left_ ABSL_GUARDED_BY(mutex_) = 0;
    bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Reactor(*context, counts_);
  }

  PeerCounts& counts_;
};

class WirePeer : public ServerCall::Handler {
 public:
  WirePeer(std::shared_ptr<ServerCall> call, PeerCounts& counts)
      : call_(std::move(call)), counts_(counts) {
    const auto& path = call_->headers().path;
    method_ = path.substr(path.rfind('/') + 1);
    const auto found = call_->headers().metadata.find("x-test");
    if (found == call_->headers().metadata.end()) return;
    call_->AddHeader("x-test", found->second);
    call_->AddTrailer("x-test", found->second);
  }
  void OnMessage(std::string bytes) override {
    ++counts_.got;
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
    ++counts_.sent;
    call_->Write(std::string(kFlood, 'x'));
    if (--left_ == 0) call_->Finish(absl::OkStatus());
  }
  void OnEnd() override { ++counts_.ended; }

 private:
  const std::shared_ptr<ServerCall> call_;
  PeerCounts& counts_;
  std::string method_;
  int left_ = 0;
};

enum class PeerKind { kGrpc, kGrpcTls, kGrpcUnix, kWire, kWireTls };

class ChannelTest : public testing::TestWithParam<PeerKind> {
 protected:
  // gRPC's last shutdown waits for a poller, 10 s.
  static void SetUpTestSuite() { grpc_init(); }

  ~ChannelTest() override {
    channel_ = nullptr;
    if (grpc_ != nullptr) grpc_->Shutdown(std::chrono::system_clock::now());
  }

  void Serve(PeerKind kind, int connection_age_ms = 0) {
    grpc::ServerBuilder builder;
    if (connection_age_ms > 0) {
      builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, connection_age_ms);
    }
    const TestPair pair = ca_.Issue("server");
    if (kind == PeerKind::kWire || kind == PeerKind::kWireTls) {
      WireServerOptions options{.bind_address = "127.0.0.1"};
      if (kind == PeerKind::kWireTls) {
        options.tls = TlsPems{.cert = pair.cert, .key = pair.key, .client_ca = ca_.pem()};
      }
      Methods methods;
      for (const char* const name : {"Echo", "Fail", "Hang", "Flood"}) {
        methods[absl::StrCat("/test.Peer/", name)] = [this](const auto& call) {
          return std::make_unique<WirePeer>(call, counts_);
        };
      }
      auto server = WireServer::Start(std::move(options), std::move(methods));
      ASSERT_TRUE(server.ok()) << server.status();
      wire_ = *std::move(server);
      target_.address = absl::StrCat("127.0.0.1:", wire_->port());
    } else if (kind == PeerKind::kGrpcUnix) {
      target_.address = absl::StrCat("unix:", folder_.PathOf("peer.sock"));
      builder.AddListeningPort(target_.address, grpc::InsecureServerCredentials());
    } else {
      auto credentials = grpc::InsecureServerCredentials();
      if (kind == PeerKind::kGrpcTls) {
        grpc::SslServerCredentialsOptions ssl(
            GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
        ssl.pem_root_certs = ca_.pem();
        ssl.pem_key_cert_pairs = {{pair.key, pair.cert}};
        credentials = grpc::SslServerCredentials(ssl);
      }
      builder.AddListeningPort("127.0.0.1:0", credentials, &port_);
    }
    if (wire_ == nullptr) {
      builder.RegisterCallbackGenericService(&service_);
      builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
      grpc_ = builder.BuildAndStart();
      ASSERT_NE(grpc_, nullptr);
      if (port_ != 0) target_.address = absl::StrCat("127.0.0.1:", port_);
    }
    if (kind == PeerKind::kGrpcTls || kind == PeerKind::kWireTls) UseTls(ca_.Issue("client"));
  }

  void UseTls(const TestPair& pair) {
    auto tls = ClientTls(
        {.authorities = ca_.pem(), .certificate_chain = pair.cert, .private_key = pair.key});
    ASSERT_TRUE(tls.ok()) << tls.status();
    target_.tls = *std::move(tls);
  }

  Channel& channel() {
    if (channel_ == nullptr) channel_ = std::make_unique<Channel>(loop_, target_);
    return *channel_;
  }

  UnaryAnswer Call(const std::string& method, const std::string& request,
                   CallOptions options = {.timeout = kLong}) {
    return channel().CallBytes(absl::StrCat("/test.Peer/", method), request, std::move(options));
  }
  std::shared_ptr<ClientCall> Start(const std::string& method, Recorder& recorder,
                                    CallOptions options = {.timeout = kLong}) {
    return channel().Start(absl::StrCat("/test.Peer/", method), std::move(options), recorder);
  }
  void WaitFor(const std::atomic<int>& counter, int count) {
    while (counter < count) absl::SleepFor(absl::Milliseconds(1));
  }

  const TestFolder folder_;
  const TestCa ca_{"test CA"};
  PeerCounts counts_;
  GrpcPeer service_{counts_};
  int port_ = 0;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<WireServer> wire_;
  Target target_;
  EventLoop loop_;
  std::unique_ptr<Channel> channel_;
};

using ChannelToPeer = ChannelTest;
INSTANTIATE_TEST_SUITE_P(Peers, ChannelToPeer,
                         testing::Values(PeerKind::kGrpc, PeerKind::kGrpcTls, PeerKind::kGrpcUnix,
                                         PeerKind::kWire, PeerKind::kWireTls));

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
  Recorder recorder;
  const auto call = Start("Echo", recorder);
  std::vector<std::string> sent;
  for (const std::string text : {"a", "", "c"}) {
    call->Write(text);
    sent.push_back(text);
    EXPECT_EQ(recorder.WaitForMessages(sent.size()), sent);
  }
  call->WritesDone();
  const CallEnd end = recorder.WaitForEnd();
  EXPECT_TRUE(end.status.ok()) << end.status;
  call->Write("after the end");
  call->Cancel();
}

TEST_P(ChannelToPeer, KeepsTheServersStatusAndMetadata) {
  Serve(GetParam());
  Recorder recorder;
  const auto call =
      Start("Echo", recorder, {.timeout = kLong, .metadata = {{"x-test", "a value"}}});
  call->Write("a");
  call->WritesDone();
  EXPECT_THAT(recorder.WaitForEnd().trailers, ElementsAre(Pair("x-test", "a value")));
  EXPECT_THAT(recorder.headers(), ElementsAre(Pair("x-test", "a value")));
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
  WaitFor(counts_.ended, 2);
}

TEST_P(ChannelToPeer, CancelsCalls) {
  Serve(GetParam());
  Recorder recorder;
  const auto call = Start("Hang", recorder);
  call->Write("a");
  WaitFor(counts_.got, 1);
  call->Cancel();
  EXPECT_EQ(recorder.WaitForEnd().status.code(), absl::StatusCode::kCancelled);
  WaitFor(counts_.ended, 1);
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
  Recorder recorder;
  const auto call = Start("Flood", recorder);
  recorder.SetOnMessage([&] { call->PauseReading(); });
  call->Write(absl::StrCat(kMessages));
  ASSERT_EQ(recorder.WaitForMessages(1).size(), 1);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Call("Echo", std::string(kFlood, 'x')).end.status.ok());
  EXPECT_EQ(recorder.messages().size(), 1) << "while others are read";
  EXPECT_LT(counts_.sent, kMessages);
  recorder.SetOnMessage(nullptr);
  call->ResumeReading();
  const CallEnd end = recorder.WaitForEnd();
  EXPECT_TRUE(end.status.ok()) << end.status;
  EXPECT_EQ(recorder.messages().size(), kMessages);
}

TEST_P(ChannelToPeer, SendsTheNewestOfWhatWaits) {
  Serve(GetParam());
  absl::Notification go_on;
  loop_.Post([&] { go_on.WaitForNotification(); });
  Recorder recorder;
  const auto call = Start("Echo", recorder);
  for (const char* const text : {"1", "2", "3"}) call->WriteNewest(text);
  call->WritesDone();
  go_on.Notify();
  EXPECT_EQ(recorder.WaitForEnd().status, absl::OkStatus());
  EXPECT_THAT(recorder.messages(), ElementsAre("3"));
}

TEST_P(ChannelToPeer, CallsEndWithTheirChannel) {
  Serve(GetParam());
  Recorder connected, fresh;
  const auto first = Start("Hang", connected);
  first->Write("a");
  WaitFor(counts_.got, 1);
  const auto second = Start("Hang", fresh);
  channel_ = nullptr;
  EXPECT_EQ(connected.WaitForEnd().status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(fresh.WaitForEnd().status.code(), absl::StatusCode::kCancelled);
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
        Recorder recorder;
        const auto call = Start("Echo", recorder);
        for (int n = 0; n < 10; ++n) call->WriteNewest(text);
        if (k % 2 == 0) call->Cancel();
        call->WritesDone();
        recorder.WaitForEnd();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ChannelTest, ConnectsAgainAfterAGoaway) {
  Serve(PeerKind::kGrpc, /*connection_age_ms=*/50);
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

TEST_F(ChannelTest, CallInFlightFinishesAfterAGoaway) {
  Serve(PeerKind::kWire);
  Recorder recorder;
  const auto call = Start("Echo", recorder);
  call->Write("a");
  recorder.WaitForMessages(1);
  std::thread draining([this] { wire_->Drain(absl::Seconds(30)); });
  while (Call("Echo", "").end.status.ok()) absl::SleepFor(absl::Milliseconds(10));
  call->Write("b");
  EXPECT_THAT(recorder.WaitForMessages(2), ElementsAre("a", "b"));
  call->WritesDone();
  const CallEnd end = recorder.WaitForEnd();
  EXPECT_TRUE(end.status.ok()) << end.status;
  draining.join();
}

TEST_F(ChannelTest, ManyConnectionsShareALoop) {
  Serve(PeerKind::kWire);
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<std::unique_ptr<Recorder>> recorders;
  std::vector<std::shared_ptr<ClientCall>> calls;
  for (int i = 0; i < 100; ++i) {
    channels.push_back(std::make_unique<Channel>(loop_, target_));
    recorders.push_back(std::make_unique<Recorder>());
    calls.push_back(
        channels.back()->Start("/test.Peer/Echo", {.timeout = kLong}, *recorders.back()));
    calls.back()->Write(absl::StrCat(i));
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(recorders[i]->WaitForMessages(1), ElementsAre(absl::StrCat(i)));
    calls[i]->WritesDone();
    EXPECT_EQ(recorders[i]->WaitForEnd().status, absl::OkStatus());
  }
}

TEST_F(ChannelTest, ResolvesNames) {
  Serve(PeerKind::kGrpcTls);
  target_.address = absl::StrCat("localhost:", port_);
  const UnaryAnswer answer = Call("Echo", "a");
  EXPECT_TRUE(answer.end.status.ok()) << answer.end.status;
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
  for (const auto& [path, error] :
       {std::pair(folder_.PathOf("missing.sock"), ENOENT), {std::string(200, 'x'), ENAMETOOLONG}}) {
    target_.address = absl::StrCat("unix:", path);
    channel_ = nullptr;
    const CallEnd end = Call("Echo", "").end;
    EXPECT_EQ(end.status.code(), absl::StatusCode::kUnavailable) << end.status;
    ASSERT_TRUE(end.connect_fault.has_value());
    EXPECT_EQ(end.connect_fault->system_error, error);
  }
}

TEST_F(ChannelTest, RefusesWhatIsNoAddress) {
  for (const char* const address : {"", "host", "host:", ":80", "::1:80", "host:0", "host:70000"}) {
    target_.address = address;
    channel_ = nullptr;
    const absl::Status status = Call("Echo", "").end.status;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address << ": " << status;
  }
}

TEST_F(ChannelTest, ClassifiesTlsFaults) {
  for (const PeerKind kind : {PeerKind::kGrpcTls, PeerKind::kWireTls}) {
    Serve(kind);
    const TestCa other("other CA");
    struct Case {
      const char* name;
      std::string authorities;
      TestPair pair;
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
             {"no client certificate", ca_.pem(), {}, "", HandshakeFault::kTurnedAway, "cert"},
             {"untrusted client", ca_.pem(), other.Issue("client"), "", HandshakeFault::kTurnedAway,
              ""}}) {
      SCOPED_TRACE(each.name);
      const auto tls = ClientTls({.authorities = each.authorities,
                                  .certificate_chain = each.pair.cert,
                                  .private_key = each.pair.key});
      ASSERT_TRUE(tls.ok()) << tls.status();
      target_.tls = *tls;
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
}

TEST_F(ChannelTest, AcceptsAServerByItsOtherName) {
  Serve(PeerKind::kWireTls);
  target_.server_name = "localhost";
  EXPECT_TRUE(Call("Echo", "").end.status.ok());
}

TEST_F(ChannelTest, NamesAServerWithoutTls) {
  for (const PeerKind kind : {PeerKind::kGrpc, PeerKind::kWire}) {
    Serve(kind);
    UseTls({});
    channel_ = nullptr;
    const CallEnd end = Call("Echo", "").end;
    ASSERT_TRUE(end.connect_fault.has_value()) << end.status;
    EXPECT_EQ(end.connect_fault->handshake, HandshakeFault::kNoTls) << end.status;
  }
}

TEST_F(ChannelTest, NamesAServerThatNeedsTls) {
  for (const PeerKind kind : {PeerKind::kGrpcTls, PeerKind::kWireTls}) {
    Serve(kind);
    target_.tls = nullptr;
    channel_ = nullptr;
    const CallEnd end = Call("Echo", "").end;
    EXPECT_EQ(end.status.code(), absl::StatusCode::kUnavailable) << end.status;
    EXPECT_TRUE(end.connect_fault.has_value()) << end.status;
  }
}

TEST(ClientTls, RefusesUnusableTexts) {
  const TestCa ca("test CA");
  const TestPair one = ca.Issue("one"), two = ca.Issue("two");
  for (const ClientTlsPems& pems : std::vector<ClientTlsPems>{
           {.authorities = "text"},
           {.authorities = ca.pem(), .certificate_chain = "text", .private_key = one.key},
           {.authorities = ca.pem(), .certificate_chain = one.cert, .private_key = ""},
           {.authorities = ca.pem(), .certificate_chain = one.cert, .private_key = two.key}}) {
    EXPECT_EQ(ClientTls(pems).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

// Frames of HTTP/2.
std::string Frame(int type, int flags, int stream, const std::string& payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift & 0xFF);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift & 0xFF);
  return frame + payload;
}

// A field of HPACK: literal, not indexed.
std::string Literal(const std::string& name, const std::string& value) {
  return absl::StrCat(std::string(1, '\0'), std::string(1, static_cast<char>(name.size())), name,
                      std::string(1, static_cast<char>(value.size())), value);
}

constexpr int kEndStream = 1, kEndHeaders = 4;

std::string Settings() { return Frame(4, 0, 0, ""); }
std::string Headers(const std::string& fields, int flags = kEndHeaders) {
  return Frame(1, flags, 1, fields);
}
std::string Ok() {
  return Headers(Literal(":status", "200") + Literal("content-type", "application/grpc"));
}
std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// Accepts one connection, waits for its first bytes, sends `bytes`, and then waits until the client
// closes it.
class RawServer {
 public:
  enum class Then { kWait, kClose, kReset };

  explicit RawServer(std::string bytes, Then then = Then::kWait) {
    auto port = BoundPort::Open("127.0.0.1", 0);
    EXPECT_TRUE(port.ok());
    port_ = port->port();
    listening_ = std::move(*port).Listen().value();
    thread_ = std::thread([this, bytes = std::move(bytes), then] { Serve(bytes, then); });
  }
  ~RawServer() {
    shutdown(listening_, SHUT_RDWR);
    thread_.join();
    close(listening_);
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  void Serve(const std::string& bytes, Then then) {
    int connection = -1;
    while ((connection = accept(listening_, nullptr, nullptr)) < 0) {
      if (errno != EAGAIN) return;
      absl::SleepFor(absl::Milliseconds(1));
    }
    // Its preface, SETTINGS, WINDOW_UPDATE and call.
    std::string got;
    char buffer[4096];
    while (got.size() < 100) {
      const ssize_t size = recv(connection, buffer, sizeof(buffer), 0);
      if (size <= 0) break;
      got.append(buffer, static_cast<size_t>(size));
    }
    send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (then == Then::kReset) {
      const linger now = {.l_onoff = 1, .l_linger = 0};
      setsockopt(connection, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    while (then == Then::kWait && recv(connection, buffer, sizeof(buffer), 0) > 0) {
    }
    close(connection);
  }

  int port_ = 0;
  int listening_ = -1;
  std::thread thread_;
};

TEST_F(ChannelTest, NamesWhyItIsNoHttp2Server) {
  using Then = RawServer::Then;
  struct Case {
    const char* name;
    std::string bytes;
    Then then;
    const char* want;
  };
  for (const Case& each : std::vector<Case>{
           {"closes", "", Then::kClose, "the server has closed it"},
           {"resets", "", Then::kReset, "Connection reset by peer"},
           {"HTTP/1.1", "HTTP/1.1 400 Bad Request\r\n\r\n", Then::kWait, "speaks HTTP/1"},
           {"HTTP/1.1, closes", "HTTP/1.1 400 Bad Request\r\n\r\n", Then::kClose, "speaks HTTP/1"},
           {"TLS alert", std::string("\x15\x03\x03\0\2\2\x46", 7), Then::kClose, "needs TLS"},
           {"garbage", std::string(100, 'x'), Then::kWait, "violates HTTP/2"},
           {"silence", "", Then::kWait, "no answer"}}) {
    SCOPED_TRACE(each.name);
    const RawServer server(each.bytes, each.then);
    channel_ = nullptr;
    target_ = {.address = server.address()};
    if (absl::string_view(each.name) == "silence") {
      target_.connect_timeout = absl::Milliseconds(50);
    }
    const CallEnd end = Call("Echo", "").end;
    EXPECT_EQ(end.status.code(), absl::StatusCode::kUnavailable) << end.status;
    EXPECT_THAT(end.status.message(),
                HasSubstr(absl::StrCat("cannot connect to ", target_.address)));
    EXPECT_THAT(end.status.message(), HasSubstr(each.want));
    EXPECT_TRUE(end.connect_fault.has_value());
    channel_ = nullptr;
  }
}

TEST_F(ChannelTest, GivesUpAServerThatNeverAnswersTlsAtTheDeadline) {
  const RawServer server("");
  UseTls({});
  target_.address = server.address();
  const CallEnd late = Call("Echo", "", {.timeout = absl::Milliseconds(50)}).end;
  EXPECT_EQ(late.status, absl::DeadlineExceededError(
                             absl::StrCat("no connection to ", server.address(), " within 50ms")));
  channel_ = nullptr;
}

TEST_F(ChannelTest, GivesUpAServerThatNeverAnswersTlsAfterATime) {
  const RawServer server("");
  UseTls({});
  target_.address = server.address();
  target_.connect_timeout = absl::Milliseconds(50);
  const CallEnd end = Call("Echo", "").end;
  EXPECT_EQ(end.status, absl::UnavailableError(absl::StrCat("cannot connect to ", server.address(),
                                                            ": no answer to the TLS handshake")));
  channel_ = nullptr;
}

TEST_F(ChannelTest, GivesUpAServerThatDoesNotAnswerPings) {
  const RawServer server(Settings());
  target_ = {.address = server.address(),
             .keepalive = absl::Milliseconds(10),
             .keepalive_timeout = absl::Milliseconds(20)};
  const CallEnd end = Call("Echo", "").end;
  EXPECT_EQ(end.status, absl::UnavailableError(absl::StrCat("the connection to ", server.address(),
                                                            " is lost: no answer to a ping for "
                                                            "20ms")));
  EXPECT_FALSE(end.connect_fault.has_value());
  channel_ = nullptr;
}

// The call's stream is 1.
TEST_F(ChannelTest, EndsTheCallOfAServerThatIsWrong) {
  const std::string message("\0\0\0\0\1a", 6);
  const std::string rst_cancel("\0\0\0\x8", 4), rst_refused("\0\0\0\x7", 4),
      rst_calm("\0\0\0\xB", 4);
  const std::string goaway_all = Frame(7, 0, 0,
                                       std::string("\0\0\0\0\0\0\0\xB"
                                                   "too_many_pings",
                                                   22));
  const std::string ended = Headers(Literal("grpc-status", "0"), kEndHeaders | kEndStream);
  const auto only = [](const std::string& fields) {
    return Headers(fields, kEndHeaders | kEndStream);
  };
  struct Case {
    const char* name;
    std::string bytes;
    absl::StatusCode code;
    const char* want;
  };
  using Code = absl::StatusCode;
  const std::vector<Case> cases = {
      {"a good answer", Ok() + Frame(0, 0, 1, message) + ended, Code::kOk, ""},
      {"no message", Ok() + ended, Code::kInternal, "no message"},
      {"two messages", Ok() + Frame(0, 0, 1, message + message) + ended, Code::kInternal,
       "many messages"},
      {"half a message", Ok() + Frame(0, 0, 1, message.substr(0, 5)) + ended, Code::kInternal,
       "not complete"},
      {"no grpc-status", Ok() + Frame(0, kEndStream, 1, message), Code::kUnknown,
       "without grpc-status"},
      {"odd grpc-status", only(Literal(":status", "200") + Literal("grpc-status", "99")),
       Code::kUnknown, "no reason was given"},
      {"HTTP 503", Headers(Literal(":status", "503")), Code::kUnavailable, "HTTP 503"},
      {"HTTP 404 at the end", only(Literal(":status", "404")), Code::kUnimplemented, "HTTP 404"},
      {"HTML", Headers(Literal(":status", "200") + Literal("content-type", "text/html")),
       Code::kUnknown, "text/html"},
      {"compressed", Ok() + Frame(0, 0, 1, std::string("\1\0\0\0\1a", 6)), Code::kUnimplemented,
       "compressed"},
      {"reset", Ok() + Frame(3, 0, 1, rst_cancel), Code::kCancelled, "CANCEL"},
      {"refused", Frame(3, 0, 1, rst_refused), Code::kUnavailable, "REFUSED_STREAM"},
      {"calm", Frame(3, 0, 1, rst_calm), Code::kResourceExhausted, "ENHANCE_YOUR_CALM"},
      {"GOAWAY", goaway_all, Code::kUnavailable, "is shutting down"},
      {"one informational answer",
       Headers(Literal(":status", "100")) + Ok() + Frame(0, 0, 1, message) + ended, Code::kOk, ""},
      {"endless informational answers", Repeated(Headers(Literal(":status", "100")), 2000),
       Code::kResourceExhausted, "headers"},
      {"large headers",
       Headers(Literal(":status", "200") + Repeated(Literal("x", std::string(100, 'x')), 150)),
       Code::kResourceExhausted, "headers"},
      {"endless CONTINUATION",
       Headers(Literal(":status", "200"), 0) + Repeated(Frame(9, 0, 1, Literal("x", "y")), 20),
       Code::kUnavailable, "lost"},
      {"PUSH_PROMISE", Frame(5, kEndHeaders, 1, std::string("\0\0\0\2", 4) + Literal("x", "y")),
       Code::kUnavailable, "lost: the server pushes"},
      {"pings", Repeated(Frame(6, 0, 0, std::string(8, 'p')), 1500), Code::kUnavailable, "lost"},
      {"ping answers", Repeated(Frame(6, 1, 0, std::string(8, 'p')), 1500), Code::kUnavailable,
       "too many empty frames"},
      {"empty DATA", Ok() + Repeated(Frame(0, 0, 1, ""), 1500), Code::kUnavailable,
       "too many empty frames"},
      {"more than the window",
       Ok() +
           Repeated(Frame(0, 0, 1, std::string("\0\0\x20\0\0", 5) + std::string(16'000, 'x')), 100),
       Code::kResourceExhausted, "longer than"}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const RawServer server(Settings() + each.bytes);
    target_ = {.address = server.address()};
    channel_ = nullptr;
    const CallEnd end = Call("Echo", "", {.timeout = kLong, .longest_message = 1 << 20}).end;
    EXPECT_EQ(end.status.code(), each.code) << end.status;
    EXPECT_THAT(end.status.message(), HasSubstr(each.want));
    EXPECT_FALSE(end.connect_fault.has_value());
    channel_ = nullptr;
  }
}

}  // namespace
}  // namespace gpuscaler
