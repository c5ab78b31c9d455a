// Clients that do not read their answers, and calls that end before all is read.
#include <malloc.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wire/test_limited_server.h"

namespace gpuscaler {
namespace {

class UnreadAnswersTest : public LimitedServerTest {};

TEST_F(UnreadAnswersTest, AnswersThatAnAddressDoesNotRead) {
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

TEST_F(UnreadAnswersTest, TextsOfStatusesThatAnAddressDoesNotRead) {
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

TEST_F(UnreadAnswersTest, AnswersThatNoAddressReads) {
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

TEST_F(UnreadAnswersTest, LargeAnswersPassToClientsThatReadLate) {
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

TEST_F(UnreadAnswersTest, MessagesOfAStreamThatIsNotRead) {
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

TEST_F(UnreadAnswersTest, EndsRefusedCallsOfClientsThatNeverEndThem) {
  Start();
  RawClient client(server_->port());
  client.Begin();
  client.Send(CallHead(1, "/no.such/Method"));
  const auto reset = client.Read(FrameType::kReset);
  ASSERT_TRUE(reset.has_value());
  EXPECT_EQ(reset->payload, BigEndian(0, 4)) << "NO_ERROR";
}

TEST_F(UnreadAnswersTest, StopsReadingFromClientsThatDoNotRead) {
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
TEST_F(UnreadAnswersTest, ResetsExpiredCallsWithoutAWindow) {
  Start();
  RawClient client(server_->port());
  client.Begin(kNoWindow);
  client.Send(CallHead(1, kAnswer, Literal("grpc-timeout", "100m")));
  const auto reset = client.Read(FrameType::kReset);
  ASSERT_TRUE(reset.has_value());
  EXPECT_EQ(reset->payload, BigEndian(8, 4)) << "CANCEL";
}

TEST_F(UnreadAnswersTest, FinishNowResetsCallsThatAreNotRead) {
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
TEST_F(UnreadAnswersTest, FinishNowSendsAStatusWithoutAWindowInsteadOfHeaders) {
  Start();
  RawClient client(server_->port());
  client.Begin(kNoWindow);
  client.Send(CallHead(1, kEnd));
  const auto status = client.Read(FrameType::kHeaders);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->flags & kEndStream, kEndStream);
  EXPECT_TRUE(Eventually([this] { return ended_ == 1; }));
}

TEST_F(UnreadAnswersTest, FinishNowSendsAStatusIfTheClientReads) {
  Start();
  Channel channel(loop_, {.address = absl::StrCat("127.0.0.1:", server_->port())});
  BytesCall call(channel, kWait);
  ASSERT_TRUE(Eventually([this] { return begun_ == 1; }));
  call_->Write("x");
  ASSERT_EQ(call.WaitForMessages(1).size(), 1);
  call_->FinishNow(absl::ResourceExhaustedError("enough"));
  EXPECT_EQ(call.WaitForEnd(), absl::ResourceExhaustedError("enough"));
}

TEST_F(UnreadAnswersTest, DropsMessagesWrittenAfterTheEnd) {
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

}  // namespace
}  // namespace gpuscaler
