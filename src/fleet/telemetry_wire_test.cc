#include "fleet/telemetry_wire.h"

#include "fleet/gpu_wire.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kReadEvery = absl::Seconds(1);

class TelemetryWireTest : public testing::Test {
 protected:
  // Returns the snapshot that arrives; empty if nothing was sent.
  std::optional<NodeSnapshot> Send(const NodeSnapshot& snapshot) {
    NodeSnapshot watched = snapshot;
    memory_.Annotate(watched);
    sent_ = watched;
    const auto reading = encoder_.Encode(watched);
    if (!reading) return std::nullopt;
    decoder_.SetNode(NodeOf(watched));
    bytes_ = reading->ByteSizeLong();
    auto received = decoder_.Decode(*reading, {.offset = offset_});
    EXPECT_TRUE(received.ok()) << received.status();
    return *std::move(received);
  }

  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  absl::Duration offset_;
  MemoryWatch memory_;
  ReadingEncoder encoder_;
  ReadingDecoder decoder_;
  NodeSnapshot sent_;
  size_t bytes_ = 0;
};

TEST_F(TelemetryWireTest, SnapshotArrivesAsItWas) {
  NodeSnapshot snapshot = SnapshotOf(8, now_);
  snapshot.read_every = absl::Milliseconds(2500);
  AddPods(snapshot);
  const auto got = Send(snapshot);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->taken_at, now_);
  EXPECT_EQ(got->node, "gpu-7");
  EXPECT_EQ(got->source, "nvml");
  EXPECT_EQ(got->driver_version, "570.124.06");
  EXPECT_EQ(got->read_every, absl::Milliseconds(2500));
  EXPECT_EQ(got->attribution, snapshot.attribution);
  EXPECT_EQ(got->pods, snapshot.pods);
  ASSERT_EQ(got->gpus.size(), 8u);
  EXPECT_EQ(got->gpus[7].holders, snapshot.gpus[7].holders);
  EXPECT_EQ(got->gpus[7].power_watts, 512.317);
}

TEST_F(TelemetryWireTest, NodeWithoutGpusArrivesAsSuch) {
  const auto got = Send(SnapshotOf(0, now_));
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->gpus.empty());
  EXPECT_FALSE(Send(SnapshotOf(0, now_ + kReadEvery)));
}

TEST_F(TelemetryWireTest, EqualReadingIsNotSent) {
  EXPECT_TRUE(Send(SnapshotOf(8, now_)));
  for (int i = 1; i < 300; ++i) EXPECT_FALSE(Send(SnapshotOf(8, now_ + i * kReadEvery))) << i;
}

TEST_F(TelemetryWireTest, FlickerOfAnIdleGpuIsNotSent) {
  NodeSnapshot snapshot = SnapshotOf(1, now_);
  const auto send = [&](double watts, double celsius) {
    snapshot.taken_at += kReadEvery;
    snapshot.gpus[0].power_watts = watts;
    snapshot.gpus[0].temperature_celsius = celsius;
    return Send(snapshot);
  };
  EXPECT_TRUE(send(70, 30));
  EXPECT_FALSE(send(71.9, 31));
  EXPECT_FALSE(send(68.1, 29));
  const auto warmer = send(70.5, 32);
  ASSERT_TRUE(warmer);
  EXPECT_EQ(warmer->gpus[0].temperature_celsius, 32);
  EXPECT_EQ(warmer->gpus[0].power_watts, 70);
}

TEST_F(TelemetryWireTest, SlowRiseOfPowerIsSentWithinTwoWatts) {
  double received = 0;
  for (int i = 0; i < 100; ++i) {
    NodeSnapshot snapshot = SnapshotOf(1, now_ + i * kReadEvery);
    snapshot.gpus[0].power_watts = 70 + 0.3 * i;
    if (const auto got = Send(snapshot)) received = got->gpus[0].power_watts.value_or(0);
    EXPECT_NEAR(received, *snapshot.gpus[0].power_watts, 2) << i;
  }
}

