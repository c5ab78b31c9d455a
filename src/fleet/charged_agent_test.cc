// The memory quota of an agent: readings are charged for what a history keeps of them.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fleet/reading_weight.h"
#include "fleet/test_telemetry_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/node_history.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

using testing::ContainsRegex;

class ChargedAgentTest : public TelemetryFixture {
 protected:
  // Pods hold the GPUs in turn.
  static NodeSnapshot WithManyPods(int gpus, int pods, int owners,
                                   const std::string& node = "gpu-7") {
    NodeSnapshot snapshot = SnapshotOf(gpus, kNow, node);
    snapshot.attribution.state = Attribution::State::kKnown;
    for (int i = 0; i < pods; ++i) {
      snapshot.pods.push_back({.namespace_name = "team-a",
                               .name = absl::StrCat("llama-7d9c5b8f4-x2k", i),
                               .uid = absl::StrCat("0e9f6c1e-5a6b-4c7d-8e9f-a0b1c2d3e", 100 + i),
                               .address = "10.1.7.10"});
      for (int owner = 0; owner < owners; ++owner) {
        snapshot.pods.back().owners.push_back({.kind = "Kind", .name = absl::StrCat("o", owner)});
      }
      snapshot.gpus[static_cast<size_t>(i % gpus)].holders.push_back(
          {.pod = i, .container = "vllm", .share = 1.0 / pods});
    }
    return snapshot;
  }

  // The bytes of the layouts that a history keeps.
  class StoredLayouts {
   public:
    void Add(const AgentUpdate& update) {
      for (const AgentUpdate::Reading& reading : update.readings) {
        history_.Append(reading.snapshot, {.horizon = absl::Minutes(15), .join_within = kStale});
        if (history_.runs.back().layout() == last_) continue;
        last_ = history_.runs.back().layout();
        bytes_ += WeightOf(reading.snapshot);
      }
    }
    size_t bytes() const { return bytes_; }

   private:
    NodeHistory history_;
    std::shared_ptr<const NodeLayout> last_;
    size_t bytes_ = 0;
  };
};

TEST_F(ChargedAgentTest, ReadingsFasterThanAnyAgentAreRefused) {
  wire::Telemetry message = MessageOf(SnapshotOf(8, kNow));
  for (int i = 1; i <= 10'000; ++i) {
    message.add_readings()->set_taken_us(ToWire(kNow) + i);
    message.mutable_readings(i)->add_gpus()->set_utilization_percent(i % 100);
  }
  EXPECT_EQ(Read(message).message(), "more readings than any agent has");
}

TEST_F(ChargedAgentTest, SmallReadingsOfManyPodsAreCharged) {
  NodeSnapshot snapshot = WithManyPods(1, 4096, 2);
  ASSERT_TRUE(Read(MessageOf(snapshot)).ok());
  StoredLayouts kept;
  absl::Status status;
  int readings = 0;
  for (; status.ok() && readings < 10'000; ++readings) {
    now_ += absl::Milliseconds(1);
    wire::Telemetry message;
    message.set_sent_us(ToWire(now_));
    wire::Reading& reading = *message.add_readings();
    reading.set_taken_us(ToWire(now_));
    reading.mutable_attribution()->set_state(wire::Attribution::UNKNOWN);
    reading.mutable_attribution()->set_why(readings % 2 == 0 ? "a" : "b");
    updates_.clear();
    status = Read(message);
    for (const AgentUpdate& update : updates_) kept.Add(update);
  }
  EXPECT_EQ(status.message(), "more readings than any agent has") << readings;
  EXPECT_LT(readings, 10);
  EXPECT_LT(kept.bytes(), size_t{10} << 20);
}

// An empty reading repeats the one before it at the same time: a few bytes that cost a copy.
TEST_F(ChargedAgentTest, RepeatedReadingsAreChargedOnArrival) {
  NodeSnapshot snapshot = SnapshotOf(50, kNow);
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    gpu.gaps = std::vector<GpuGap>(64, {.field = GpuField::kPcie,
                                        .reason = GpuGap::Reason::kFailed,
                                        .detail = std::string(1024, 'x')});
  }
  ASSERT_TRUE(Read(MessageOf(snapshot)).ok());
  wire::Telemetry again;
  for (int i = 0; i < 100; ++i) again.add_readings();
  absl::Status status;
  int messages = 0;
  for (; status.ok() && messages < 20; ++messages) {
    status = Read(again);
    updates_.clear();
  }
  EXPECT_EQ(status.message(), "more readings than any agent has");
  EXPECT_EQ(messages, 10) << "of 320 MiB";
  now_ += absl::Seconds(30);
  EXPECT_TRUE(Read(again).ok()) << "480 MiB more are allowed";
}

