#include "wire/wire_server.h"

#include <nghttp2/nghttp2.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wire/test_call.h"
#include "wire/test_frames.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;

// Answers each message with itself.
class Echo : public ServerCall::Handler {
 public:
  explicit Echo(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}
  void OnMessage(std::string bytes) override { call_->Write(bytes); }
  void OnLastMessage() override { call_->Finish(absl::OkStatus()); }

 private:
  const std::shared_ptr<ServerCall> call_;
};

// Answers with the peer's address.
class Peer : public ServerCall::Handler {
 public:
  explicit Peer(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}
  void OnMessage(std::string) override {}
  void OnLastMessage() override {
    call_->Write(call_->headers().peer);
    call_->Finish(absl::OkStatus());
  }

 private:
  const std::shared_ptr<ServerCall> call_;
};

// Fails with the first message as its text.
class Fail : public ServerCall::Handler {
 public:
  explicit Fail(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}
  void OnMessage(std::string bytes) override { call_->Finish(absl::NotFoundError(bytes)); }

 private:
  const std::shared_ptr<ServerCall> call_;
};

// Never answers; counts messages, and calls that ended.
class Hang : public ServerCall::Handler {
 public:
  Hang(std::atomic<int>& got, std::atomic<int>& ended) : got_(got), ended_(ended) {}
  void OnMessage(std::string) override { ++got_; }
  void OnEnd() override { ++ended_; }

 private:
  std::atomic<int>& got_;
  std::atomic<int>& ended_;
};

// Sends the numbers from 1 to the first message's from another thread, of which newer ones replace
// those that wait.
class Count : public ServerCall::Handler {
 public:
  explicit Count(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}
  ~Count() override {
    if (thread_.joinable()) thread_.join();
  }
  void OnMessage(std::string bytes) override {
    thread_ = std::thread([call = call_, last = std::stoi(bytes)] {
      for (int i = 1; i <= last; ++i) call->WriteNewest(absl::StrCat(i));
      call->Finish(absl::OkStatus());
    });
  }

 private:
  const std::shared_ptr<ServerCall> call_;
  std::thread thread_;
};

class WireServerTest : public testing::Test {
 protected:
  Methods AllMethods() {
    return {{"/test.Echo/Echo", [](auto& call) { return std::make_unique<Echo>(call); }},
            {"/test.Echo/Peer", [](auto& call) { return std::make_unique<Peer>(call); }},
            {"/test.Echo/Fail", [](auto& call) { return std::make_unique<Fail>(call); }},
            {"/test.Echo/Count", [](auto& call) { return std::make_unique<Count>(call); }},
            {"/test.Echo/Hang", [this](auto&) { return std::make_unique<Hang>(got_, ended_); }}};
  }
  void Start(WireServerOptions options = {}) {
    if (options.bind_address.empty()) options.bind_address = "127.0.0.1";
    const std::string address = options.bind_address;
    auto server = WireServer::Start(std::move(options), AllMethods());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = std::make_unique<Channel>(
        loop_,
        Target{.address =
                   server_->port() == 0 ? address : absl::StrCat(address, ":", server_->port())});
  }

  struct Answer {
    std::vector<std::string> messages;
    absl::Status status;
  };
  Answer Call(const std::string& method, const std::vector<std::string>& messages,
              absl::Duration timeout = absl::Seconds(20)) {
    BytesCall call(*channel_, method, {.timeout = timeout});
    for (const std::string& message : messages) call.Write(message);
    call.WritesDone();
    const auto status = call.WaitForEnd();
    return {call.messages(), status.value_or(absl::UnknownError("the call has not ended"))};
  }

  // Sends `bytes` on a plain socket. Blocks until the server closes it.
  std::string Raw(const std::string& bytes) const {
    RawClient client(server_->port());
    EXPECT_TRUE(client.Send(bytes));
    return client.ReadAll();
  }

  std::atomic<int> got_ = 0, ended_ = 0;
  std::unique_ptr<WireServer> server_;
  EventLoop loop_;
  std::unique_ptr<Channel> channel_;
};

