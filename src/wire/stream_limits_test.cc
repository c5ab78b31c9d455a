// Clients with too many streams.
#include <cstdint>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "wire/test_limited_server.h"

namespace gpuscaler {
namespace {

class StreamLimitsTest : public LimitedServerTest {
 protected:
  // Returns that many calls on new streams.
  static std::string Calls(uint32_t& next, int count) {
    std::string all;
    for (int i = 0; i < count; ++i, next += 2) all += CallHead(next, kWait);
    return all;
  }
};

TEST_F(StreamLimitsTest, StreamsOfAnAddressOnSeveralConnections) {
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

TEST_F(StreamLimitsTest, RefusedStreamsOfAnAddress) {
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
  EXPECT_TRUE(Answers(neighbour)) << "it has no refused stream";
}

TEST_F(StreamLimitsTest, RefusedStreamsInAll) {
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
  EXPECT_TRUE(Answers(other));
}

// A call that has not begun is neither refused nor open, so no connection of the address can make
// room.
TEST_F(StreamLimitsTest, ConnectionsWithoutRefusedStreamsMakeNoRoom) {
  WireServerOptions options;
  options.session.streams_per_address = 1;
  options.session.refused_streams = 1;
  Start(std::move(options));
  RawClient neighbour(server_->port()), other(server_->port(), "127.0.3.2");
  RawClient client(server_->port()), more(server_->port());
  for (RawClient* each : {&neighbour, &other, &client, &more}) {
    each->Begin();
    ASSERT_TRUE(Answers(*each));
  }
  client.Send(CallHead(1, kWait));
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  client.Send(Encode({FrameType::kHeaders, 0, 3, Literal("key", "value")}) + "x");
  more.Send(CallHead(1, kWait));
  EXPECT_TRUE(more.IsClosed());
  EXPECT_TRUE(Answers(neighbour));
  EXPECT_TRUE(Answers(other));
}

TEST_F(StreamLimitsTest, StreamsInAll) {
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

TEST_F(StreamLimitsTest, AnAddressWithManyStreamsMakesRoomForOthers) {
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
    EXPECT_TRUE(Answers(*client));
  }
}

TEST_F(StreamLimitsTest, StreamsThatWereAnnounced) {
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

}  // namespace
}  // namespace gpuscaler
