#include "fleet/telemetry_service.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/test_eventually.h"
#include "fleet/gpu_wire.h"
#include "fleet/telemetry_wire.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "telemetry.pb.h"
#include "wire/test_call.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using telemetry::v1::Subscription;
using telemetry::v1::Telemetry;
using testing::HasSubstr;

// An aggregator's end of a call. It waits 10 s at most.
class FollowingReader {
 public:
  FollowingReader(int port, const Subscription& wanted)
      : channel_(loop_, {.address = absl::StrCat("127.0.0.1:", port)}),
        watch_(channel_, "/gpuscaler.telemetry.v1.NodeTelemetry/Watch",
               {.timeout = absl::Seconds(10)}) {
    watch_.Write(wanted);
  }

  // The message is empty after the call's end.
  Telemetry Next() {
    const std::vector<Telemetry> messages = watch_.WaitForMessages(read_ + 1);
    return read_ < messages.size() ? messages[read_++] : Telemetry();
  }
  // Skips the heartbeats between readings.
  Telemetry NextReadings() {
    for (;;) {
      Telemetry message = Next();
      if (!message.readings().empty() || message.sent_us() == 0) return message;
    }
  }
  void Subscribe(const Subscription& wanted) { watch_.Write(wanted); }
  absl::Status End() { return *watch_.WaitForEnd(); }

 private:
  EventLoop loop_;
  Channel channel_;
  TestCall<Subscription, Telemetry> watch_;
  size_t read_ = 0;
};

class TelemetryServiceTest : public testing::Test {
 protected:
  TelemetryServiceTest()
      : server_(*WireServer::Start({.bind_address = "127.0.0.1"}, service_.methods())) {}
  ~TelemetryServiceTest() override {
    service_.StopStreams();
    server_ = nullptr;
  }

  void Read(double utilization_percent) {
    clock_.Advance(absl::Seconds(1));
    NodeSnapshot snapshot = SnapshotOf(2, clock_.Now());
    snapshot.gpus[0].utilization_percent = utilization_percent;
    memory_.Annotate(snapshot);
    store_.Put(snapshot);
  }
  static Subscription Past(int seconds) {
    Subscription wanted;
    wanted.set_history_seconds(static_cast<uint32_t>(seconds));
    return wanted;
  }

  FakeClock clock_;
  MemoryWatch memory_;
  SnapshotStore store_{clock_, absl::Seconds(5), absl::Minutes(2)};
  Leases leases_;
  std::atomic<int> woken_ = 0;
  TelemetryService service_{{.horizon = absl::Minutes(2),
                             .max_readers = 3,
                             .version = "0.1.0",
                             .read_every = absl::Seconds(2)},
                            clock_,
                            store_,
                            leases_,
                            [this] { ++woken_; }};
  std::unique_ptr<WireServer> server_;
  const int port_ = server_->port();
};

TEST_F(TelemetryServiceTest, SendsThePastThenNewReadings) {
  Read(10);
  FollowingReader reader(port_, Past(120));
  const Telemetry first = reader.NextReadings();
  EXPECT_EQ(first.node().name(), "gpu-7");
  EXPECT_EQ(first.node().agent_version(), "0.1.0");
  EXPECT_EQ(first.node().read_every_ms(), 2000u);
  EXPECT_NE(first.node().instance(), 0u);
  EXPECT_EQ(first.sent_us(), ToWire(clock_.Now()));
  ASSERT_GE(first.readings_size(), 1);
  EXPECT_TRUE(first.readings(0).whole());
  Read(20);
  const Telemetry second = reader.NextReadings();
  ASSERT_EQ(second.readings_size(), 1);
  EXPECT_FALSE(second.readings(0).whole());
  ASSERT_EQ(second.readings(0).gpus_size(), 1);
  EXPECT_EQ(second.readings(0).gpus(0).utilization_percent(), 20);
  EXPECT_FALSE(second.has_node());
}

TEST_F(TelemetryServiceTest, LaterReaderGetsThePast) {
  FollowingReader follower(port_, Past(120));
  for (int i = 1; i <= 10; ++i) {
    Read(i);
    follower.NextReadings();  // the service has read the snapshot
  }
  FollowingReader late(port_, Past(3));
  const Telemetry past = late.NextReadings();
  EXPECT_EQ(past.readings_size(), 4);
  EXPECT_EQ(past.readings(3).gpus(0).utilization_percent(), 10);
}

