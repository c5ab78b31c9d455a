// Clients that go beyond the server's limits, one by one.
#include "wire/limits.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "health.pb.h"
#include "wire/methods.h"
#include "wire/test_call.h"
#include "wire/test_frames.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using grpc::health::v1::HealthCheckRequest;

constexpr char kWait[] = "/test.Test/Wait";
constexpr char kEnd[] = "/test.Test/End";
constexpr char kAnswer[] = "/test.Test/Answer";
constexpr char kRequest[] = "/test.Test/Request";
constexpr char kFail[] = "/test.Test/Fail";
constexpr char kLarge[] = "/test.Test/Large";
const std::string kLongText(2'000, 'x');
const std::string kNoWindow = BigEndian(4, 2) + BigEndian(0, 4);  // INITIAL_WINDOW_SIZE

class LimitsTest : public testing::Test {
 protected:
  // Keeps its call, and answers never.
  class Wait : public ServerCall::Handler {
   public:
    Wait(LimitsTest& test, const std::shared_ptr<ServerCall>& call) : test_(test) {
      test.call_ = call;
      ++test.begun_;
    }
    void OnMessage(std::string) override {}
    void OnEnd() override { ++test_.ended_; }

   private:
    LimitsTest& test_;
  };
  // Answers at once.
  class AnswerAtOnce : public ServerCall::Handler {
   public:
    explicit AnswerAtOnce(const std::shared_ptr<ServerCall>& call) {
      call->Write(std::string(10, 'x'));
    }
    void OnMessage(std::string) override {}
  };

  void Start(WireServerOptions options = {}) {
    options.bind_address = "127.0.0.1";
    auto server = WireServer::Start(
        std::move(options),
        {{kWait, [this](auto& call) { return std::make_unique<Wait>(*this, call); }},
         {kEnd,
          [this](auto& call) {
            call->FinishNow(absl::ResourceExhaustedError("enough"));
            call->SendHeaders();
            return std::make_unique<Wait>(*this, call);
          }},
         {kAnswer, [](auto& call) { return std::make_unique<AnswerAtOnce>(call); }},
         Unary<HealthCheckRequest>(
             kRequest, [](const std::shared_ptr<ServerCall>& call,
                          const HealthCheckRequest&) { call->Finish(absl::OkStatus()); }),
         Unary<HealthCheckRequest>(
             kFail,
             [](const std::shared_ptr<ServerCall>& call, const HealthCheckRequest&) {
               call->Finish(absl::InternalError(kLongText));
             }),
         Unary<HealthCheckRequest>(
             kLarge, [](const std::shared_ptr<ServerCall>& call, const HealthCheckRequest&) {
               call->Write(std::string(6'000, 'x'));
               call->Finish(absl::OkStatus());
             })});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  template <typename Condition>
  static bool Eventually(const Condition& holds) {
    const absl::Time end = absl::Now() + absl::Seconds(20);
    while (!holds() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(2));
    return holds();
  }

  int64_t Count(Limit limit) const { return server_->counts().limits[static_cast<size_t>(limit)]; }

  // Each call has a connection of its own.
  absl::Status Call(const char* method, const std::string& message = "") {
    Channel channel(loop_, {.address = absl::StrCat("127.0.0.1:", server_->port())});
    BytesCall call(channel, method);
    call.Send(message);
    return call.WaitForEnd().value_or(absl::UnknownError("the call has not ended"));
  }

  std::atomic<int> begun_ = 0, ended_ = 0;
  std::shared_ptr<ServerCall> call_;  // the last one that waits
  std::unique_ptr<WireServer> server_;
  EventLoop loop_;
};

TEST(Limits, NamesAreUnique) {
  std::set<absl::string_view> names;
  for (int i = 0; i < kLimitCount; ++i) names.insert(Name(static_cast<Limit>(i)));
  EXPECT_EQ(names.size(), kLimitCount);
}

TEST_F(LimitsTest, ConnectionsInAll) {
  WireServerOptions options;
  options.connections = 1;
  Start(std::move(options));
  {
    RawClient first(server_->port());
    first.Begin();
    EXPECT_TRUE(first.Read(FrameType::kSettings).has_value());
    EXPECT_EQ(server_->counts().connections, 1);
    EXPECT_TRUE(RawClient(server_->port()).IsClosed());
    EXPECT_EQ(Count(Limit::kConnections), 1);
  }
  EXPECT_TRUE(Eventually([this] { return server_->counts().connections == 0; }));
  RawClient later(server_->port());
  later.Begin();
  EXPECT_TRUE(later.Read(FrameType::kSettings).has_value());
}

TEST_F(LimitsTest, ConnectionsInAllAreSharedByAddresses) {
  WireServerOptions options;
  options.connections = 3;
  Start(std::move(options));
  const auto is_served = [](RawClient& client) {
    client.Begin();
    return client.Read(FrameType::kSettings).has_value();
  };
  RawClient one(server_->port(), "127.0.3.2");
  EXPECT_TRUE(is_served(one));
  RawClient first(server_->port(), "127.0.3.3"), second(server_->port(), "127.0.3.3");
  EXPECT_TRUE(is_served(first));
  EXPECT_TRUE(is_served(second));
  RawClient other(server_->port(), "127.0.3.4");
  EXPECT_TRUE(is_served(other));
  EXPECT_TRUE(second.IsClosed());
  EXPECT_EQ(Count(Limit::kConnections), 1);
  EXPECT_TRUE(RawClient(server_->port(), "127.0.3.3").IsClosed()) << "it has one already";
  EXPECT_TRUE(RawClient(server_->port(), "127.0.3.5").IsClosed()) << "each address has one";
  EXPECT_EQ(Count(Limit::kConnections), 3);
  for (RawClient* client : {&one, &first, &other}) {
    client->Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
    EXPECT_TRUE(client->Read(FrameType::kPing).has_value());
  }
}

TEST_F(LimitsTest, AnAddressHasSeveralOfTheConnectionsInAll) {
  WireServerOptions options;
  options.connections = 6;
  Start(std::move(options));
  std::vector<std::unique_ptr<RawClient>> clients;
  for (const char* from : {"127.0.3.2", "127.0.3.3"}) {
    for (int i = 0; i < 3; ++i) {
      clients.push_back(std::make_unique<RawClient>(server_->port(), from));
      clients.back()->Begin();
      EXPECT_TRUE(clients.back()->Read(FrameType::kSettings).has_value());
    }
  }
  RawClient first(server_->port(), "127.0.3.4"), second(server_->port(), "127.0.3.4");
  for (RawClient* each : {&first, &second}) {
    each->Begin();
    EXPECT_TRUE(each->Read(FrameType::kSettings).has_value());
  }
  EXPECT_TRUE(RawClient(server_->port(), "127.0.3.4").IsClosed()) << "all have two";
  for (const size_t newest : {2, 5}) EXPECT_TRUE(clients[newest]->IsClosed());
}

TEST_F(LimitsTest, ConnectionsOfAnAddress) {
  WireServerOptions options;
  options.connections_per_address = 1;
  Start(std::move(options));
  RawClient first(server_->port());
  first.Begin();
  EXPECT_TRUE(first.Read(FrameType::kSettings).has_value());
  EXPECT_TRUE(RawClient(server_->port()).IsClosed());
  EXPECT_EQ(Count(Limit::kConnectionsPerAddress), 1);
}

TEST_F(LimitsTest, HandshakesOfAnAddress) {
  WireServerOptions options;
  options.handshakes_per_address = 1;
  Start(std::move(options));
  RawClient first(server_->port());
  EXPECT_TRUE(RawClient(server_->port()).IsClosed());
  EXPECT_EQ(Count(Limit::kHandshakesPerAddress), 1);
  first.Begin();
  EXPECT_TRUE(first.Read(FrameType::kSettings).has_value());
  RawClient second(server_->port());
  second.Begin();
  EXPECT_TRUE(second.Read(FrameType::kSettings).has_value());
}

TEST_F(LimitsTest, TimeOfAHandshakeSentByteByByte) {
  WireServerOptions options;
  options.session.handshake = absl::Seconds(1);
  Start(std::move(options));
  RawClient client(server_->port());
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  bool is_closed = false;
  for (size_t i = 0; i + 1 < preface.size() && !is_closed; ++i) {
    client.Send(preface.substr(i, 1));
    client.SetTimeout(SO_RCVTIMEO, absl::Milliseconds(200));
    is_closed = client.IsClosed();
  }
  EXPECT_TRUE(is_closed);
  EXPECT_EQ(Count(Limit::kHandshakeTimeout), 1);
}

TEST_F(LimitsTest, ResetsOfAnAddress) {
  WireServerOptions options;
  options.session.resets_at_once = 5;
  options.session.resets_per_second = 0;
  Start(std::move(options));
  const auto reset = [this](int count) {
    RawClient client(server_->port());
    client.Begin();
    for (int i = 0; i < count; ++i) {
      const uint32_t stream = 1 + 2 * static_cast<uint32_t>(i);
      client.Send(CallHead(stream, kWait) + ResetFrame(stream));
    }
    client.Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
    return client.Read(FrameType::kPing).has_value();
  };
  EXPECT_TRUE(reset(3));
  EXPECT_FALSE(reset(3)) << "3 + 3 are more than 5";
  EXPECT_EQ(Count(Limit::kResets), 1);
  EXPECT_EQ(begun_, ended_);
}

// A window beyond 2^31-1 is an error of its stream: the server resets it.
TEST_F(LimitsTest, ResetsThatAClientMakesTheServerSend) {
  WireServerOptions options;
  options.session.resets_at_once = 5;
  options.session.resets_per_second = 0;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  for (uint32_t stream = 1; stream < 20; stream += 2) {
    client.Send(CallHead(stream, kWait) +
                Encode({FrameType::kWindowUpdate, 0, stream, BigEndian(0x7fffffff, 4)}));
  }
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(Count(Limit::kResets), 1);
}

TEST_F(LimitsTest, ControlFrames) {
  WireServerOptions options;
  options.session.useless_frames = 3;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  for (int i = 0; i < 3; ++i) client.Send(Encode({FrameType::kSettings, 0, 0, ""}));
  const auto goaway = client.Read(FrameType::kGoAway);
  ASSERT_TRUE(goaway.has_value());
  EXPECT_EQ(RawClient::Number(goaway->payload.substr(4)), 11) << "ENHANCE_YOUR_CALM";
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(Count(Limit::kControlFrames), 1);
}

TEST_F(LimitsTest, FramesThatServeNoCall) {
  WireServerOptions options;
  options.session.useless_frames = 20;
  Start(std::move(options));

  std::string long_message = CallHead(1, kWait) + DataFrame(1, "");
  long_message.back() = 100;
  const std::string ended = CallHead(1, kWait) + ResetFrame(1);
  struct Case {
    const char* name;
    std::string before;
    Frame frame;
  };
  int closed = 0;
  for (const Case& each : std::vector<Case>{
           {"PING", "", {FrameType::kPing, 0, 0, std::string(8, 'x')}},
           {"PRIORITY", "", {FrameType::kPriority, 0, 1, std::string(5, '\0')}},
           {"WINDOW_UPDATE", "", {FrameType::kWindowUpdate, 0, 0, BigEndian(1, 4)}},
           {"unknown", "", {FrameType::kUnknown, 0, 1, "x"}},
           {"empty DATA", CallHead(1, kWait), {FrameType::kData, 0, 1, ""}},
           {"padded DATA", CallHead(1, kWait), {FrameType::kData, kPadded, 1, {2, 0, 0}}},
           {"a message byte by byte", long_message, {FrameType::kData, 0, 1, "x"}},
           {"an ended call's WINDOW_UPDATE",
            ended,
            {FrameType::kWindowUpdate, 0, 1, BigEndian(1, 4)}},
           {"an ended call's DATA", ended, {FrameType::kData, 0, 1, ""}},
           {"an ended call's trailers", ended, {FrameType::kHeaders, kEndHeaders, 1, "\x83"}}}) {
    SCOPED_TRACE(each.name);
    RawClient client(server_->port());
    client.Begin();
    client.Send(each.before);
    for (int i = 0; i < 15; ++i) client.Send(Encode(each.frame));
    client.Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'p')}));
    std::optional<Frame> pong;
    while ((pong = client.Read(FrameType::kPing)) && pong->payload != std::string(8, 'p')) {
    }
    EXPECT_TRUE(pong.has_value());
    for (int i = 0; i < 15; ++i) client.Send(Encode(each.frame));
    EXPECT_TRUE(client.IsClosed());
    EXPECT_EQ(Count(Limit::kControlFrames), ++closed);
  }
}