TEST_F(TelemetryWireTest, ChangesAddUpToWhatWasRead) {
  for (int i = 0; i < 100; ++i) {
    NodeSnapshot snapshot = SnapshotOf(4, now_ + i * kReadEvery);
    if (i >= 20) AddPods(snapshot);
    if (i >= 40) snapshot.pods[2].ready = false;
    snapshot.gpus[i % 4].utilization_percent = i;
    if (i % 3 == 0)
      snapshot.gpus[1].memory_used_bytes = (int64_t{70} << 30) + i * int64_t{40'000'000};
    if (i % 7 == 0) {
      snapshot.gpus[3].utilization_percent.reset();
      snapshot.gpus[3].gaps = {{.field = GpuField::kUtilization, .detail = "lost"}};
    }
    if (i / 10 % 2 == 1) snapshot.gpus.Own().pop_back();
    const auto got = Send(snapshot);
    ASSERT_TRUE(got) << i;
    EXPECT_EQ(got->taken_at, sent_.taken_at);
    EXPECT_EQ(got->pods, sent_.pods);
    ASSERT_EQ(got->gpus.size(), sent_.gpus.size());
    for (size_t g = 0; g < got->gpus.size(); ++g) {
      EXPECT_EQ(got->gpus[g].utilization_percent, sent_.gpus[g].utilization_percent);
      EXPECT_EQ(got->gpus[g].memory_used_bytes, sent_.gpus[g].memory_used_bytes);
      EXPECT_EQ(got->gpus[g].gaps, sent_.gpus[g].gaps);
      EXPECT_EQ(got->gpus[g].holders, sent_.gpus[g].holders);
      EXPECT_EQ(got->gpus[g].steady_memory, sent_.gpus[g].steady_memory)
          << "reading " << i << " GPU " << g;
    }
  }
}

TEST_F(TelemetryWireTest, SteadyMemoryGrowsWithoutMessages) {
  Send(SnapshotOf(1, now_));
  for (int i = 1; i <= 130; ++i) Send(SnapshotOf(1, now_ + i * kReadEvery));
  NodeSnapshot busier = SnapshotOf(1, now_ + 131 * kReadEvery);
  busier.gpus[0].utilization_percent = 99;
  const auto got = Send(busier);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->gpus[0].steady_memory, sent_.gpus[0].steady_memory);
  EXPECT_TRUE(got->gpus[0].steady_memory.WasSteadyFor(absl::Seconds(120), absl::InfinitePast()));
}

TEST_F(TelemetryWireTest, UnchangedUntilIsTheSameSnapshotLater) {
  Send(SnapshotOf(2, now_));
  const absl::Time later = now_ + absl::Minutes(3);
  const absl::Time between = now_ + absl::Minutes(1);
  EXPECT_EQ(decoder_.Unchanged(ToWire(between), {}), between);
  EXPECT_EQ(decoder_.Unchanged(ToWire(later), {}), later);
  EXPECT_EQ(decoder_.Unchanged(ToWire(later), {}), std::nullopt) << "nothing new in that";
  EXPECT_EQ(decoder_.Last().taken_at, later);
  EXPECT_EQ(decoder_.Last().gpus[1].utilization_percent, 87);
  EXPECT_TRUE(
      decoder_.Last().gpus[1].steady_memory.WasSteadyFor(absl::Minutes(3), absl::InfinitePast()));
}

TEST_F(TelemetryWireTest, SteadyMemoryLastsUntilTheChange) {
  Send(SnapshotOf(2, now_));
  const absl::Time later = now_ + absl::Minutes(3);
  decoder_.Unchanged(ToWire(later), {});
  telemetry::v1::Reading reading;  // only the memory of the first GPU changes
  reading.set_taken_us(ToWire(later + absl::Minutes(1)));
  reading.add_gpus()->set_memory_used_bytes(int64_t{60} << 30);
  const auto got = decoder_.Decode(reading, {});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->gpus[1].utilization_percent, 87);
  const auto was_steady = [&](size_t gpu, absl::Duration window) {
    return got->gpus[gpu].steady_memory.WasSteadyFor(window, absl::InfinitePast());
  };
  EXPECT_TRUE(was_steady(0, absl::Minutes(3)));
  EXPECT_FALSE(was_steady(0, absl::Minutes(4)));
  EXPECT_TRUE(was_steady(1, absl::Minutes(4)));
}