TEST_F(TelemetryServiceTest, FormerPodsCountFromAggregatorsAlone) {
  Subscription wanted = Past(120);
  wanted.set_sent_us(ToWire(absl::UnixEpoch() + absl::Hours(2)));  // another clock
  Pod former = {.namespace_name = "team-a", .name = "llama-0", .owners = {{"Deployment", "llama"}}};
  for (const int hours : {1, 3}) {
    former.owner_listed_since = absl::UnixEpoch() + absl::Hours(hours);
    EncodePod(former, *wanted.add_former_pods());
  }
  EncodePod({}, *wanted.add_former_pods());  // not a valid pod
  Read(10);
  for (const bool is_listed : {false, true}) {
    PeerAddresses aggregators({.addresses = {is_listed ? "127.0.0.1:6000" : "10.0.0.1:6000"}},
                              [](const PeerAddresses::Answer&) {});
    Mutex mutex;
    std::vector<std::optional<absl::Time>> since;
    TelemetryService service({.horizon = absl::Minutes(2),
                              .aggregators = &aggregators,
                              .former_pods =
                                  [&](const std::vector<Pod>& pods) {
                                    MutexLock lock(mutex);
                                    for (const Pod& pod : pods)
                                      since.push_back(pod.owner_listed_since);
                                  }},
                             clock_, store_, leases_, nullptr);
    auto server = *WireServer::Start({.bind_address = "127.0.0.1"}, service.methods());
    FollowingReader(server->port(), wanted).NextReadings();
    service.StopStreams();
    server = nullptr;
    MutexLock lock(mutex);
    if (!is_listed) {
      EXPECT_THAT(since, testing::IsEmpty());
      continue;
    }
    EXPECT_THAT(since, testing::ElementsAre(clock_.Now() - absl::Hours(1), clock_.Now()));
  }
}

TEST_F(TelemetryServiceTest, HeartbeatCarriesUnchangedUntil) {
  Read(10);
  FollowingReader reader(port_, Past(0));
  reader.NextReadings();
  const absl::Time began = clock_.Now();
  Telemetry heartbeat;
  do {
    for (int i = 0; i < 2; ++i) Read(10);
    heartbeat = reader.Next();
    ASSERT_NE(heartbeat.sent_us(), 0);
    EXPECT_EQ(heartbeat.readings_size(), 0);
  } while (heartbeat.unchanged_until_us() <= ToWire(began));
  EXPECT_LT(heartbeat.ByteSizeLong(), 24u);
}

TEST_F(TelemetryServiceTest, HungDriverIsSentAsTroubleNotAsUnchanged) {
  Read(10);
  const absl::Time read_at = clock_.Now();
  FollowingReader reader(port_, Past(0));
  reader.NextReadings();
  store_.PutError(absl::UnavailableError("NVML error 999 (UNKNOWN)"));
  clock_.Advance(absl::Seconds(30));
  Telemetry heartbeat;
  do {
    heartbeat = reader.Next();
  } while (heartbeat.trouble().empty() && heartbeat.sent_us() != 0);
  EXPECT_THAT(heartbeat.trouble(), HasSubstr("NVML error 999"));
  EXPECT_LE(heartbeat.unchanged_until_us(), ToWire(read_at));
  EXPECT_EQ(heartbeat.sent_us(), ToWire(clock_.Now()));
}

TEST_F(TelemetryServiceTest, AgentWithoutAnyReadingSendsTheReason) {
  store_.PutError(absl::UnavailableError("libnvidia-ml.so.1 not found"));
  FollowingReader reader(port_, Past(120));
  const Telemetry message = reader.Next();
  EXPECT_THAT(message.trouble(), HasSubstr("libnvidia-ml.so.1 not found"));
  EXPECT_EQ(message.readings_size(), 0);
}

TEST_F(TelemetryServiceTest, ActivityIsLeasedApartFromPcie) {
  Read(10);
  Subscription wanted = Past(0);
  wanted.set_activity(true);
  wanted.set_lease_seconds(90);
  FollowingReader reader(port_, wanted);
  reader.Next();
  EXPECT_EQ(leases_.Subscription(clock_.Now()), CostlyReadings{.activity = true});
  EXPECT_EQ(woken_, 1);
  wanted.set_pcie(true);
  reader.Subscribe(wanted);
  while (!leases_.Subscription(clock_.Now()).pcie) reader.Next();
  EXPECT_EQ(woken_, 2) << "another reading is needed";
}

TEST_F(TelemetryServiceTest, CostlyReadingsAreLeasedAndTakenAtOnce) {
  Read(10);
  Subscription wanted = Past(0);
  wanted.set_pcie(true);
  wanted.set_lease_seconds(90);
  FollowingReader reader(port_, wanted);
  reader.Next();
  EXPECT_TRUE(leases_.Subscription(clock_.Now() + absl::Seconds(89)).pcie);
  EXPECT_FALSE(leases_.Subscription(clock_.Now() + absl::Seconds(90)).pcie);
  EXPECT_EQ(woken_, 1);
  clock_.Advance(absl::Seconds(60));
  reader.Subscribe(wanted);
  while (!leases_.Subscription(clock_.Now() + absl::Seconds(89)).pcie) reader.Next();
  EXPECT_EQ(woken_, 1) << "a renewal needs no wake-up";
}