TEST_F(LimitsTest, FramesThatBelongToCalls) {
  WireServerOptions options;
  options.session.useless_frames = 20;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  const auto is_there = [&] {
    client.Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
    return client.Read(FrameType::kPing).has_value();
  };
  constexpr uint32_t kCalls = 200;
  std::string calls, updates, late;
  for (uint32_t stream = 1; stream < 2 * kCalls; stream += 2) {
    const std::string message = DataFrame(stream, "x");
    calls += CallHead(stream, kWait) + Encode({FrameType::kData, 0, stream, message.substr(9, 5)}) +
             Encode({FrameType::kData, 0, stream, "x"});
    updates += Encode({FrameType::kWindowUpdate, 0, stream, BigEndian(6, 4)});
    late += message + message + Encode({FrameType::kData, kEndStream, stream, ""});
  }
  client.Send(calls);
  EXPECT_TRUE(is_there()) << "a message's prefix may have a frame of its own";
  client.Send(updates);
  EXPECT_TRUE(is_there()) << "a client may enlarge the window of each call";
  for (uint32_t stream = 1; stream < 2 * kCalls; stream += 2) client.Send(ResetFrame(stream));
  client.Send(late);
  EXPECT_TRUE(is_there()) << "the client sends on until it has read that a call has ended";
  EXPECT_EQ(Count(Limit::kControlFrames), 0);
}