TEST_F(TelemetryWireTest, WrongClockOfTheWriterIsCorrected) {
  offset_ = -absl::Hours(1);
  NodeSnapshot snapshot = SnapshotOf(1, now_);
  snapshot.gpus[0].held_since = now_ - absl::Minutes(5);
  const auto got = Send(snapshot);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->taken_at, now_ - absl::Hours(1));
  EXPECT_EQ(got->taken_at - got->gpus[0].held_since, absl::Minutes(5));
}

TEST_F(TelemetryWireTest, ListedSinceUsesTheReadersClock) {
  offset_ = -absl::Hours(1);
  NodeSnapshot snapshot = SnapshotOf(2, now_);
  AddPods(snapshot);
  snapshot.pods[0].listed_since = now_ - absl::Minutes(5);
  snapshot.pods[1].listed_since.reset();
  snapshot.pods[0].owner_listed_since = now_ - absl::Hours(50);
  snapshot.pods[1].owner_listed_since.reset();
  const auto got = Send(snapshot);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->pods.size(), 2u);
  EXPECT_EQ(got->taken_at - got->pods[0].owner_listed_since.value(), absl::Hours(50));
  EXPECT_EQ(got->pods[1].owner_listed_since, std::nullopt);
  EXPECT_EQ(got->taken_at - got->pods[0].listed_since.value(), absl::Minutes(5));
  EXPECT_EQ(got->pods[1].listed_since, std::nullopt);
}

TEST_F(TelemetryWireTest, HeldSinceStaysWhenTheOffsetIsRefined) {
  NodeSnapshot snapshot = SnapshotOf(1, now_);
  snapshot.gpus[0].held_since = now_ - absl::Minutes(5);
  const auto first = Send(snapshot);
  offset_ = -absl::Milliseconds(3);
  snapshot.taken_at += kReadEvery;
  snapshot.gpus[0].utilization_percent = 5;
  const auto second = Send(snapshot);
  EXPECT_EQ(second->gpus[0].held_since, first->gpus[0].held_since)
      << "otherwise it is a new replica";
}

TEST_F(TelemetryWireTest, LaterReadingIsLaterThoughTheOffsetShrinks) {
  Send(SnapshotOf(1, now_));
  decoder_.Unchanged(ToWire(now_ + kReadEvery), {});
  offset_ = -absl::Seconds(10);
  for (int i = 2; i < 5; ++i) {
    NodeSnapshot next = SnapshotOf(1, now_ + i * kReadEvery);
    next.gpus[0].utilization_percent = i;
    const absl::Time before = now_ + kReadEvery + (i - 2) * absl::Microseconds(1);
    EXPECT_EQ(Send(next)->taken_at, before + absl::Microseconds(1)) << "otherwise it is dropped";
  }
}

TEST_F(TelemetryWireTest, RepeatedReadingsAreNotLater) {
  std::vector<telemetry::v1::Reading> received;
  for (int i = 0; i < 3; ++i) {
    NodeSnapshot snapshot = SnapshotOf(1, now_ + i * kReadEvery);
    snapshot.gpus[0].utilization_percent = i;
    Send(snapshot);
    received.push_back(WholeReading(snapshot));
  }
  decoder_.Unchanged(ToWire(now_ + 3 * kReadEvery), {});
  for (const telemetry::v1::Reading& reading : received) {
    EXPECT_EQ(decoder_.Decode(reading, {})->taken_at, now_ + 3 * kReadEvery);
  }
}