TEST_F(ChargedAgentTest, TooManyPodsAndOwnersAreRefused) {
  EXPECT_THAT(std::string(Read(MessageOf(WithManyPods(1, 4096, 32))).message()),
              ContainsRegex("a reading that takes [0-9]+ bytes, at most 4194304"));
}

// A replay on a new stream is kept as well, also the replay of another node.
TEST_F(ChargedAgentTest, ReplaysAndReadingsOfAnotherNodeAreCharged) {
  const auto past = [](const char* node, uint64_t instance) {
    wire::Telemetry message = MessageOf(WithManyPods(1, 1000, 2, node));
    message.mutable_node()->set_instance(instance);
    for (int i = 1; i < 100; ++i) {
      wire::Reading& reading = *message.add_readings();
      reading.set_taken_us(ToWire(kNow) + i);
      reading.mutable_attribution()->set_why(i % 2 == 0 ? "a" : "b");
    }
    return message;
  };
  now_ = kNow + absl::Hours(1);
  ASSERT_TRUE(Read(MessageOf(SnapshotOf(1, now_))).ok());
  reader_.Begin();
  EXPECT_FALSE(Read(past("gpu-7", 2)).ok()) << "a repetition";
  reader_.Begin();
  EXPECT_FALSE(Read(past("gpu-8", 3)).ok()) << "of another node";
}

// Each stream may use a burst, but all of them together no more than one.
TEST_F(ChargedAgentTest, ReconnectsDoNotRaiseTheQuota) {
  absl::Status status;
  int streams = 0;
  for (; status.ok() && streams < 1000; ++streams) {
    now_ += absl::Milliseconds(10);
    reader_.Begin();
    NodeSnapshot snapshot = WithManyPods(1, 1000, 2);
    snapshot.taken_at = now_;
    wire::Telemetry message = MessageOf(snapshot);
    message.mutable_node()->set_instance(static_cast<uint64_t>(streams));
    status = Read(message);
  }
  EXPECT_FALSE(status.ok());
  EXPECT_LT(streams, 20);
}

// 110 pods share 8 GPUs. Shares and one pod's readiness change every second, in the past, in its
// replays on new streams, and from then on.
TEST_F(ChargedAgentTest, NodeOfManyPodsStaysWithinTheQuota) {
  NodeSnapshot snapshot = WithManyPods(8, 110, 3);
  ReadingEncoder encoder;
  std::vector<wire::Telemetry> messages = {MessageOf(snapshot)};
  encoder.Encode(snapshot);
  const auto next = [&](int i) {
    snapshot.taken_at += absl::Seconds(1);
    snapshot.gpus[0].utilization_percent = i % 100;
    snapshot.gpus[static_cast<size_t>(i % 8)].holders[0].share = i % 2 == 0 ? 0.01 : 0.005;
    snapshot.pods[static_cast<size_t>(i % 110)].ready = i % 2 == 0;
    return *encoder.Encode(snapshot);
  };
  for (int i = 1; i < 900; ++i) *messages.back().add_readings() = next(i);
  now_ = snapshot.taken_at;
  messages.back().set_sent_us(ToWire(now_));
  for (int stream = 0; stream < 3; ++stream) {
    reader_.Begin();
    EXPECT_TRUE(Read(messages.back()).ok()) << stream;
  }
  for (int i = 900; i < 1800; ++i) {
    wire::Telemetry message;
    *message.add_readings() = next(i);
    now_ = snapshot.taken_at;
    message.set_sent_us(ToWire(now_));
    updates_.clear();
    const absl::Status status = Read(message);
    ASSERT_TRUE(status.ok()) << i << ": " << status;
  }
}

}  // namespace
}  // namespace gpuscaler
