#include "serve/activity_stream.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serve/test_scaler_client.h"
#include "serve/test_served_scaler.h"
#include "wire/message_reader.h"
#include "wire/test_frames.h"

namespace gpuscaler {
namespace {

using externalscaler::IsActiveResponse;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::SizeIs;

using Stream = TestScalerClient::IsActiveStream;

std::unique_ptr<Stream> Open(ServedScaler& scaler,
                             const externalscaler::ScaledObjectRef& ref = RefOf({})) {
  return scaler.client.StreamIsActive(ref);
}

std::vector<bool> Results(const std::vector<IsActiveResponse>& observed) {
  std::vector<bool> results;
  for (const IsActiveResponse& response : observed) results.push_back(response.result());
  return results;
}

// The training profile never scales to zero, so the trigger is active without a replica and `true`
// is repeated.
externalscaler::ScaledObjectRef NeedsFirstReplica() { return RefOf({{"profile", "training"}}); }
// One snapshot stays fresh for the whole test.
const ScalerServiceOptions kNeverStale = {.stale_after = absl::Hours(1)};

// Activity ends with the first idle reading.
externalscaler::ScaledObjectRef WithoutWindow() { return RefOf({{"activationWindow", "0s"}}); }

// Makes the workload of WithoutWindow() idle and busy again until the stream has seen both.
bool BecomesActiveAgain(ServedScaler& scaler, Stream& stream) {
  const size_t before = stream.messages().size();
  const auto let_it_evaluate = [&] {
    scaler.clock.Advance(absl::Seconds(1));  // the interval of an active stream
    // Changes within 2 ms are evaluated together, and idle between them is not seen.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  return Eventually([&] {
    scaler.RepeatFor(kTick, {BusyGpu(0, 0)});
    let_it_evaluate();
    scaler.RepeatFor(kTick, {BusyGpu(0, 60)});
    let_it_evaluate();
    return stream.messages().size() > before;
  });
}

// A stream without a replica may evaluate a snapshot late. After two evaluations, the stream has
// sent all messages for the first one.
bool IsEvaluated(ServedScaler& scaler, const std::vector<GpuSample>& gpus) {
  for (int i = 0; i < 2; ++i) {
    const int evaluated = scaler.counted.decided(Outcome::kValue);
    scaler.Sample(gpus);
    scaler.clock.Advance(absl::Seconds(24));
    if (!Eventually([&] { return scaler.counted.decided(Outcome::kValue) > evaluated; })) {
      return false;
    }
  }
  return true;
}

TEST(ActivityStream, TrueIsSentWhenTheStreamOpens) {
  ServedScaler scaler;
  scaler.RepeatFor(absl::Seconds(130), {BusyGpu(0, 60)});
  EXPECT_THAT(Results(Open(scaler)->WaitForMessages(1)), ElementsAre(true));
}

TEST(ActivityStream, HeadersAreSentBeforeAnyStateIsKnown) {
  ServedScaler scaler;
  const auto stream = Open(scaler);
  ASSERT_TRUE(stream->WaitForHeaders());
  EXPECT_THAT(stream->messages(), SizeIs(0));
  scaler.Sample({BusyGpu(0, 60)});
  EXPECT_THAT(Results(stream->WaitForMessages(1)), ElementsAre(true));
}

TEST(ActivityStream, FalseIsNeverSent) {
  ServedScaler scaler({.stream_lifetime = absl::Hours(1)});
  scaler.RepeatFor(absl::Seconds(130), {FreeGpu(0)});
  const auto stream = Open(scaler, WithoutWindow());
  ASSERT_TRUE(stream->WaitForHeaders());
  for (int edge = 0; edge < 5; ++edge) ASSERT_TRUE(BecomesActiveAgain(scaler, *stream)) << edge;
  scaler.RepeatFor(absl::Seconds(20), {BusyGpu(0, 70)});
  scaler.RepeatFor(absl::Seconds(130), {BusyGpu(0, 0)});
  scaler.service->StopStreams();
  ASSERT_TRUE(stream->WaitForEnd());
  EXPECT_THAT(stream->messages(), SizeIs(Ge(5)));
  EXPECT_THAT(Results(stream->messages()), Each(true));
}

TEST(ActivityStream, RunningWorkloadIsNotRepeated) {
  ServedScaler scaler(kNeverStale);
  scaler.Sample({BusyGpu(0, 60)});
  const auto stream = Open(scaler);
  ASSERT_THAT(stream->WaitForMessages(1), SizeIs(1));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(IsEvaluated(scaler, {BusyGpu(0, i % 2 == 0 ? 60 : 70)}));
  }
  EXPECT_THAT(Results(stream->messages()), ElementsAre(true));
}