TEST_F(LimitsTest, WindowUpdatesAfterAnswers) {
  WireServerOptions options;
  options.session.useless_frames = 20;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  std::string updates;
  for (uint32_t stream = 1; stream < 200; stream += 2) {
    client.Send(CallHead(stream, kAnswer));
    ASSERT_TRUE(client.Read(FrameType::kData).has_value());
    for (const uint32_t each : {uint32_t{0}, stream}) {
      updates += Encode({FrameType::kWindowUpdate, 0, each, BigEndian(15, 4)});
    }
  }
  client.Send(updates + Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
  EXPECT_TRUE(client.Read(FrameType::kPing).has_value());
}

TEST_F(LimitsTest, FramesThatVisitAllStreams) {
  WireServerOptions options;
  options.session.settings_at_once = 2;
  options.session.settings_per_second = 0;
  Start(std::move(options));
  int closed = 0;
  for (const Frame& frame : {Frame{.type = FrameType::kSettings},
                             Frame{.type = FrameType::kGoAway, .payload = std::string(8, '\0')}}) {
    SCOPED_TRACE(static_cast<int>(frame.type));
    RawClient client(server_->port(), absl::StrCat("127.0.3.", 2 + closed).c_str());
    client.Begin();
    for (uint32_t i = 0; i < 100; ++i) client.Send(CallHead(1 + 2 * i, kWait));
    for (int i = 0; i < 2; ++i) client.Send(Encode(frame));
    client.Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
    EXPECT_TRUE(client.Read(FrameType::kPing).has_value());
    client.Send(Encode(frame));
    EXPECT_TRUE(client.IsClosed());
    EXPECT_EQ(Count(Limit::kControlFrames), ++closed);
  }
}

TEST_F(LimitsTest, AnswersAnAddressThatHasUsedUpItsPartOfTheLoop) {
  WireServerOptions options;
  options.session.loop_at_once = options.session.loop_per_second = 0;
  Start(options);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Call(kRequest), absl::OkStatus());
}

