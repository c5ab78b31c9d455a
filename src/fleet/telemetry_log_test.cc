#include "fleet/telemetry_log.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fleet/gpu_wire.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/node_history.h"

namespace gpuscaler {
namespace {

using telemetry::v1::Telemetry;

constexpr absl::Duration kLogTick = absl::Seconds(1);
constexpr absl::Duration kHorizon = absl::Minutes(2);
// A reading each kLogTick, both ends of the horizon included.
constexpr size_t kReadingsOfHorizon = 121;

class TelemetryLogTest : public testing::Test {
 protected:
  void Read(double utilization_percent, int gpus = 2) {
    now_ += kLogTick;
    NodeSnapshot snapshot = SnapshotOf(gpus, now_);
    for (GpuSample& gpu : snapshot.gpus.Own()) gpu.utilization_percent = utilization_percent;
    snapshot.attribution.state = attribution_;
    if (attribution_ == Attribution::State::kKnown) AddPods(snapshot);
    memory_.Annotate(snapshot);
    log_.Add(snapshot);
  }

  void AddPodsFromNowOn() { attribution_ = Attribution::State::kKnown; }
  void LoseOwners() { attribution_ = Attribution::State::kUnknown; }

  // A reader of the log, and what it has got. `seen` has GPU 0's utilization of each reading.
  struct Reader {
    TelemetryLog::Cursor cursor;
    ReadingDecoder decoder;
    std::vector<double> seen;
    std::vector<absl::Time> at;
    NodeHistory history;
    int messages = 0;
    bool more = false;
  };
  void TakeMessage(Reader& reader) {
    Telemetry message;
    log_.AppendNew(reader.cursor, message);
    ++reader.messages;
    reader.more = message.more();
    if (message.has_node()) reader.decoder.SetNode(message.node());
    for (const auto& reading : message.readings()) {
      const auto snapshot = reader.decoder.Decode(reading, {});
      ASSERT_TRUE(snapshot.ok()) << snapshot.status();
      reader.seen.push_back(snapshot->gpus[0].utilization_percent.value());
      reader.at.push_back(snapshot->taken_at);
      reader.history.Append(*snapshot, {.horizon = kHorizon, .join_within = 5 * kLogTick});
    }
  }
  void TakeAll(Reader& reader) {
    do {
      TakeMessage(reader);
    } while (reader.more);
  }

  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  MemoryWatch memory_;
  Attribution::State attribution_ = Attribution::State::kNone;
  TelemetryLog log_{kHorizon, {}};
};

TEST_F(TelemetryLogTest, NewReaderGetsThePastThenNewReadings) {
  for (int i = 0; i < 5; ++i) Read(i);
  Reader reader{.cursor = {.history = kHorizon}};
  TakeAll(reader);
  EXPECT_THAT(reader.seen, testing::ElementsAre(0, 1, 2, 3, 4));
  TakeAll(reader);
  EXPECT_EQ(reader.seen.size(), 5u);
  Read(5);
  TakeAll(reader);
  EXPECT_THAT(reader.seen, testing::ElementsAre(0, 1, 2, 3, 4, 5));
}

// Such a GPU file, for example. The reader refuses it, and the agent goes on.
TEST_F(TelemetryLogTest, ReadingThatReadersRefuseIsSentAllTheSame) {
  Read(1, 1025);
  TelemetryLog::Cursor cursor{.history = kHorizon};
  Telemetry message;
  log_.AppendNew(cursor, message);
  ASSERT_EQ(message.readings_size(), 1);
  EXPECT_EQ(message.readings(0).gpus_size(), 1025);
}

TEST_F(TelemetryLogTest, ReaderBeginsAtItsHistory) {
  for (int i = 0; i < 100; ++i) Read(i);
  Reader reader{.cursor = {.history = 3 * kLogTick}};
  TakeAll(reader);
  EXPECT_THAT(reader.seen, testing::ElementsAre(96, 97, 98, 99));
  Reader newest{.cursor = {.history = absl::ZeroDuration()}};
  TakeAll(newest);
  EXPECT_THAT(newest.seen, testing::ElementsAre(99));
}

// Power and temperature change by less than what is sent, and by more.
TEST_F(TelemetryLogTest, NewReaderHasTheStateOfTheOthersWhereverItBegins) {
  Reader old{.cursor = {.history = kHorizon}};
  std::vector<Reader> readers;
  const auto state = [](const Reader& reader) {
    return WholeReading(reader.history.Newest()).SerializeAsString();
  };
  const auto read = [&](int i) {
    now_ += kLogTick;
    NodeSnapshot snapshot = SnapshotOf(2, now_);
    AddPods(snapshot);
    snapshot.gpus[0].power_watts = 300 + 0.7 * (i % 11);
    snapshot.gpus[1].temperature_celsius = 50 + 0.4 * (i % 7);
    if (i % 3 == 0) snapshot.gpus[1].memory_used_bytes = int64_t{i} << 28;
    memory_.Annotate(snapshot);
    log_.Add(snapshot);
    TakeAll(old);
  };
  for (int i = 0; i < 150; ++i) {
    read(i);
    if (i < 50) continue;
    for (const int ticks : {0, 1, 20, 45}) {
      Reader& reader = readers.emplace_back(Reader{.cursor = {.history = ticks * kLogTick}});
      TakeAll(reader);
      EXPECT_EQ(state(reader), state(old)) << i << ", " << ticks;
      EXPECT_LE(reader.at.front(), now_ - ticks * kLogTick) << i << ", " << ticks;
    }
  }
  read(150);
  for (Reader& reader : readers) {
    TakeAll(reader);
    EXPECT_EQ(state(reader), state(old));
  }
}

TEST_F(TelemetryLogTest, KeepsTheReadingAtTheStartOfTheHorizon) {
  for (int i = 0; i < 100; ++i) Read(i % 2);
  for (int i = 0; i < 400; ++i) Read(50 + i % 2, i < 200 ? 2 : 3);
  Reader reader{.cursor = {.history = absl::InfiniteDuration()}};
  TakeAll(reader);
  EXPECT_EQ(reader.seen.size(), kReadingsOfHorizon);
  EXPECT_EQ(reader.at.front(), now_ - kHorizon);
}

TEST_F(TelemetryLogTest, LongUnchangedReadingIsTheStartOfTheHorizon) {
  Read(7);
  for (int i = 0; i < 300; ++i) Read(8);
  Read(9);
  Reader reader{.cursor = {.history = kHorizon}};
  TakeAll(reader);
  EXPECT_THAT(reader.seen, testing::ElementsAre(8, 9));
}

TEST_F(TelemetryLogTest, ReaderBehindTheLogContinues) {
  Reader reader{.cursor = {.history = kHorizon}};
  Read(1);
  TakeAll(reader);
  for (int i = 0; i < 1000; ++i) Read(i % 100);
  TakeAll(reader);
  EXPECT_EQ(reader.seen.back(), 99);
  EXPECT_EQ(reader.seen.size(), kReadingsOfHorizon + 1);
}

TEST_F(TelemetryLogTest, ReaderBehindTheLogGetsAllThatIsKept) {
  Reader reader{.cursor = {.history = absl::ZeroDuration()}};
  Read(1);
  TakeAll(reader);
  for (int i = 0; i < 1000; ++i) Read(i % 100);
  TakeAll(reader);
  EXPECT_EQ(reader.seen.size(), kReadingsOfHorizon + 1);
  EXPECT_EQ(reader.at[1], now_ - kHorizon);
}

// Two aggregators must agree, though only one was connected when the owners were known.
TEST_F(TelemetryLogTest, NewReaderGetsTheLastKnownOwners) {
  Reader old{.cursor = {.history = kHorizon}};
  AddPodsFromNowOn();
  for (int i = 0; i < 10; ++i) Read(i);
  TakeAll(old);
  LoseOwners();
  for (int i = 0; i < 1000; ++i) Read(i % 100);
  TakeAll(old);
  Reader reader{.cursor = {.history = kHorizon}};
  TakeAll(reader);
  ASSERT_NE(reader.history.attributed, nullptr);
  EXPECT_EQ(reader.history.attributed->pods, old.history.attributed->pods);
  EXPECT_EQ(reader.history.attributed->gpus, old.history.attributed->gpus);
  EXPECT_EQ(reader.history.Newest().attribution.state, Attribution::State::kUnknown);
  EXPECT_EQ(reader.history.runs.front().first, old.history.runs.front().first);
  EXPECT_EQ(reader.seen.size(), kReadingsOfHorizon + 1) << "one reading more than the horizon has";
}

TEST_F(TelemetryLogTest, LastKnownHoldersAreSentOnceIfTheHistoryHasThem) {
  AddPodsFromNowOn();
  Read(1);
  LoseOwners();
  Read(2);
  AddPodsFromNowOn();
  Read(3);
  Reader known{.cursor = {.history = absl::ZeroDuration()}};
  TakeAll(known);
  EXPECT_THAT(known.seen, testing::ElementsAre(3));
  LoseOwners();
  Read(4);
  Reader whole{.cursor = {.history = kHorizon}};
  TakeAll(whole);
  EXPECT_THAT(whole.seen, testing::ElementsAre(1, 2, 3, 4));
  Reader newest{.cursor = {.history = absl::ZeroDuration()}};
  TakeAll(newest);
  EXPECT_THAT(newest.seen, testing::ElementsAre(3, 4));
}

TEST_F(TelemetryLogTest, UnchangedReadingIsOneNumber) {
  Read(1);
  Reader reader;
  TakeAll(reader);
  for (int i = 0; i < 10; ++i) Read(1);
  Telemetry message;
  EXPECT_FALSE(log_.AppendNew(reader.cursor, message));
  EXPECT_EQ(message.unchanged_until_us(), ToWire(now_));
  EXPECT_LT(message.ByteSizeLong(), 12u);
}

TEST_F(TelemetryLogTest, LongPastIsSentInParts) {
  for (int i = 0; i < 120; ++i) Read(i, 300);
  Reader reader{.cursor = {.history = kHorizon}};
  TakeAll(reader);
  EXPECT_EQ(reader.seen.size(), 120u);
  EXPECT_GT(reader.messages, 1);
  Reader another{.cursor = {.history = kHorizon}};
  Telemetry message;
  log_.AppendNew(another.cursor, message);
  EXPECT_TRUE(message.more());
  EXPECT_FALSE(message.has_unchanged_until_us());
  EXPECT_LT(message.ByteSizeLong(), size_t{300} << 10);
}

TEST_F(TelemetryLogTest, NodeIsSentOnceAndWhenItsDriverChanges) {
  Read(1);
  TelemetryLog::Cursor cursor;
  Telemetry first;
  log_.AppendNew(cursor, first);
  EXPECT_EQ(first.node().name(), "gpu-7");
  Read(2);
  Telemetry second;
  log_.AppendNew(cursor, second);
  EXPECT_FALSE(second.has_node());
  NodeSnapshot snapshot = SnapshotOf(2, now_ + kLogTick);
  snapshot.driver_version = "580.65.06";
  log_.Add(snapshot);
  Telemetry third;
  log_.AppendNew(cursor, third);
  EXPECT_EQ(third.node().driver_version(), "580.65.06");
}

TEST_F(TelemetryLogTest, NodeWithoutItsDriverIsSentOnce) {
  NodeSnapshot snapshot = SnapshotOf(2, now_);
  snapshot.driver_version = "580.65.06";
  log_.Add(snapshot);
  TelemetryLog::Cursor cursor;
  Telemetry before;
  log_.AppendNew(cursor, before);
  snapshot.driver_version.clear();
  snapshot.taken_at += kLogTick;
  log_.Add(snapshot);
  Telemetry changed;
  log_.AppendNew(cursor, changed);
  ASSERT_TRUE(changed.has_node());
  EXPECT_EQ(changed.node().driver_version(), "");
  EXPECT_EQ(changed.node().name(), snapshot.node);
  snapshot.taken_at += kLogTick;
  log_.Add(snapshot);
  Telemetry after;
  log_.AppendNew(cursor, after);
  EXPECT_FALSE(after.has_node());
}

TEST_F(TelemetryLogTest, BeforeTheFirstReadingThereIsNothing) {
  TelemetryLog::Cursor cursor;
  Telemetry message;
  EXPECT_FALSE(log_.AppendNew(cursor, message));
  EXPECT_EQ(message.ByteSizeLong(), 0u);
}

TEST_F(TelemetryLogTest, NamespacesOfCapacityRecordsAreSentWhenTheyChange) {
  log_.SetEngineNamespaces({"team-a"});
  Read(1);
  Reader reader{.cursor = {.history = kHorizon}};
  Telemetry message;
  log_.AppendNew(reader.cursor, message);
  EXPECT_THAT(message.node().engine_namespaces(), testing::ElementsAre("team-a"));
  message.Clear();
  log_.SetEngineNamespaces({"team-a"});
  EXPECT_FALSE(log_.AppendNew(reader.cursor, message));
  log_.SetEngineNamespaces({});
  EXPECT_TRUE(log_.AppendNew(reader.cursor, message));
  EXPECT_TRUE(message.has_node());
  EXPECT_EQ(message.node().engine_namespaces_size(), 0);
}

TEST_F(TelemetryLogTest, ALogOfNamespacesHasThePastAndWhatFollows) {
  AddPodsFromNowOn();
  for (int i = 0; i < 10; ++i) Read(i);
  const auto part = log_.LogOf({"team-a"}, true);
  ASSERT_TRUE(part.ok()) << part.status();
  Reader reader{.cursor = {.history = kHorizon}};
  Reader other{.cursor = {.history = kHorizon}};
  const auto other_part = log_.LogOf({"team-b"}, true);
  ASSERT_TRUE(other_part.ok()) << other_part.status();
  for (int i = 10; i < 12; ++i) Read(i);
  EXPECT_FALSE((*part)->HasPast()) << "a stream must not cost the thread of all connections that";
  log_.FillParts();
  EXPECT_TRUE((*part)->HasPast());
  Read(12);
  Telemetry message;
  (*part)->AppendNew(reader.cursor, message);
  EXPECT_EQ(message.node().name(), "gpu-7");
  ASSERT_EQ(message.readings_size(), 13);
  EXPECT_EQ(message.readings(12).gpus(0).utilization_percent(), 12);
  Telemetry of_other;
  (*other_part)->AppendNew(other.cursor, of_other);
  ASSERT_EQ(of_other.readings_size(), 1) << "their GPUs never change";
  EXPECT_EQ(of_other.readings(0).gpus_size(), 2);
  EXPECT_EQ(of_other.readings(0).pods().pods_size(), 0);
  EXPECT_EQ(of_other.unchanged_until_us(), ToWire(now_));
}

TEST_F(TelemetryLogTest, ALogOfNamespacesHasNoOutageInATimeWithoutChanges) {
  AddPodsFromNowOn();
  for (int i = 0; i < 60; ++i) Read(i < 30 ? 1 : 2);
  const auto part = *log_.LogOf({"team-a"}, true);
  log_.FillParts();
  TelemetryLog::Cursor cursor{.history = kHorizon};
  Telemetry message;
  part->AppendNew(cursor, message);
  ASSERT_EQ(message.readings_size(), 2);
  EXPECT_EQ(message.readings(1).before_until_us(), message.readings(1).taken_us() - 1'000'000);
  EXPECT_EQ(message.unchanged_until_us(), ToWire(now_));
}

TEST_F(TelemetryLogTest, ReadersOfEqualNamespacesShareALogUntilTheLastLeft) {
  Read(1);
  auto first = *log_.LogOf({"team-a", "team-b"}, true);
  auto second = *log_.LogOf({"team-b", "team-a"}, true);
  EXPECT_EQ(first, second);
  const std::weak_ptr<const TelemetryLog> kept = first;
  first = nullptr;
  EXPECT_FALSE(kept.expired());
  second = nullptr;
  EXPECT_TRUE(kept.expired());
}

TEST_F(TelemetryLogTest, TooManySetsOfNamespacesAreRefused) {
  Read(1);
  std::vector<std::shared_ptr<const TelemetryLog>> logs;
  for (int i = 0; i < kMaxNamespaceSets; ++i) {
    logs.push_back(*log_.LogOf({absl::StrCat("team-", i)}, true));
  }
  const auto refused = log_.LogOf({"team-x"}, true);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), testing::HasSubstr("--namespaces"));
  EXPECT_TRUE(log_.LogOf({"team-3"}, true).ok());
  logs.pop_back();
  EXPECT_TRUE(log_.LogOf({"team-x"}, true).ok());
}