TEST(ActivityStream, DecisionsOfRequestsProveActivity) {
  std::atomic<int> rounds = 0;
  ServedScaler scaler({.stale_after = absl::Seconds(20),
                       .stream_lifetime = absl::Hours(1),
                       .on_tick = [&rounds] { ++rounds; }});
  const auto ref = RefOf({{"activationWindow", "5m"}});
  scaler.Sample({BusyGpu(0, 60)});
  const auto stream = Open(scaler, ref);
  ASSERT_THAT(stream->WaitForMessages(1), SizeIs(1));
  constexpr int kRequests = 4;
  for (int i = 0; i < kRequests; ++i) {
    scaler.clock.Advance(absl::Seconds(15));
    const int before = rounds;  // a stream that is due decides in the next whole round
    ASSERT_TRUE(Eventually([&] { return rounds >= before + 2; }));
    scaler.Sample({BusyGpu(0, 70)});
    ASSERT_TRUE(scaler.client.GetMetrics(ref).ok());
    scaler.Sample({BusyGpu(0, 60)});
  }
  EXPECT_EQ(scaler.counted.decided(Outcome::kValue), 1 + kRequests)
      << "the stream decided by itself";
}

TEST(ActivityStream, TrueIsRepeatedUntilThereIsAReplica) {
  ServedScaler scaler({.stale_after = absl::Hours(1), .stream_lifetime = absl::Hours(2)});
  scaler.Sample({});
  const auto stream = Open(scaler, NeedsFirstReplica());
  ASSERT_THAT(stream->WaitForMessages(1), SizeIs(1));
  scaler.clock.Advance(absl::Milliseconds(799));
  size_t observed = 1;
  // 1, 4 and 15 s, then each minute, times the largest jitter of 1.2.
  for (const double seconds : {0.401, 3.6, 13.2, 72.0, 72.0}) {
    scaler.clock.Advance(absl::Seconds(seconds));
    ++observed;
    ASSERT_THAT(stream->WaitForMessages(observed), SizeIs(observed)) << seconds;
  }
  ASSERT_TRUE(IsEvaluated(scaler, {BusyGpu(0, 60)}));
  scaler.clock.Advance(absl::Minutes(10));
  ASSERT_TRUE(IsEvaluated(scaler, {BusyGpu(0, 60)}));
  scaler.service->StopStreams();
  ASSERT_TRUE(stream->WaitForEnd());
  EXPECT_THAT(Results(stream->messages()), Each(true));
  EXPECT_THAT(stream->messages(), SizeIs(observed));
}

TEST(ActivityStream, ServerSendsAtMostFiveRepeatsASecond) {
  ServedScaler scaler(kNeverStale);
  scaler.Sample({});
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 12; ++i) streams.push_back(Open(scaler, NeedsFirstReplica()));
  for (const auto& stream : streams) ASSERT_THAT(stream->WaitForMessages(1), SizeIs(1));
  scaler.clock.Advance(absl::Milliseconds(1200));
  const auto count = [&] {
    size_t observed = 0;
    for (const auto& stream : streams) observed += stream->messages().size();
    return observed;
  };
  EXPECT_TRUE(Eventually([&] { return count() >= 17; }));
  scaler.service->StopStreams();
  for (const auto& stream : streams) ASSERT_TRUE(stream->WaitForEnd());
  EXPECT_EQ(count(), 17);
}