TEST_F(TelemetryWireTest, NoReadingIsLaterThanItsMessage) {
  const absl::Time wrong = now_ + absl::Hours(24 * 365 * 200);
  NodeSnapshot snapshot = SnapshotOf(1, wrong);
  AddPods(snapshot);
  snapshot.pods[0].listed_since = wrong;
  snapshot.pods[0].owner_listed_since = wrong;
  snapshot.gpus[0].held_since = wrong;
  snapshot.gpus[0].steady_memory = SteadyMemory{.high_since = wrong,
                                                .current = {.from = wrong, .until = wrong},
                                                .past = {{.from = wrong, .until = wrong}},
                                                .lowest_percent = 91,
                                                .highest_percent = 91};
  const WriterClock clock{.latest = now_};
  const auto got = decoder_.Decode(WholeReading(snapshot), clock);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->taken_at, now_);
  EXPECT_EQ(got->gpus[0].held_since, now_);
  EXPECT_EQ(got->pods[0].listed_since, now_);
  EXPECT_EQ(got->pods[0].owner_listed_since, now_);
  const SteadyMemory& memory = got->gpus[0].steady_memory;
  EXPECT_EQ(memory.high_since, now_);
  EXPECT_EQ(memory.current, (SteadyRun{.from = now_, .until = now_}));
  EXPECT_EQ(memory.past[0], memory.current);
  EXPECT_FALSE(decoder_.Unchanged(std::numeric_limits<int64_t>::max(), clock));
  snapshot.taken_at = now_ + kReadEvery;
  EXPECT_EQ(decoder_.Decode(WholeReading(snapshot), {.latest = now_ + kReadEvery})->taken_at,
            now_ + kReadEvery)
      << "later readings are accepted";
}

// Bytes per aggregator. The documents have these numbers.
TEST_F(TelemetryWireTest, EightGpusWithOneChangeEachAreFewBytes) {
  NodeSnapshot snapshot = SnapshotOf(8, now_);
  AddPods(snapshot);
  Send(snapshot);
  const size_t whole = bytes_;
  snapshot.taken_at += kReadEvery;
  for (GpuSample& gpu : snapshot.gpus.Own()) gpu.utilization_percent = 88.5;
  Send(snapshot);
  const size_t one_change = bytes_;
  snapshot.taken_at += kReadEvery;
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    gpu.utilization_percent = 33;
    gpu.memory_utilization_percent = 7;
    *gpu.memory_used_bytes += 4 << 20;
    gpu.temperature_celsius = 55;
    gpu.power_watts = 301.5;
  }
  Send(snapshot);
  RecordProperty("whole_bytes", static_cast<int>(whole));
  RecordProperty("one_change_bytes", static_cast<int>(one_change));
  RecordProperty("five_changes_bytes", static_cast<int>(bytes_));
  EXPECT_LT(whole, 3000u);
  EXPECT_LT(one_change, 150u);
  EXPECT_LT(bytes_, 500u);
}

TEST(TelemetryWire, OlderAgentWithoutPodsIsAccepted) {
  // A reading of the first version: no attribution, no pods, no memory, no gaps.
  telemetry::v1::Reading reading;
  reading.set_taken_us(1'767'225'600'000'000);
  reading.set_whole(true);
  auto& gpu = *reading.add_gpus();
  gpu.set_uuid("GPU-1");
  gpu.set_utilization_percent(50);
  ReadingDecoder decoder;
  const auto got = decoder.Decode(reading, {});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->attribution.state, Attribution::State::kNone);
  ASSERT_EQ(got->gpus.size(), 1u);
  EXPECT_EQ(got->gpus[0].utilization_percent, 50);
  EXPECT_EQ(got->gpus[0].memory_used_bytes, std::nullopt);
  EXPECT_EQ(got->gpus[0].held_since, absl::InfinitePast());
}

TEST(TelemetryWire, OlderAgentWithoutListedSinceIsAccepted) {
  NodeSnapshot snapshot = SnapshotOf(1, absl::UnixEpoch());
  AddPods(snapshot);
  telemetry::v1::Reading reading = WholeReading(snapshot);
  reading.mutable_pods()->mutable_pods(0)->clear_listed_since_us();
  reading.mutable_pods()->mutable_pods(0)->clear_owner_listed_since_us();
  ReadingDecoder decoder;
  const auto got = decoder.Decode(reading, {});
  ASSERT_TRUE(got.ok()) << got.status();
  snapshot.pods[0].listed_since.reset();
  snapshot.pods[0].owner_listed_since.reset();
  EXPECT_EQ(got->pods, snapshot.pods);
}