TEST_F(LimitsTest, AllowsAllDeadlinesOfAnAddressAtOnce) {
  Start();
  constexpr int kCalls = 20'000;
  RawClient client(server_->port());
  client.Begin();
  std::string calls, resets;
  for (uint32_t i = 0; i < kCalls; ++i) {
    calls += CallHead(1 + 2 * i, kWait, Literal("grpc-timeout", "300m"));
    resets += ResetFrame(1 + 2 * i);
  }
  ASSERT_TRUE(client.Send(calls));
  ASSERT_TRUE(Eventually([this] { return begun_ == kCalls; }));
  ASSERT_TRUE(client.Send(resets));
  EXPECT_TRUE(Eventually([this] { return ended_ == kCalls; }));
  client.Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
  EXPECT_TRUE(client.Read(FrameType::kPing).has_value()) << "the connection is still there";
  EXPECT_THAT(server_->counts().limits, testing::Each(0));
}

TEST_F(LimitsTest, Continuations) {
  Start();
  RawClient client(server_->port());
  client.Begin();
  client.Send(Encode({FrameType::kHeaders, 0, 1, "\x83"}));
  for (int i = 0; i < 20; ++i) client.Send(Encode({FrameType::kContinuation, 0, 1, "\x86"}));
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(Count(Limit::kContinuations), 1);
}