TEST_F(TelemetryServiceTest, TooManyMessagesOfAReaderEndItsStream) {
  Read(10);
  FollowingReader reader(port_, Past(0));
  Subscription last = Past(0);
  last.set_lease_seconds(90);
  const auto send = [&](int messages) {
    for (int i = 1; i < messages; ++i) reader.Subscribe(Past(0));
    reader.Subscribe(last);
  };
  last.set_pcie(true);
  send(49);
  EXPECT_TRUE(Eventually([&] { return leases_.Subscription(clock_.Now()).pcie; }));
  clock_.Advance(absl::Seconds(5));
  last.set_activity(true);
  send(25);
  EXPECT_TRUE(Eventually([&] { return leases_.Subscription(clock_.Now()).activity; }));
  send(1);
  const absl::Status end = reader.End();
  EXPECT_EQ(end.code(), absl::StatusCode::kResourceExhausted) << end;
  EXPECT_THAT(std::string(end.message()), HasSubstr("50 messages at once, and then 5 a second"));
}

TEST_F(TelemetryServiceTest, SlowReaderGetsEveryReadingInAFewMessages) {
  Read(0);
  FollowingReader slow(port_, Past(120));
  FollowingReader quick(port_, Past(120));
  quick.NextReadings();
  for (int i = 1; i <= 60; ++i) {
    Read(i);
    quick.NextReadings();
  }
  ReadingDecoder decoder;
  double seen = -1;
  while (seen < 60) {
    const Telemetry message = slow.NextReadings();
    ASSERT_GT(message.readings_size(), 0);
    for (const auto& reading : message.readings()) {
      const auto snapshot = decoder.Decode(reading, {});
      ASSERT_TRUE(snapshot.ok()) << snapshot.status();
      EXPECT_EQ(*snapshot->gpus[0].utilization_percent, seen + 1);
      seen = *snapshot->gpus[0].utilization_percent;
    }
  }
}

TEST_F(TelemetryServiceTest, StreamsEndWithOkWhenTheAgentStops) {
  Read(10);
  FollowingReader reader(port_, Past(0));
  reader.NextReadings();
  EXPECT_EQ(service_.counts().readers, 1);
  service_.StopStreams();
  EXPECT_TRUE(reader.End().ok());
  FollowingReader late(port_, Past(0));
  EXPECT_EQ(late.End().code(), absl::StatusCode::kUnavailable);
}

TEST_F(TelemetryServiceTest, TooManyReadersAreRefused) {
  Read(10);
  std::vector<std::unique_ptr<FollowingReader>> readers;
  for (int i = 0; i < 3; ++i) {
    readers.push_back(std::make_unique<FollowingReader>(port_, Past(0)));
    readers.back()->NextReadings();
  }
  Subscription pcie = Past(0);
  pcie.set_pcie(true);
  pcie.set_lease_seconds(60);
  FollowingReader refused(port_, pcie);
  const absl::Status status = refused.End();
  EXPECT_FALSE(leases_.Subscription(clock_.Now()).pcie) << "its subscription must not count";
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("3 readers"));
  EXPECT_EQ(service_.counts().readers, 3);
  EXPECT_EQ(service_.counts().refused(), 1);
}

TEST_F(TelemetryServiceTest, CountsWhatItSends) {
  Read(10);
  FollowingReader reader(port_, Past(0));
  const Telemetry first = reader.NextReadings();
  EXPECT_GE(service_.counts().messages, 1);
  EXPECT_GE(service_.counts().bytes, static_cast<int64_t>(first.ByteSizeLong()));
}

TEST_F(TelemetryServiceTest, AReaderOfNamespacesGetsNoReadingsOfOtherGpus) {
  clock_.Advance(absl::Seconds(1));
  NodeSnapshot snapshot = SnapshotOf(2, clock_.Now());
  AddPods(snapshot);
  snapshot.pods[1].namespace_name = "team-b";
  store_.Put(snapshot);
  Subscription wanted = Past(120);
  wanted.add_namespaces("team-b");
  FollowingReader reader(port_, wanted);
  const Telemetry first = reader.NextReadings();
  ASSERT_EQ(first.readings_size(), 1);
  ASSERT_EQ(first.readings(0).gpus_size(), 2);
  EXPECT_FALSE(first.readings(0).gpus(0).has_utilization_percent());
  EXPECT_TRUE(first.readings(0).gpus(1).has_utilization_percent());
  ASSERT_EQ(first.readings(0).pods().pods_size(), 1);
  EXPECT_EQ(first.readings(0).pods().pods(0).namespace_name(), "team-b");
}

TEST_F(TelemetryServiceTest, FirstMessageToAReaderOfNamespacesHasThePast) {
  Read(10);
  FollowingReader(port_, Past(0)).NextReadings();  // the service has read the snapshot
  Subscription wanted = Past(120);
  wanted.add_namespaces("team-b");
  FollowingReader reader(port_, wanted);
  EXPECT_EQ(reader.Next().readings_size(), 1);
}

TEST_F(TelemetryServiceTest, AReaderOfTooManyNamespacesIsRefused) {
  Read(1);
  Subscription wanted = Past(120);
  for (int i = 0; i <= 4096; ++i) wanted.add_namespaces(absl::StrCat("team-", i));
  FollowingReader reader(port_, wanted);
  const absl::Status end = reader.End();
  EXPECT_EQ(end.code(), absl::StatusCode::kInvalidArgument) << end;
  EXPECT_THAT(std::string(end.message()), HasSubstr("4097 subscribed namespaces, at most 4096"));
}

}  // namespace
}  // namespace gpuscaler