TEST(TelemetryWire, UnknownAttributionStateOfANewerAgentIsUnknown) {
  NodeSnapshot snapshot = SnapshotOf(1, absl::UnixEpoch());
  AddPods(snapshot);
  telemetry::v1::Reading reading = WholeReading(snapshot);
  reading.mutable_attribution()->set_state(static_cast<telemetry::v1::Attribution::State>(9));
  reading.mutable_pods()->mutable_pods(0)->set_owners_from(
      static_cast<telemetry::v1::Pod::OwnersFrom>(9));
  std::string bytes = reading.SerializeAsString();
  bytes += "\x9A\x3F\x03new";  // field 1011
  telemetry::v1::Reading received;
  ASSERT_TRUE(received.ParseFromString(bytes));
  ReadingDecoder decoder;
  const auto got = decoder.Decode(received, {});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->attribution.state, Attribution::State::kUnknown);
  EXPECT_THAT(got->attribution.why, HasSubstr("newer"));
  EXPECT_EQ(got->pods[0].owners_from, Pod::OwnersFrom::kName);
}

TEST(TelemetryWire, AnEqualReadingAfterAnOutageIsSent) {
  ReadingEncoder encoder;
  NodeSnapshot snapshot = SnapshotOf(2, absl::UnixEpoch());
  for (GpuSample& gpu : snapshot.gpus.Own()) gpu.in_use = false;
  ASSERT_TRUE(encoder.Encode(snapshot));
  snapshot.taken_at += absl::Seconds(5);
  EXPECT_FALSE(encoder.Encode(snapshot)) << "no longer than --stale-after";
  snapshot.taken_at += absl::Seconds(30);
  const auto reading = encoder.Encode(snapshot);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->gpus_size(), 0);
  EXPECT_EQ(reading->taken_us(), ToWire(snapshot.taken_at));
  EXPECT_EQ(reading->before_until_us(), ToWire(snapshot.taken_at - absl::Seconds(30)));
}

struct InvalidReading {
  const char* name;
  std::function<void(telemetry::v1::Reading&)> make;
  const char* want;
};

const InvalidReading kInvalidReadings[] = {
    {"holder without pod",
     [](auto& reading) {
       reading.mutable_gpus(0)->mutable_holders()->add_holders()->set_pod(4'000'000'000);
     },
     "is held by pod"},
    {"GPU out of place",
     [](auto& reading) {
       reading.set_whole(false);
       reading.mutable_gpus(0)->set_place(8);
     },
     "a reading of GPU 8 of 2"},
    {"too many GPUs",
     [](auto& reading) {
       for (int i = 0; i < 1100; ++i) reading.add_gpus();
     },
     "at most 1024"},
};

TEST(TelemetryWire, InvalidMessagesAreRefusedWithAReason) {
  for (const InvalidReading& invalid : kInvalidReadings) {
    SCOPED_TRACE(invalid.name);
    ReadingDecoder decoder;
    telemetry::v1::Reading reading = WholeReading(SnapshotOf(2, absl::UnixEpoch()));
    ASSERT_TRUE(decoder.Decode(reading, {}).ok());
    invalid.make(reading);
    const auto got = decoder.Decode(reading, {});
    EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(got.status().message(), HasSubstr(invalid.want));
  }
}

TEST(TelemetryWire, ChangeWithoutAWholeReadingIsRefused) {
  ReadingDecoder decoder;
  EXPECT_EQ(decoder.Decode({}, {}).status().message(), "the first reading is not whole");
  EXPECT_FALSE(decoder.Unchanged(std::numeric_limits<int64_t>::max(), {}));
}

}  // namespace
}  // namespace gpuscaler
