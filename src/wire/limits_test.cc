// Clients with too many connections or frames, or too large headers or messages.
#include "wire/limits.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wire/test_limited_server.h"

namespace gpuscaler {
namespace {

class LimitsTest : public LimitedServerTest {};

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
    EXPECT_TRUE(Answers(*client));
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
  const std::string settings = Encode({FrameType::kSettings, 0, 0, ""});
  // At once, because each second allows one more.
  client.Send(absl::StrCat(kPreface, settings, settings, settings, settings));
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
    EXPECT_TRUE(Answers(client));
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
  EXPECT_TRUE(Answers(client)) << "the connection is still there";
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
    EXPECT_TRUE(Answers(client));
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

// nghttp2 reports no frame of a header block on a stream that has ended, but decodes it.
TEST_F(LimitsTest, HeaderBlocksOfEndedCallsThatNeverEnd) {
  WireServerOptions options;
  options.session.unfinished_bytes_per_address = 10'000;
  Start(std::move(options));
  RawClient client(server_->port());
  client.Begin();
  client.Send(CallHead(1, "/no.such/Method") + ResetFrame(1));
  const std::string part = std::string("\0\x01k\x7f\xe2\xd3\x03", 7) + std::string(100, 'v');
  const std::string more = Encode({FrameType::kContinuation, 0, 1, std::string(9'000, 'v')});
  client.Send(Encode({FrameType::kHeaders, 0, 1, part}) + more + more);
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(Count(Limit::kUnfinishedBytes), 1);
}

TEST_F(LimitsTest, HeaderBlocksThatNeverEnd) {
  WireServerOptions options;
  options.session.unfinished_bytes_per_address = 10'000;
  Start(std::move(options));
  // The beginning of a field of 60,001 bytes: no callback sees it.
  const std::string part = std::string("\0\x01k\x7f\xe2\xd3\x03", 7) + std::string(100, 'v');
  const std::string more = Encode({FrameType::kContinuation, 0, 1, std::string(9'000, 'v')});
  RawClient first(server_->port()), second(server_->port());
  for (RawClient* each : {&first, &second}) {
    each->Begin();
    each->Send(Encode({FrameType::kHeaders, 0, 1, part}));
  }
  first.Send(more);
  second.Send(more);
  EXPECT_TRUE(Eventually([this] { return Count(Limit::kUnfinishedBytes) == 1; }));
  first.Send(more);
  second.Send(more);
  EXPECT_TRUE(first.IsClosed());
  EXPECT_TRUE(second.IsClosed());
  EXPECT_EQ(Count(Limit::kUnfinishedBytes), 2);
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