TEST_F(TelemetryLogTest, SetsOfOtherReadersLeaveAggregatorsTheirs) {
  Read(1);
  std::vector<std::shared_ptr<const TelemetryLog>> logs;
  for (int i = 0; i < kMaxNamespaceSets; ++i) {
    logs.push_back(*log_.LogOf({absl::StrCat("invented-", i)}, false));
  }
  const auto refused = log_.LogOf({"team-a"}, false);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), testing::HasSubstr("8 different sets"));
  for (int i = 0; i < kMaxNamespaceSets; ++i) {
    const auto log = log_.LogOf({absl::StrCat("team-", i)}, true);
    ASSERT_TRUE(log.ok()) << log.status();
    logs.push_back(*log);
  }
}

TEST_F(TelemetryLogTest, ALogOfNamespacesHasTheirCapacityRecordsAlone) {
  log_.SetEngineNamespaces({"team-a", "team-b"});
  Read(1);
  const auto part = *log_.LogOf({"team-b", "team-c"}, true);
  log_.FillParts();
  TelemetryLog::Cursor cursor;
  Telemetry message;
  part->AppendNew(cursor, message);
  EXPECT_THAT(message.node().engine_namespaces(), testing::ElementsAre("team-b"));
  log_.SetEngineNamespaces({"team-a", "team-b", "team-c"});
  message.Clear();
  EXPECT_TRUE(part->AppendNew(cursor, message));
  EXPECT_THAT(message.node().engine_namespaces(), testing::ElementsAre("team-b", "team-c"));
}

}  // namespace
}  // namespace gpuscaler