TEST(ActivityStream, EndsWithOkAfterItsLifetime) {
  ServedScaler scaler(kNeverStale);
  scaler.RepeatFor(absl::Seconds(130), {FreeGpu(0)});
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 10; ++i) streams.push_back(Open(scaler));
  for (const auto& stream : streams) ASSERT_TRUE(stream->WaitForHeaders());
  scaler.clock.Advance(absl::Seconds(239));
  scaler.Sample({BusyGpu(0, 60)});
  for (const auto& stream : streams) {
    EXPECT_THAT(Results(stream->WaitForMessages(1)), ElementsAre(true)) << "ended early";
  }
  scaler.clock.Advance(absl::Seconds(122));
  for (const auto& stream : streams) {
    const auto end = stream->WaitForEnd();
    ASSERT_TRUE(end);
    EXPECT_TRUE(end->ok()) << *end;
  }
  EXPECT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 0));
  EXPECT_EQ(scaler.counted.answered(Rpc::kStreamIsActive, absl::StatusCode::kOk), 10);
}

TEST(ActivityStream, BadMetadataEndsItWithAMessage) {
  ServedScaler scaler;
  externalscaler::ScaledObjectRef nameless = RefOf({});
  nameless.clear_name();
  for (const externalscaler::ScaledObjectRef& ref :
       {RefOf({{"targetVaule", "70"}}), RefOf({{"x", std::string(70'000, 'x')}}), nameless}) {
    const auto stream = Open(scaler, ref);
    const auto end = stream->WaitForEnd();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code(), absl::StatusCode::kInvalidArgument) << *end;
  }
}

TEST(ActivityStream, CancelledStreamIsDroppedAtOnce) {
  ServedScaler scaler;
  const auto stream = Open(scaler);
  ASSERT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 1));
  stream->Cancel();
  EXPECT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 0));
  EXPECT_EQ(scaler.counted.answered(Rpc::kStreamIsActive, absl::StatusCode::kCancelled), 1);
}

TEST(ActivityStream, RefusedStreamIsLoggedWithItsPeer) {
  ServedScaler scaler({.max_streams_per_peer = 1});
  externalscaler::ScaledObjectRef nameless = RefOf({});
  nameless.clear_name();
  testing::internal::CaptureStderr();
  const auto first = Open(scaler);
  ASSERT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 1));
  EXPECT_TRUE(Open(scaler)->WaitForEnd());
  first->Cancel();
  ASSERT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 0));
  EXPECT_TRUE(Open(scaler, nameless)->WaitForEnd());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("level=warn event=request_refused method=StreamIsActive "
                             "peer=127.0.0.1 "));
  EXPECT_THAT(log, HasSubstr("--max-streams-per-peer=1\""));
  EXPECT_THAT(log, HasSubstr("has no name"));
}

TEST(ActivityStream, StreamsOfOneAddressAreLimited) {
  ServedScaler scaler({.max_streams_per_peer = 2});
  const auto first = Open(scaler);
  // A second connection from the same address.
  TestScalerClient other_client({.address = scaler.address});
  const auto second = other_client.StreamIsActive(RefOf({}));
  ASSERT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 2));
  const auto refused = Open(scaler)->WaitForEnd();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused->message()), HasSubstr("--max-streams-per-peer=2"));
  first->Cancel();
  ASSERT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 1));
  const auto third = Open(scaler);
  EXPECT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 2));
}

TEST(ActivityStream, CallsDoNotWaitForStreamsOnOneConnection) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 300; ++i) streams.push_back(Open(scaler));
  ASSERT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 300));
  const auto reply = scaler.client.IsActive(RefOf({}));
  EXPECT_TRUE(reply.ok()) << reply.status();
}