TEST_F(WireServerTest, AnswersUnaryAndBidirectionalCalls) {
  Start();
  const Answer one = Call("/test.Echo/Echo", {"hello"});
  EXPECT_TRUE(one.status.ok()) << one.status;
  EXPECT_THAT(one.messages, testing::ElementsAre("hello"));
  const std::string large(1'900'000, 'x');  // more than a window
  const Answer more = Call("/test.Echo/Echo", {"", large, "b"});
  EXPECT_TRUE(more.status.ok()) << more.status;
  EXPECT_THAT(more.messages, testing::ElementsAre("", large, "b"));
}

TEST_F(WireServerTest, ServesAUnixSocket) {
  const TestFolder folder;
  const std::string address = "unix:" + folder.PathOf("s");
  Start({.bind_address = address});
  EXPECT_EQ(server_->port(), 0);
  EXPECT_THAT(Call("/test.Echo/Peer", {""}).messages, testing::ElementsAre("unix"));
  server_->Drain(absl::ZeroDuration());
  Start({.bind_address = address});
  EXPECT_THAT(Call("/test.Echo/Echo", {"again"}).messages, testing::ElementsAre("again"));
}

TEST(WireServer, AnswersCallsWhileConnectionsWaitForAccept) {
  constexpr size_t kWaiting = 100;
  std::promise<void> blocked, released;
  std::unique_ptr<WireServer> server;
  std::atomic<size_t> connections = 0;
  auto started = WireServer::Start({.bind_address = "127.0.0.1"},
                                   {{"/test.Test/Block",
                                     [&](auto& call) {
                                       blocked.set_value();
                                       released.get_future().wait();
                                       return std::make_unique<Echo>(call);
                                     }},
                                    {"/test.Test/Count", [&](auto& call) {
                                       connections = server->counts().connections;
                                       call->Finish(absl::OkStatus());
                                       return std::make_unique<Echo>(call);
                                     }}});
  ASSERT_TRUE(started.ok()) << started.status();
  server = *std::move(started);
  RawClient caller(server->port()), blocker(server->port());
  caller.Begin();
  ASSERT_TRUE(caller.Read(FrameType::kSettings).has_value());
  blocker.Begin();
  blocker.Send(CallHead(1, "/test.Test/Block"));
  blocked.get_future().wait();
  std::vector<std::unique_ptr<RawClient>> waiting;
  for (size_t i = 0; i < kWaiting; ++i) {
    waiting.push_back(std::make_unique<RawClient>(server->port()));
  }
  caller.Send(CallHead(1, "/test.Test/Count"));
  released.set_value();
  EXPECT_TRUE(caller.Read(FrameType::kHeaders).has_value());
  EXPECT_LT(connections, kWaiting);
  for (const auto& each : waiting) {
    each->Begin();
    EXPECT_TRUE(each->Read(FrameType::kSettings).has_value());
  }
}

TEST_F(WireServerTest, PassesThePeersAddressToMethods) {
  Start();
  EXPECT_THAT(Call("/test.Echo/Peer", {""}).messages, testing::ElementsAre("127.0.0.1"));
}

