#include "fleet/telemetry_reader.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "fleet/fleet_store.h"
#include "fleet/test_telemetry_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::SizeIs;

class TelemetryReaderTest : public TelemetryFixture {};

TEST_F(TelemetryReaderTest, ImplausibleReadingIsAGapUntilAPlausibleOne) {
  NodeSnapshot snapshot = SnapshotOf(2, kNow);
  Send(snapshot);
  EXPECT_EQ(updates_.back().implausible, "");
  snapshot.gpus[1].utilization_percent = 1e300;
  GpuSample got = Send(snapshot).gpus[1];
  EXPECT_EQ(got.utilization_percent, std::nullopt);
  ASSERT_NE(FindGap(got, GpuField::kUtilization), nullptr);
  EXPECT_EQ(Why(*FindGap(got, GpuField::kUtilization)), "its agent reports 1e+300 %");
  EXPECT_THAT(updates_.back().implausible, HasSubstr("utilization: its agent reports 1e+300 %"));

  snapshot.gpus[1].gaps = {{.field = GpuField::kPcie, .reason = GpuGap::Reason::kNotRequested}};
  got = Send(snapshot).gpus[1];
  EXPECT_NE(FindGap(got, GpuField::kPcie), nullptr);
  EXPECT_NE(FindGap(got, GpuField::kUtilization), nullptr)
      << "although the agent sent no new value";

  snapshot.gpus[1].utilization_percent = 40;
  got = Send(snapshot).gpus[1];
  EXPECT_EQ(got.utilization_percent, 40);
  EXPECT_EQ(FindGap(got, GpuField::kUtilization), nullptr);
  EXPECT_EQ(updates_.back().implausible, "");
}

TEST_F(TelemetryReaderTest, ExplanationQuotesTheImplausibleReading) {
  FakeClock clock;
  now_ = clock.Now();
  FleetStore store(clock, {.limits = {.horizon = absl::Minutes(15), .join_within = kStale}});
  store.Listed(std::vector<std::string>{"node:6001"});
  NodeSnapshot snapshot = SnapshotOf(2, kNow);
  AddPods(snapshot);
  for (int i = 0; i < 2 * absl::ToInt64Seconds(kStale); ++i) {
    clock.Advance(absl::Seconds(1));
    snapshot.gpus[0].utilization_percent = 60;
    snapshot.gpus[1].utilization_percent = -1e6 - i;
    Send(snapshot);
    store.Received("node:6001", std::move(updates_.back()));
  }
  Trigger trigger;
  trigger.target = 80;
  const auto fleet = store.AllNodes();
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  const Decision decision = Decide(trigger, {.namespace_name = "team-a", .name = "llama"}, **fleet,
                                   {.stale_after = kStale, .grace = absl::Seconds(15)});
  EXPECT_EQ(decision.value, 60 + 80) << "it counts with the target";
  EXPECT_THAT(Explain(trigger, decision),
              ContainsRegex("llama-7d9c5b8f4-x2k1 .*unreadable .*: its agent reports -1.*e.06 %"));
}

TEST_F(TelemetryReaderTest, NamespacesOfCapacityRecordsAreKeptUntilTheNodeIsSentAgain) {
  NodeSnapshot snapshot = SnapshotOf(1, kNow);
  wire::Telemetry message = MessageOf(snapshot);
  message.mutable_node()->add_engine_namespaces("team-a");
  ASSERT_TRUE(Read(message).ok());
  EXPECT_EQ(updates_.back().engine_namespaces, std::set<std::string>{"team-a"});
  wire::Telemetry next;
  next.set_sent_us(ToWire(kNow));
  ASSERT_TRUE(Read(next).ok());
  EXPECT_EQ(updates_.back().engine_namespaces, std::nullopt);
  message.mutable_node()->set_engine_namespaces(0, std::string(64, 'a'));
  EXPECT_THAT(Read(message).message(), HasSubstr("a namespace's name of 64 characters"));
}

TEST_F(TelemetryReaderTest, LongPastIsDeliveredInParts) {
  NodeSnapshot snapshot = SnapshotOf(128, kNow);
  wire::Telemetry message = MessageOf(snapshot);
  ReadingEncoder encoder;
  encoder.Encode(snapshot);
  for (int i = 1; i < 300; ++i) {
    snapshot.taken_at = kNow + i * absl::Seconds(1);
    snapshot.gpus[0].utilization_percent = i % 100;
    *message.add_readings() = *encoder.Encode(snapshot);
  }
  now_ = snapshot.taken_at;
  message.set_sent_us(ToWire(now_));
  EXPECT_TRUE(Read(message).ok());
  ASSERT_THAT(updates_, SizeIs(3));
  size_t readings = 0;
  for (const AgentUpdate& update : updates_) {
    EXPECT_EQ(update.node, "gpu-7");
    EXPECT_EQ(update.more, &update != &updates_.back());
    EXPECT_LE(update.readings.size() * 128, 17'000u);
    readings += update.readings.size();
  }
  EXPECT_EQ(readings, 300u);
}

TEST_F(TelemetryReaderTest, MessageOfTooManyReadingsIsRefused) {
  NodeSnapshot snapshot = SnapshotOf(50, kNow);
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    gpu.gaps = std::vector<GpuGap>(64, {.field = GpuField::kPcie,
                                        .reason = GpuGap::Reason::kFailed,
                                        .detail = std::string(1024, 'x')});
  }
  wire::Telemetry message = MessageOf(snapshot);
  for (int i = 0; i < 800; ++i) message.add_readings();
  EXPECT_EQ(Read(message).message(), "a message of too many readings");
}

TEST_F(TelemetryReaderTest, ChangeOfTheNodeWithinAStreamIsRefused) {
  EXPECT_TRUE(Read(MessageOf(SnapshotOf(1, kNow, "gpu-7"))).ok());
  const absl::Status status = Read(MessageOf(SnapshotOf(1, kNow, "gpu-8")));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "it is of node gpu-7, and then of gpu-8");
  reader_.Begin();
  EXPECT_TRUE(Read(MessageOf(SnapshotOf(1, kNow, "gpu-8"))).ok()) << "addresses are reused";
}

TEST_F(TelemetryReaderTest, AddressMayChangeItsNodeOnceAMinute) {
  const auto send = [&](const char* node) {
    reader_.Begin();
    return Read(MessageOf(SnapshotOf(1, now_, node)));
  };
  EXPECT_TRUE(send("gpu-7").ok());
  EXPECT_TRUE(send("").ok()) << "an agent without readings";
  EXPECT_TRUE(send("gpu-8").ok());
  now_ += absl::Seconds(59);
  EXPECT_EQ(send("gpu-7").message(), "it became of node gpu-8 59s ago, and is of gpu-7 now");
  EXPECT_TRUE(send("gpu-8").ok());
  now_ += absl::Seconds(1);
  EXPECT_TRUE(send("gpu-7").ok());
}

}  // namespace
}  // namespace gpuscaler