class SlowClient : public testing::Test {
 protected:
  // Opens a stream that is never read, with a window of two messages, and a normal one.
  void SetUp() override {
    scaler_.RepeatFor(absl::Seconds(130), {FreeGpu(0)});
    constexpr uint32_t kInitialWindowSize = 4;  // RFC 9113, section 6.5.2
    slow_.Begin(BigEndian(kInitialWindowSize, 2) + BigEndian(16, 4));
    slow_.Send(CallHead(1, "/externalscaler.ExternalScaler/StreamIsActive") +
               DataFrame(1, WithoutWindow().SerializeAsString(), kEndStream));
    quick_ = Open(scaler_, WithoutWindow());
    ASSERT_TRUE(scaler_.counted.WaitForOpen(Rpc::kStreamIsActive, 2));
    ASSERT_TRUE(quick_->WaitForHeaders());
  }

  // The normal stream gets all of them.
  void SendFifty() {
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(BecomesActiveAgain(scaler_, *quick_)) << i;
  }

  // Opens the slow stream's window. Returns how many messages it got by its end.
  size_t ReadToTheEnd() {
    IsActiveResponse active;
    active.set_result(true);
    slow_.Send(Encode({FrameType::kWindowUpdate, 0, 1, BigEndian(1 << 20, 4)}));
    size_t bytes = 0;
    bool is_last = false;
    while (!is_last) {
      const std::optional<Frame> frame = slow_.Read();
      if (!frame.has_value()) {
        ADD_FAILURE() << "the stream does not end";
        break;
      }
      if (frame->type == FrameType::kData) bytes += frame->payload.size();
      is_last = frame->stream == 1 && (frame->flags & kEndStream) != 0;
    }
    return bytes / Prefixed(active.SerializeAsString()).size();
  }

  ServedScaler scaler_{{.stream_lifetime = absl::Hours(1)}};
  RawClient slow_{scaler_.server->port()};
  std::unique_ptr<Stream> quick_;
};

TEST_F(SlowClient, DelaysNoOtherClient) {
  ASSERT_NO_FATAL_FAILURE(SendFifty());
  scaler_.service->StopStreams();
  EXPECT_THAT(ReadToTheEnd(), AllOf(Gt(2), Lt(10)))
      << "the window was full, and newer messages replaced those that waited";
}

TEST_F(SlowClient, DelaysDrainForAtMostItsTimeout) {
  ASSERT_NO_FATAL_FAILURE(SendFifty());
  scaler_.service->StopStreams();
  const auto end = quick_->WaitForEnd();
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->ok());
  const SteadyClock real;
  const absl::Time before = real.Now();
  const absl::Duration timeout = absl::Milliseconds(200);
  scaler_.server->Drain(timeout);
  const absl::Duration took = real.Now() - before;
  EXPECT_GE(took, timeout) << "the slow one had ended already";
  EXPECT_LT(took, absl::Seconds(10));
}

TEST(ActivityStream, StopEndsItWithOkAndRefusesNewStreams) {
  ServedScaler scaler;
  const auto stream = Open(scaler);
  ASSERT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 1));
  scaler.service->StopStreams();
  const auto end = stream->WaitForEnd();
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->ok()) << *end;
  const auto refused = Open(scaler)->WaitForEnd();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), absl::StatusCode::kUnavailable);
}

TEST(ActivityStream, OpenStreamRenewsTheLeaseOfItsCostlyReading) {
  ServedScaler scaler;
  const auto stream = Open(scaler, RefOf({{"metricType", "pcie_tx_kbps"}}));
  ASSERT_TRUE(scaler.counted.WaitForOpen(Rpc::kStreamIsActive, 1));
  scaler.clock.Advance(absl::Minutes(3));
  scaler.Sample({BusyGpu(0, 60)});
  EXPECT_TRUE(Eventually([&] { return scaler.leases.Subscription(scaler.clock.Now()).pcie; }));
}

}  // namespace
}  // namespace gpuscaler