TEST_F(WireServerTest, SendsStatusesWithTheirText) {
  Start();
  EXPECT_EQ(Call("/test.Echo/Fail", {"no GPU: 100 %\n\xC3\xA4"}).status,
            absl::NotFoundError("no GPU: 100 %\n\xC3\xA4"));
  const Answer unknown = Call("/test.Echo/Nothing", {"x"});
  EXPECT_EQ(unknown.status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(unknown.status.message(), HasSubstr("/test.Echo/Nothing"));
  const Answer too_long = Call("/test.Echo/Echo", {std::string(3 << 20, 'x')});
  EXPECT_EQ(too_long.status.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(WireServerTest, CutsStatusTextsBetweenTwoCharacters) {
  Start();
  const std::string text(1999, 'x');
  const absl::Status status = Call("/test.Echo/Fail", {text + "\xC3\xA4" + text}).status;
  EXPECT_EQ(status, absl::NotFoundError(text + "..."));
}

TEST_F(WireServerTest, ReplacesPendingMessagesByTheNewest) {
  Start();
  const Answer counted = Call("/test.Echo/Count", {"1000"});
  EXPECT_TRUE(counted.status.ok()) << counted.status;
  ASSERT_FALSE(counted.messages.empty());
  EXPECT_EQ(counted.messages.back(), "1000");
}

TEST_F(WireServerTest, EndsCallsAtTheirDeadline) {
  Start();
  const Answer hung = Call("/test.Echo/Hang", {"x"}, absl::Milliseconds(100));
  EXPECT_EQ(hung.status.code(), absl::StatusCode::kDeadlineExceeded);
  for (int i = 0; i < 1000 && ended_ == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(ended_, 1);
}

TEST_F(WireServerTest, AnswersHttp1InPlainText) {
  Start();
  EXPECT_THAT(Raw("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), HasSubstr("This port serves gRPC"));
}

TEST_F(WireServerTest, ClosesConnectionsWithoutAPreface) {
  WireServerOptions options;
  options.session.handshake = absl::Milliseconds(10);
  Start(std::move(options));
  EXPECT_EQ(Raw("PRI * HT"), "") << "until the server closes it";
}

TEST_F(WireServerTest, PingsIdleClientsAndClosesUnresponsiveOnes) {
  WireServerOptions options;
  options.session.keepalive = absl::Milliseconds(10);
  options.session.keepalive_timeout = absl::Milliseconds(500);
  Start(std::move(options));
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  const std::string got = Raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings);
  const std::string ping("\0\0\10\6\0\0\0\0\0", 9);
  EXPECT_THAT(got, HasSubstr(ping));
  EXPECT_EQ(server_->counts().limits[static_cast<size_t>(Limit::kKeepalive)], 1);
}

// `block` must be the first header block of its connection.
std::map<std::string, std::string> FieldsOf(const std::string& block) {
  nghttp2_hd_inflater* inflater = nullptr;
  nghttp2_hd_inflate_new(&inflater);
  std::map<std::string, std::string> fields;
  const auto* next = reinterpret_cast<const uint8_t*>(block.data());
  const uint8_t* const end = next + block.size();
  int flags = 0;
  while ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) {
    nghttp2_nv field = {};
    const ssize_t read = nghttp2_hd_inflate_hd2(inflater, &field, &flags, next,
                                                static_cast<size_t>(end - next), /*in_final=*/1);
    if (read < 0) break;
    next += read;
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0) continue;
    fields[std::string(reinterpret_cast<const char*>(field.name), field.namelen)] =
        std::string(reinterpret_cast<const char*>(field.value), field.valuelen);
  }
  nghttp2_hd_inflate_del(inflater);
  return fields;
}

TEST_F(WireServerTest, RefusesCompressedMessagesWithTheEncodingThatItAccepts) {
  Start();
  RawClient client(server_->port());
  client.Begin();
  client.Send(CallHead(1, "/test.Echo/Echo", Literal("grpc-encoding", "gzip")));
  const auto answer = client.Read(FrameType::kHeaders);
  ASSERT_TRUE(answer.has_value());
  EXPECT_THAT(FieldsOf(answer->payload), IsSupersetOf({Pair("grpc-status", "12"),  // UNIMPLEMENTED
                                                       Pair("grpc-accept-encoding", "identity")}));
}

TEST_F(WireServerTest, RefusesOtherContentTypes) {
  Start();
  const auto status_for = [this](const char* content_type) {
    RawClient client(server_->port());
    client.Begin();
    // The last field of a name counts.
    client.Send(CallHead(1, "/test.Echo/Nothing", Literal("content-type", content_type)));
    const auto answer = client.Read(FrameType::kHeaders);
    return answer.has_value() ? FieldsOf(answer->payload)[":status"] : "none";
  };
  for (const char* const grpc :
       {"application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8"}) {
    EXPECT_EQ(status_for(grpc), "200") << grpc;
  }
  for (const char* const other : {"application/grpc-web", "application/grpc-web+proto",
                                  "application/grpcs", "application/json"}) {
    EXPECT_EQ(status_for(other), "415") << other;
  }
}

TEST_F(WireServerTest, DrainsOldConnectionsWithoutLosingCalls) {
  // A round trip is waited for for a second: a machine that pauses longer gets another try.
  const auto attempt = [this] {
    WireServerOptions options;
    options.connection_age = absl::ZeroDuration();
    Start(std::move(options));
    RawClient client(server_->port());
    client.Begin();
    const auto ping = client.Read(FrameType::kPing);  // nghttp2 sends it first
    const auto notice = client.Read(FrameType::kGoAway);
    if (!ping.has_value() || !notice.has_value()) return false;
    EXPECT_EQ(notice->payload, BigEndian(0x7fffffff, 4) + BigEndian(0, 4)) << "NO_ERROR";
    // It crosses the notice.
    client.Send(CallHead(1, "/test.Echo/Echo") + DataFrame(1, "late", kEndStream));
    const auto answer = client.Read(FrameType::kData);
    if (!answer.has_value()) return false;
    EXPECT_THAT(answer->payload, testing::EndsWith("late"));
    client.Send(Encode({FrameType::kPing, kAck, 0, ping->payload}));
    const auto goaway = client.Read(FrameType::kGoAway);
    if (!goaway.has_value()) return false;
    EXPECT_EQ(goaway->payload, BigEndian(1, 4) + BigEndian(0, 4)) << "the last call, NO_ERROR";
    EXPECT_TRUE(client.IsClosed());
    return true;
  };
  EXPECT_TRUE(attempt() || attempt() || attempt());
}

TEST_F(WireServerTest, ClosesOldConnectionsAfterTheirGrace) {
  WireServerOptions options;
  options.connection_age = absl::ZeroDuration();
  options.connection_age_grace = absl::Seconds(3);  // the server looks once a second
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  client.Send(CallHead(1, "/test.Echo/Hang") + DataFrame(1, "x"));
  EXPECT_TRUE(client.Read(FrameType::kGoAway).has_value());
  EXPECT_TRUE(client.IsClosed());
  for (int i = 0; i < 1000 && ended_ == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(ended_, 1);
}

TEST_F(WireServerTest, ConnectionAgesHaveJitter) {
  WireServerOptions options;
  options.connection_age = absl::Milliseconds(1);
  options.age_jitter = [connections = 0]() mutable { return ++connections == 1 ? 1 : 1e9; };
  Start(std::move(options));
  RawClient first(server_->port());
  first.Begin();
  ASSERT_TRUE(first.Read(FrameType::kSettings).has_value());
  RawClient second(server_->port());
  second.Begin();
  ASSERT_TRUE(first.Read(FrameType::kGoAway).has_value());
  second.Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
  std::optional<Frame> frame;
  while ((frame = second.Read()) && frame->type != FrameType::kPing) {
    EXPECT_NE(frame->type, FrameType::kGoAway);
  }
  EXPECT_TRUE(frame.has_value());
}

TEST_F(WireServerTest, RefusesLargeHeaders) {
  WireServerOptions options;
  options.session.header_list_bytes = 200;
  Start(std::move(options));
  const absl::Status status = Call("/test.Echo/Echo", {"x"}).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

TEST_F(WireServerTest, ClosesConnectionsBeyondItsLimit) {
  WireServerOptions options;
  options.connections = 0;
  Start(std::move(options));
  EXPECT_EQ(Raw(""), "");
}

TEST(WireServer, CallMayBeUsedAfterTheServerIsGone) {
  std::promise<std::shared_ptr<ServerCall>> begun;
  auto server =
      WireServer::Start({.bind_address = "127.0.0.1"}, {{"/test.Test/Keep", [&](auto& call) {
                                                           begun.set_value(call);
                                                           return std::make_unique<Echo>(call);
                                                         }}});
  ASSERT_TRUE(server.ok()) << server.status();
  RawClient client((*server)->port());
  client.Begin();
  client.Send(CallHead(1, "/test.Test/Keep"));
  const std::shared_ptr<ServerCall> call = begun.get_future().get();
  *server = nullptr;
  call->SendHeaders();
  call->Write("text");
  call->FinishNow(absl::OkStatus());
  call->Finish(absl::OkStatus());
  EXPECT_TRUE(call->is_finished());
}

TEST_F(WireServerTest, FinishesCallsWhenItDrains) {
  Start();
  Answer answer;
  std::thread caller([&] { answer = Call("/test.Echo/Hang", {"x"}, absl::Milliseconds(500)); });
  for (int i = 0; i < 1000 && got_ == 0; ++i) absl::SleepFor(absl::Milliseconds(1));
  ASSERT_EQ(got_, 1);
  server_->Drain(absl::Seconds(30));
  caller.join();
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(answer.status.code(), absl::StatusCode::kDeadlineExceeded)
      << "it had all of its time: " << answer.status;
}

}  // namespace
}  // namespace gpuscaler