TEST_F(LimitsTest, StreamsOfAnAddressOnSeveralConnections) {
  WireServerOptions options;
  options.session.streams_per_address = 1;
  Start(std::move(options));
  {
    RawClient client(server_->port());
    client.Begin();
    client.Send(CallHead(1, kWait));
    ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
    EXPECT_EQ(Call(kRequest).code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(Count(Limit::kStreamsPerAddress), 1);
  }
  ASSERT_TRUE(Eventually([this] { return ended_ == 1; }));
  EXPECT_EQ(Call(kRequest), absl::OkStatus());
}

// Returns that many calls on new streams.
std::string Calls(uint32_t& next, int count) {
  std::string all;
  for (int i = 0; i < count; ++i, next += 2) all += CallHead(next, kWait);
  return all;
}

TEST_F(LimitsTest, RefusedStreamsOfAnAddress) {
  WireServerOptions options;
  options.session.streams_per_address = 1;
  options.session.refused_streams = 10;
  Start(std::move(options));
  RawClient neighbour(server_->port()), client(server_->port());
  neighbour.Begin();
  neighbour.Send(CallHead(1, kWait));
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  client.Begin();
  uint32_t next = 1;
  for (int i = 0; i < 3; ++i) {
    client.Send(Calls(next, 10));
    for (int call = 0; call < 10; ++call) {
      ASSERT_TRUE(client.Read(FrameType::kReset).has_value()) << "it has got its status";
    }
  }
  client.Send(Calls(next, 30));  // all are read before a status is sent
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(Count(Limit::kStreamsPerAddress), 30 + 10 + 1);
  neighbour.Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
  EXPECT_TRUE(neighbour.Read(FrameType::kPing).has_value()) << "it has no refused stream";
}

TEST_F(LimitsTest, RefusedStreamsInAll) {
  WireServerOptions options;
  options.session.streams_in_all = 1;
  options.session.refused_streams = 10;
  Start(std::move(options));
  RawClient other(server_->port(), "127.0.3.2"), client(server_->port(), "127.0.3.3");
  other.Begin();
  other.Send(CallHead(1, kWait));
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  client.Begin();
  uint32_t next = 1;
  client.Send(Calls(next, 30));
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(Count(Limit::kStreams), 10 + 1);
  other.Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
  EXPECT_TRUE(other.Read(FrameType::kPing).has_value());
}

TEST_F(LimitsTest, StreamsInAll) {
  WireServerOptions options;
  options.session.streams_in_all = 1;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  client.Send(CallHead(1, kWait));
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  EXPECT_EQ(Call(kRequest).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Count(Limit::kStreams), 1);
}

TEST_F(LimitsTest, AnAddressWithManyStreamsMakesRoomForOthers) {
  WireServerOptions options;
  options.session.streams_in_all = 8;
  Start(std::move(options));
  RawClient large(server_->port(), "127.0.3.2"), small(server_->port(), "127.0.3.2"),
      other(server_->port(), "127.0.3.3");
  int streams = 0;
  for (const auto& [client, count] : {std::pair(&large, 4), {&small, 1}, {&other, 3}}) {
    client->Begin();
    for (int i = 0; i < count; ++i) client->Send(CallHead(static_cast<uint32_t>(1 + 2 * i), kWait));
    streams += count;
    ASSERT_TRUE(Eventually([&] { return begun_ == streams; }));
  }
  EXPECT_EQ(Call(kRequest), absl::OkStatus());
  EXPECT_TRUE(large.IsClosed());
  EXPECT_EQ(ended_, 4);
  EXPECT_EQ(Count(Limit::kStreams), 1);
  for (RawClient* client : {&small, &other}) {
    client->Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
    EXPECT_TRUE(client->Read(FrameType::kPing).has_value());
  }
}

TEST_F(LimitsTest, StreamsThatWereAnnounced) {
  WireServerOptions options;
  options.session.streams = 2;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  client.Send(Encode({FrameType::kSettings, kAck, 0, ""}));  // acknowledges the server's
  for (const uint32_t stream : {1, 3, 5}) client.Send(CallHead(stream, kWait));
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(Count(Limit::kStreams), 1);
  EXPECT_EQ(begun_, 2);
}

TEST_F(LimitsTest, Headers) {
  WireServerOptions options;
  options.session.header_list_bytes = 500;
  options.session.metadata_keys = 2;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  std::string large, many;
  for (int i = 0; i < 2; ++i) large += Literal("a", std::string(120, 'x'));
  for (int i = 0; i < 3; ++i) many += Literal(absl::StrCat("key", i), "x");
  client.Send(CallHead(1, kWait, large) + CallHead(3, kWait, many + large));
  ASSERT_TRUE(client.Read(FrameType::kReset).has_value());
  ASSERT_TRUE(client.Read(FrameType::kReset).has_value());
  EXPECT_EQ(Count(Limit::kHeaderList), 1);
  EXPECT_EQ(Count(Limit::kMetadataKeys), 1) << "fields behind the first limit are not looked at";
  EXPECT_EQ(begun_, 0);
}

// A field of 3,900 bytes that enters the table of the server's decoder, and a byte for each
// repetition.
std::string RepeatedField(const std::string& field_end, size_t repetitions) {
  constexpr size_t kSize = 3'900;
  const std::string size = "\x7f\xbd\x1d";  // 127 + 61 + 29 * 128
  const std::string value = std::string(kSize - field_end.size(), 'v') + field_end;
  return "\x40\x01k" + size + value + std::string(repetitions, '\xbe');
}

TEST_F(LimitsTest, HeadersThatAreDecodedBeyondTheLimit) {
  Start();
  int closed = 0;
  // nghttp2 leaves out a field with a NUL byte.
  for (const std::string& field_end : {std::string("v"), std::string(1, '\0')}) {
    RawClient request(server_->port());
    request.Begin();
    request.Send(CallHead(1, kWait, RepeatedField(field_end, 6)));
    EXPECT_TRUE(request.Read(FrameType::kHeaders).has_value()) << "RESOURCE_EXHAUSTED";
    request.Send(CallHead(3, kWait, std::string(20, '\xbe')));
    EXPECT_TRUE(request.IsClosed());
    EXPECT_EQ(Count(Limit::kHeaderList), 2 * ++closed) << "the first call is refused";
  }
}

TEST_F(LimitsTest, TrailersThatAreDecodedBeyondTheLimit) {
  Start();
  RawClient client(server_->port());
  client.Begin();
  client.Send(CallHead(1, kWait, RepeatedField("v", 0)));
  client.Send(Encode({FrameType::kHeaders, kEndHeaders | kEndStream, 1, std::string(20, '\xbe')}));
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(Count(Limit::kHeaderList), 1);
}

TEST_F(LimitsTest, SizeOfMessages) {
  WireServerOptions options;
  options.session.longest_message = 100;
  Start(std::move(options));
  EXPECT_EQ(Call(kWait, std::string(101, 'x')).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Count(Limit::kMessageSize), 1);
}

// Unfinished messages, headers, and messages that wait for the end of their call.
TEST_F(LimitsTest, UnfinishedBytesOfAnAddress) {
  WireServerOptions options;
  options.session.unfinished_bytes_per_address = 10'000;
  Start(std::move(options));
  const std::string part = DataFrame(1, std::string(9'000, 'x')).substr(0, 9 + 5 + 6'000);
  const auto frame = [](uint32_t stream, const std::string& payload) {
    return Encode({FrameType::kData, 0, stream, payload});
  };
  RawClient client(server_->port());
  client.Begin();
  client.Send(CallHead(1, kWait) + frame(1, part.substr(9)));
  client.Send(CallHead(3, kWait) + frame(3, part.substr(9)));
  const auto refused = client.Read(FrameType::kReset);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->stream, 3);
  EXPECT_EQ(Count(Limit::kUnfinishedBytes), 1);

  std::string large;
  for (int i = 0; i < 50; ++i) large += Literal("a", std::string(100, 'x'));
  client.Send(CallHead(5, kWait, large));
  EXPECT_TRUE(client.Read(FrameType::kReset).has_value());
  EXPECT_EQ(Count(Limit::kUnfinishedBytes), 2);

  client.Send(CallHead(7, kRequest) + DataFrame(7, std::string(6'000, 'x')));
  EXPECT_TRUE(client.Read(FrameType::kReset).has_value());
  EXPECT_EQ(Count(Limit::kUnfinishedBytes), 3);

  client.Send(ResetFrame(1));  // which gives its bytes back
  client.Send(CallHead(9, kWait) + frame(9, part.substr(9)) + ResetFrame(9) +
              Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
  EXPECT_TRUE(client.Read(FrameType::kPing).has_value());
  EXPECT_EQ(Count(Limit::kUnfinishedBytes), 3);
}

// An address has at most half of what the others leave.
TEST_F(LimitsTest, UnfinishedBytesInAll) {
  WireServerOptions options;
  options.session.unfinished_bytes_in_all = 10'000;
  Start(std::move(options));
  const auto send_part = [](RawClient& client, uint32_t stream, size_t size) {
    const std::string part = DataFrame(stream, std::string(9'000, 'x')).substr(9, size);
    client.Send(CallHead(stream, kWait) + Encode({FrameType::kData, 0, stream, part}));
    client.Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
    EXPECT_TRUE(client.Read(FrameType::kPing).has_value());
  };
  RawClient first(server_->port(), "127.0.3.2"), second(server_->port(), "127.0.3.3");
  first.Begin();
  second.Begin();
  send_part(first, 1, 4'500);
  send_part(second, 1, 2'500);
  EXPECT_EQ(Count(Limit::kUnfinishedBytes), 0);
  send_part(second, 3, 2'500);
  EXPECT_EQ(Count(Limit::kUnfinishedBytes), 1);
}

// A call's first 512 bytes do not count.
TEST_F(LimitsTest, SmallUnfinishedMessagesOfManyCalls) {
  WireServerOptions options;
  options.session.unfinished_bytes_per_address = 10'000;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  for (uint32_t i = 0; i < 100; ++i) {
    client.Send(CallHead(1 + 2 * i, kRequest) + DataFrame(1 + 2 * i, std::string(512, 'x')));
  }
  for (uint32_t i = 100; i < 130; ++i) {
    client.Send(CallHead(1 + 2 * i, kRequest) + DataFrame(1 + 2 * i, std::string(1'012, 'x')));
  }
  const auto refused = client.Read(FrameType::kReset);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->stream, 1 + 2 * 120) << "20 calls have 500 bytes each that count";
  EXPECT_TRUE(Eventually([this] { return Count(Limit::kUnfinishedBytes) == 10; }));
}

TEST_F(LimitsTest, HeadersUntilTheirCallHasStarted) {
  WireServerOptions options;
  options.session.unfinished_bytes_per_address = 10'000;
  Start(std::move(options));
  std::string large;
  for (int i = 0; i < 40; ++i) large += Literal("a", std::string(100, 'x'));
  RawClient first(server_->port()), second(server_->port());
  first.Begin();
  for (const uint32_t stream : {1, 3, 5}) first.Send(CallHead(stream, kWait, large));
  EXPECT_TRUE(Eventually([this] { return begun_ == 3; }));
  EXPECT_EQ(Count(Limit::kUnfinishedBytes), 0);

  std::string half = CallHead(7, kWait, large);
  half[4] = 0;  // without END_HEADERS
  first.Send(half + Encode({FrameType::kContinuation, 0, 7, ""}));
  second.Begin();
  EXPECT_TRUE(second.Read(FrameType::kSettings).has_value());
  second.Send(CallHead(1, kWait, large));
  EXPECT_TRUE(second.Read(FrameType::kReset).has_value());
  EXPECT_EQ(Count(Limit::kUnfinishedBytes), 1);
}

TEST_F(LimitsTest, AnswersThatAnAddressDoesNotRead) {
  WireServerOptions options;
  options.session.unread_bytes_per_address = 10'000;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin(kNoWindow);
  client.Send(CallHead(1, kLarge) + DataFrame(1, "", kEndStream));
  ASSERT_TRUE(client.Read(FrameType::kHeaders).has_value());
  client.Send(CallHead(3, kLarge) + DataFrame(3, "", kEndStream));
  const auto refused = client.Read(FrameType::kHeaders);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->stream, 3);
  EXPECT_EQ(refused->flags & kEndStream, kEndStream) << "it is a status";
  EXPECT_EQ(Count(Limit::kUnreadBytes), 1);

  client.Send(CallHead(5, kAnswer));  // a small one
  client.Send(ResetFrame(1));         // which gives its bytes back
  client.Send(CallHead(7, kLarge) + DataFrame(7, "", kEndStream));
  for (const uint32_t stream : {5, 7}) EXPECT_EQ(client.Read(FrameType::kHeaders)->stream, stream);
  EXPECT_EQ(Count(Limit::kUnreadBytes), 1);
}

TEST_F(LimitsTest, TextsOfStatusesThatAnAddressDoesNotRead) {
  WireServerOptions options;
  options.session.unread_bytes_per_address = 6'500;
  Start(std::move(options));
  EXPECT_EQ(Call(kFail).message(), kLongText);
  RawClient client(server_->port());
  client.Begin(kNoWindow);
  client.Send(CallHead(1, kLarge) + DataFrame(1, "", kEndStream));
  ASSERT_TRUE(client.Read(FrameType::kHeaders).has_value());
  EXPECT_EQ(Call(kFail), absl::InternalError("no reason was given"));
}

TEST_F(LimitsTest, AnswersThatNoAddressReads) {
  WireServerOptions options;
  options.session.unread_bytes_in_all = 14'000;  // the first address may have half
  Start(std::move(options));
  RawClient client(server_->port(), "127.0.3.2");
  client.Begin(kNoWindow);
  client.Send(CallHead(1, kLarge) + DataFrame(1, "", kEndStream));
  ASSERT_TRUE(client.Read(FrameType::kHeaders).has_value());
  EXPECT_EQ(Call(kLarge).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Count(Limit::kUnreadBytes), 1);
  client.Send(ResetFrame(1) + Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
  ASSERT_TRUE(client.Read(FrameType::kPing).has_value());
  EXPECT_EQ(Call(kLarge), absl::OkStatus());
}

TEST_F(LimitsTest, LargeAnswersPassToClientsThatReadLate) {
  Start();
  constexpr int kCalls = 20;
  constexpr size_t kSize = 1'000'000;
  Channel channel(loop_, {.address = absl::StrCat("127.0.0.1:", server_->port())});
  std::vector<std::unique_ptr<BytesCall>> calls;
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back(
        std::make_unique<BytesCall>(channel, kWait, CallOptions(), BytesCall::Reads::kNever));
    ASSERT_TRUE(Eventually([&] { return begun_ == i + 1; }));
    call_->Write(std::string(kSize, 'x'));
    call_->Finish(absl::OkStatus());
  }
  for (const auto& call : calls) EXPECT_TRUE(call->WaitForHeaders());
  for (const auto& call : calls) {
    call->StartReading();
    EXPECT_EQ(call->WaitForEnd(), absl::OkStatus());
    EXPECT_EQ(call->messages().at(0).size(), kSize);
  }
  EXPECT_THAT(server_->counts().limits, testing::Each(0));
}

TEST_F(LimitsTest, MessagesOfAStreamThatIsNotRead) {
  WireServerOptions options;
  options.session.unread_bytes_per_address = 10'000;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin(BigEndian(4, 2) + BigEndian(10, 4));  // INITIAL_WINDOW_SIZE
  client.Send(CallHead(1, kWait));
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  call_->WriteNewest(std::string(5'000, 'x'));
  ASSERT_TRUE(client.Read(FrameType::kData).has_value()) << "its first 10 bytes";
  for (int i = 0; i < 100; ++i) call_->WriteNewest(std::string(5'000, 'x'));
  EXPECT_FALSE(call_->is_finished()) << "each takes the place of the one before";
  call_->Write(std::string(1'000, 'x'));
  EXPECT_TRUE(call_->is_finished());
  const auto reset = client.Read(FrameType::kReset);
  ASSERT_TRUE(reset.has_value());
  EXPECT_EQ(reset->payload, BigEndian(8, 4)) << "CANCEL";
  EXPECT_TRUE(Eventually([this] { return ended_ == 1; }));
  EXPECT_EQ(Count(Limit::kUnreadBytes), 1);
  EXPECT_EQ(Call(kLarge), absl::OkStatus()) << "its bytes are given back";
}

TEST_F(LimitsTest, EndsRefusedCallsOfClientsThatNeverEndThem) {
  Start();
  RawClient client(server_->port());
  client.Begin();
  client.Send(CallHead(1, "/no.such/Method"));
  const auto reset = client.Read(FrameType::kReset);
  ASSERT_TRUE(reset.has_value());
  EXPECT_EQ(reset->payload, BigEndian(0, 4)) << "NO_ERROR";
}

TEST_F(LimitsTest, StopsReadingFromClientsThatDoNotRead) {
  WireServerOptions options;
  options.session.resets_at_once = 100'000'000;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  client.SetTimeout(SO_SNDTIMEO, absl::Seconds(1));
  constexpr uint32_t kMaxCalls = 1'000'000;
  uint32_t sent = 0;
  for (bool is_read = true; is_read && sent < kMaxCalls; sent += 1000) {
    std::string calls, resets;
    for (uint32_t i = sent; i < sent + 1000; ++i) {
      calls += CallHead(1 + 2 * i, "/no.such/Method");
      resets += ResetFrame(1 + 2 * i);
    }
    is_read = client.Send(calls + resets);
  }
  EXPECT_LT(sent, kMaxCalls);
  EXPECT_EQ(Call(kRequest), absl::OkStatus());
}

// Its window is shut for ever: no status passes.
TEST_F(LimitsTest, ResetsExpiredCallsWithoutAWindow) {
  Start();
  RawClient client(server_->port());
  client.Begin(kNoWindow);
  client.Send(CallHead(1, kAnswer, Literal("grpc-timeout", "100m")));
  const auto reset = client.Read(FrameType::kReset);
  ASSERT_TRUE(reset.has_value());
  EXPECT_EQ(reset->payload, BigEndian(8, 4)) << "CANCEL";
}

TEST_F(LimitsTest, FinishNowResetsCallsThatAreNotRead) {
  Start();
  RawClient client(server_->port());
  client.Begin(kNoWindow);
  client.Send(CallHead(1, kWait));
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  call_->Write("x");
  EXPECT_TRUE(client.Read(FrameType::kHeaders).has_value());
  call_->FinishNow(absl::ResourceExhaustedError("enough"));
  const auto reset = client.Read(FrameType::kReset);
  ASSERT_TRUE(reset.has_value());
  EXPECT_EQ(reset->payload, BigEndian(8, 4)) << "CANCEL";
  EXPECT_TRUE(Eventually([this] { return ended_ == 1; }));
}

// The headers are not sent when the call ends.
TEST_F(LimitsTest, FinishNowSendsAStatusWithoutAWindowInsteadOfHeaders) {
  Start();
  RawClient client(server_->port());
  client.Begin(kNoWindow);
  client.Send(CallHead(1, kEnd));
  const auto status = client.Read(FrameType::kHeaders);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->flags & kEndStream, kEndStream);
  EXPECT_TRUE(Eventually([this] { return ended_ == 1; }));
}

TEST_F(LimitsTest, FinishNowSendsAStatusIfTheClientReads) {
  Start();
  Channel channel(loop_, {.address = absl::StrCat("127.0.0.1:", server_->port())});
  BytesCall call(channel, kWait);
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  call_->Write("x");
  ASSERT_EQ(call.WaitForMessages(1).size(), 1);
  call_->FinishNow(absl::ResourceExhaustedError("enough"));
  EXPECT_EQ(call.WaitForEnd(), absl::ResourceExhaustedError("enough"));
}

TEST_F(LimitsTest, DropsMessagesWrittenAfterTheEnd) {
  Start();
  {
    RawClient client(server_->port());
    client.Begin();
    client.Send(CallHead(1, kWait));
    ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  }
  ASSERT_TRUE(Eventually([this] { return ended_ == 1; }));
  const size_t before = mallinfo2().hblkhd + mallinfo2().uordblks;
  for (int i = 0; i < 100; ++i) call_->Write(std::string(1 << 20, 'x'));
  EXPECT_LT(mallinfo2().hblkhd + mallinfo2().uordblks, before + (50 << 20));
}

TEST_F(LimitsTest, Descriptors) {
  const int lowest = fcntl(0, F_DUPFD_CLOEXEC, 0);
  ASSERT_GE(lowest, 0);
  close(lowest);
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  WireServerOptions options;
  options.spare_descriptors = 20;
  Start(std::move(options));
  const rlimit few = {.rlim_cur = static_cast<rlim_t>(lowest) + 80, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  {
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 35; ++i) clients.push_back(std::make_unique<RawClient>(server_->port()));
    EXPECT_TRUE(Eventually([this] { return Count(Limit::kDescriptors) > 0; }));
    EXPECT_LT(server_->counts().connections, 35);
  }
  EXPECT_EQ(Call(kRequest), absl::OkStatus());
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(LimitsTest, StartFailsWithoutDescriptors) {
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  WireServerOptions options;
  options.bind_address = "127.0.0.1";
  const auto server = WireServer::Start(std::move(options), {});
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kUnavailable) << server.status();
}

}  // namespace
}  // namespace gpuscaler
