#include "fleet/telemetry_reader.h"

#include <google/protobuf/message.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "fleet/fleet_store.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/dice.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::SizeIs;

constexpr absl::Duration kStaleAfter = absl::Seconds(6);
const absl::Time kNow = absl::FromUnixSeconds(1'767'225'600);

class TelemetryReaderTest : public testing::Test {
 protected:
  static wire::Telemetry MessageOf(const NodeSnapshot& snapshot) {
    wire::Telemetry message;
    *message.mutable_node() = NodeOf(snapshot);
    message.mutable_node()->set_instance(1);
    *message.add_readings() = WholeReading(snapshot);
    message.set_sent_us(ToWire(snapshot.taken_at));
    return message;
  }

  absl::Status Read(wire::Telemetry message) {
    return reader_.Read(message, now_,
                        [this](AgentNews news) { told_.push_back(std::move(news)); });
  }

  // What is made of the next reading of this node.
  NodeSnapshot Send(NodeSnapshot snapshot) {
    now_ += absl::Seconds(1);
    snapshot.taken_at = now_;
    wire::Telemetry message;
    message.set_sent_us(ToWire(now_));
    if (told_.empty()) *message.mutable_node() = NodeOf(snapshot);
    if (auto reading = encoder_.Encode(snapshot)) *message.add_readings() = *std::move(reading);
    const absl::Status status = Read(message);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_THAT(told_.back().readings, SizeIs(1));
    return told_.back().readings.back().snapshot;
  }

  absl::Time now_ = kNow;
  ReadingEncoder encoder_;
  TelemetryReader reader_;
  std::vector<AgentNews> told_;
};

TEST_F(TelemetryReaderTest, ReadingThatCannotBeIsAGapUntilOneThatCanBe) {
  NodeSnapshot snapshot = SnapshotOf(2, kNow);
  Send(snapshot);
  EXPECT_EQ(told_.back().unbelieved, "");
  snapshot.gpus[1].utilization_percent = 1e300;
  GpuSample got = Send(snapshot).gpus[1];
  EXPECT_EQ(got.utilization_percent, std::nullopt);
  ASSERT_NE(FindGap(got, GpuField::kUtilization), nullptr);
  EXPECT_EQ(Why(*FindGap(got, GpuField::kUtilization)), "its agent says 1e+300 %");
  EXPECT_THAT(told_.back().unbelieved, HasSubstr("utilization: its agent says 1e+300 %"));

  snapshot.gpus[1].gaps = {{.field = GpuField::kPcie, .reason = GpuGap::Reason::kNotWanted}};
  got = Send(snapshot).gpus[1];
  EXPECT_NE(FindGap(got, GpuField::kPcie), nullptr);
  EXPECT_NE(FindGap(got, GpuField::kUtilization), nullptr) << "though the agent has said no more";

  snapshot.gpus[1].utilization_percent = 40;
  got = Send(snapshot).gpus[1];
  EXPECT_EQ(got.utilization_percent, 40);
  EXPECT_EQ(FindGap(got, GpuField::kUtilization), nullptr);
  EXPECT_EQ(told_.back().unbelieved, "");
}

TEST_F(TelemetryReaderTest, ExplanationSaysWhatTheAgentSaidOfAReplicaThatIsNotBelieved) {
  FakeClock clock;
  now_ = clock.Now();
  FleetStore store(clock, {.limits = {.horizon = absl::Minutes(15), .join_within = kStaleAfter}});
  store.Listed(std::vector<std::string>{"node:6001"});
  NodeSnapshot snapshot = SnapshotOf(2, kNow);
  AddPods(snapshot);
  for (int i = 0; i < 2 * absl::ToInt64Seconds(kStaleAfter); ++i) {
    clock.Advance(absl::Seconds(1));
    snapshot.gpus[0].utilization_percent = 60;
    snapshot.gpus[1].utilization_percent = -1e6 - i;
    Send(snapshot);
    store.Heard("node:6001", std::move(told_.back()));
  }
  Trigger trigger;
  trigger.target = 80;
  const auto fleet = store.All();
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  const Decision decision = Decide(trigger, {.namespace_name = "team-a", .name = "llama"}, **fleet,
                                   {.stale_after = kStaleAfter, .grace = absl::Seconds(15)});
  EXPECT_EQ(decision.value, 60 + 80) << "it stands for the target";
  EXPECT_THAT(Explain(trigger, decision),
              ContainsRegex("llama-7d9c5b8f4-x2k1 .*unreadable .*: its agent says -1.*e.06 %"));
}

TEST_F(TelemetryReaderTest, LongPastIsToldInParts) {
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
  ASSERT_THAT(told_, SizeIs(3));
  size_t readings = 0;
  for (const AgentNews& news : told_) {
    EXPECT_EQ(news.node, "gpu-7");
    EXPECT_EQ(news.more, &news != &told_.back());
    EXPECT_LE(news.readings.size() * 128, 17'000u);
    readings += news.readings.size();
  }
  EXPECT_EQ(readings, 300u);
}

TEST_F(TelemetryReaderTest, MessageOfMoreReadingsThanCanBeMadeIsRefused) {
  NodeSnapshot snapshot = SnapshotOf(50, kNow);
  for (GpuSample& gpu : snapshot.gpus) {
    gpu.gaps = std::vector<GpuGap>(64, {.field = GpuField::kPcie,
                                        .reason = GpuGap::Reason::kFailed,
                                        .detail = std::string(1024, 'x')});
  }
  wire::Telemetry message = MessageOf(snapshot);
  for (int i = 0; i < 800; ++i) message.add_readings();
  EXPECT_EQ(Read(message).message(), "a message of too many readings");
}

TEST_F(TelemetryReaderTest, AgentThatBecomesAnotherNodesInOneStreamIsRefused) {
  EXPECT_TRUE(Read(MessageOf(SnapshotOf(1, kNow, "gpu-7"))).ok());
  const absl::Status status = Read(MessageOf(SnapshotOf(1, kNow, "gpu-8")));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "it is of node gpu-7, and then of gpu-8");
  reader_.Begin();
  EXPECT_TRUE(Read(MessageOf(SnapshotOf(1, kNow, "gpu-8"))).ok()) << "addresses are given again";
}

TEST_F(TelemetryReaderTest, AddressMayBecomeAnotherNodesOnceAMinute) {
  const auto says = [&](const char* node) {
    reader_.Begin();
    return Read(MessageOf(SnapshotOf(1, now_, node)));
  };
  EXPECT_TRUE(says("gpu-7").ok());
  EXPECT_TRUE(says("").ok()) << "an agent that has read nothing yet";
  EXPECT_TRUE(says("gpu-8").ok());
  now_ += absl::Seconds(59);
  EXPECT_EQ(says("gpu-7").message(), "it became of node gpu-8 59s ago, and is of gpu-7 now");
  EXPECT_TRUE(says("gpu-8").ok());
  now_ += absl::Seconds(1);
  EXPECT_TRUE(says("gpu-7").ok());
}

TEST_F(TelemetryReaderTest, AgentThatReadsFasterThanAgentsCanIsRefused) {
  wire::Telemetry message = MessageOf(SnapshotOf(8, kNow));
  for (int i = 1; i <= 10'000; ++i) {
    message.add_readings()->set_taken_us(ToWire(kNow) + i);
    message.mutable_readings(i)->add_gpus()->set_utilization_percent(i % 100);
  }
  EXPECT_EQ(Read(message).message(), "readings say more than any agent has to say");
}

// GPUs by the pod that holds them, or all pods by the first GPU.
NodeSnapshot WithManyPods(int gpus, int pods, int owners, const std::string& node = "gpu-7") {
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

// Bytes that a history has kept of what was told: its layouts.
class LayoutsKept {
 public:
  void Hear(const AgentNews& news) {
    for (const AgentNews::Reading& reading : news.readings) {
      history_.Append(reading.snapshot, {.horizon = absl::Minutes(15), .join_within = kStaleAfter});
      if (history_.stretches.back().layout() == last_) continue;
      last_ = history_.stretches.back().layout();
      bytes_ += WeightOf(reading.snapshot);
    }
  }
  size_t bytes() const { return bytes_; }

 private:
  NodeHistory history_;
  std::shared_ptr<const NodeLayout> last_;
  size_t bytes_ = 0;
};

TEST_F(TelemetryReaderTest, SmallReadingsThatStandForManyPodsAreCharged) {
  NodeSnapshot snapshot = WithManyPods(1, 4096, 2);
  ASSERT_TRUE(Read(MessageOf(snapshot)).ok());
  LayoutsKept kept;
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
    told_.clear();
    status = Read(message);
    for (const AgentNews& news : told_) kept.Hear(news);
  }
  EXPECT_EQ(status.message(), "readings say more than any agent has to say") << readings;
  EXPECT_LT(readings, 10);
  EXPECT_LT(kept.bytes(), size_t{10} << 20);
}

TEST_F(TelemetryReaderTest, ReadingOfMorePodsAndOwnersThanANodeHasIsRefused) {
  EXPECT_THAT(std::string(Read(MessageOf(WithManyPods(1, 4096, 32))).message()),
              ContainsRegex("a reading that takes [0-9]+ bytes, at most 4194304"));
}

// What a new stream tells of the past is kept as well, be it of another node.
TEST_F(TelemetryReaderTest, WhatAStreamTellsAgainOrOfAnotherNodeIsCharged) {
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
  EXPECT_FALSE(Read(past("gpu-7", 2)).ok()) << "told again";
  reader_.Begin();
  EXPECT_FALSE(Read(past("gpu-8", 3)).ok()) << "of another node";
}

// Each stream may tell as much as a moment's, and yet all of them no more than one.
TEST_F(TelemetryReaderTest, AgentThatConnectsAgainAndAgainIsChargedAsOne) {
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

// 110 pods share 8 GPUs, whose shares change every second, and one becomes ready or not: what is
// told at the start, again on a new stream, and from then on.
TEST_F(TelemetryReaderTest, NodeOfManyPodsIsHeardForAsLongAsItChanges) {
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
    told_.clear();
    const absl::Status status = Read(message);
    ASSERT_TRUE(status.ok()) << i << ": " << status;
  }
}

// Puts something wild into one field of the message, or of one within it.
class Saboteur {
 public:
  explicit Saboteur(Dice& dice) : dice_(dice) {}

  void Spoil(google::protobuf::Message& message) {
    const auto& descriptor = *message.GetDescriptor();
    const auto& reflection = *message.GetReflection();
    const auto* const field = descriptor.field(dice_.Whole(0, descriptor.field_count() - 1));
    if (field->is_repeated()) return SpoilList(message, reflection, *field);
    if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
      return Spoil(*reflection.MutableMessage(&message, field));
    }
    if (dice_.Whole(0, 5) == 0) return reflection.ClearField(&message, field);
    SpoilValue(message, reflection, *field);
  }

  // Any of its bytes.
  void Spoil(std::string& bytes) {
    for (int i = dice_.Whole(1, 8); i > 0 && !bytes.empty(); --i) {
      const auto at = static_cast<size_t>(dice_.Whole(0, static_cast<int>(bytes.size()) - 1));
      const char byte = static_cast<char>(dice_.Whole(0, 255));
      const int how = dice_.Whole(0, 4);
      if (how == 0) bytes.erase(at, 1);
      if (how == 1) bytes.insert(at, 1, byte);
      if (how > 1) bytes[at] = byte;
    }
  }

 private:
  using Field = google::protobuf::FieldDescriptor;
  using Reflection = google::protobuf::Reflection;

  void SpoilList(google::protobuf::Message& message, const Reflection& reflection,
                 const Field& field) {
    const int size = reflection.FieldSize(message, &field);
    if (field.cpp_type() != Field::CPPTYPE_MESSAGE) {
      return reflection.AddUInt32(&message, &field, static_cast<uint32_t>(dice_.Whole(0, 40)));
    }
    if (dice_.Whole(0, 9) == 0) {
      for (int i = dice_.Whole(1, 3000); i > 0; --i) reflection.AddMessage(&message, &field);
    } else if (size > 0 && dice_.Whole(0, 9) == 0) {
      reflection.RemoveLast(&message, &field);
    } else if (size > 0) {
      Spoil(*reflection.MutableRepeatedMessage(&message, &field, dice_.Whole(0, size - 1)));
    }
  }

  void SpoilValue(google::protobuf::Message& message, const Reflection& reflection,
                  const Field& field) {
    switch (field.cpp_type()) {
      case Field::CPPTYPE_DOUBLE:
        return reflection.SetDouble(&message, &field, Of(kDoubles));
      case Field::CPPTYPE_INT64:
        return reflection.SetInt64(&message, &field, Of(kIntegers));
      case Field::CPPTYPE_UINT64:
        return reflection.SetUInt64(&message, &field, static_cast<uint64_t>(Of(kIntegers)));
      case Field::CPPTYPE_UINT32:
        return reflection.SetUInt32(&message, &field, static_cast<uint32_t>(Of(kIntegers)));
      case Field::CPPTYPE_STRING:
        return reflection.SetString(&message, &field,
                                    std::string(static_cast<size_t>(dice_.Whole(0, 3000)), '\n'));
      case Field::CPPTYPE_BOOL:
        return reflection.SetBool(&message, &field, dice_.Often());
      default:
        return reflection.SetEnumValue(&message, &field, dice_.Whole(-1, 99));
    }
  }

  template <typename Value, size_t kCount>
  Value Of(const Value (&values)[kCount]) {
    return values[dice_.Whole(0, static_cast<int>(kCount) - 1)];
  }
  static constexpr double kDoubles[] = {-1e6,
                                        -0.001,
                                        0,
                                        1,
                                        100.001,
                                        1e300,
                                        std::numeric_limits<double>::infinity(),
                                        std::numeric_limits<double>::quiet_NaN()};
  static constexpr int64_t kIntegers[] = {
      std::numeric_limits<int64_t>::min(), -1, 0, 1, 4096, 1'767'225'600'000'000,
      std::numeric_limits<int64_t>::max()};

  Dice& dice_;
};

void ExpectWithin(const std::optional<double>& value, double least, double most) {
  EXPECT_TRUE(!value || (*value >= least && *value <= most)) << *value;
}

void ExpectBounded(const GpuSample& gpu, const NodeSnapshot& snapshot) {
  EXPECT_LE(gpu.uuid.size(), 96u);
  EXPECT_LE(gpu.name.size(), 1024u);
  EXPECT_GE(gpu.index, 0);
  EXPECT_LE(gpu.index, 1024);
  ExpectWithin(gpu.utilization_percent, 0, 100);
  ExpectWithin(gpu.memory_utilization_percent, 0, 100);
  ExpectWithin(MemoryUsedPercent(gpu), 0, 100);
  ExpectWithin(gpu.temperature_celsius, -60, 200);
  ExpectWithin(gpu.power_watts, 0, 20e3);
  ExpectWithin(gpu.pcie_tx_kbps, 0, 1e9);
  ExpectWithin(gpu.nvlink_rx_mbps, 0, 1e7);
  ExpectWithin(gpu.still_memory.parts().highest_percent, 0, 100);
  EXPECT_LE(gpu.held_since, snapshot.taken_at + absl::Hours(24 * 365 * 600));
  EXPECT_LE(gpu.gaps.size(), 80u);
  for (const GpuGap& gap : gpu.gaps) EXPECT_LE(gap.detail.size(), 1024u);
  double shares = 0;
  for (const GpuHolder& holder : gpu.holders) {
    EXPECT_GE(holder.pod, 0);
    EXPECT_LT(holder.pod, static_cast<int>(snapshot.pods.size()));
    EXPECT_LE(holder.container.size(), 63u);
    EXPECT_GE(holder.share, 0);
    shares += holder.share;
  }
  EXPECT_LE(shares, 1.001);
  for (const GpuProcess& process : gpu.processes.value_or(std::vector<GpuProcess>())) {
    EXPECT_GE(process.pid, 0);
    ExpectWithin(process.utilization_percent, 0, 100);
  }
}

void ExpectBounded(const AgentNews& news, absl::Time now) {
  EXPECT_LE(news.node.size(), 253u);
  EXPECT_LE(news.version.size(), 1024u);
  EXPECT_LE(news.trouble.size(), 1024u);
  for (const AgentNews::Reading& reading : news.readings) {
    const NodeSnapshot& snapshot = reading.snapshot;
    // A microsecond for each reading that says it is of later.
    EXPECT_LE(snapshot.taken_at, now + absl::Milliseconds(10));
    EXPECT_LE(snapshot.gpus.size(), 1024u);
    EXPECT_LE(snapshot.attribution.why.size(), 1024u);
    for (const GpuSample& gpu : snapshot.gpus) ExpectBounded(gpu, snapshot);
    for (const Pod& pod : snapshot.pods) {
      EXPECT_LE(pod.name.size(), 253u);
      EXPECT_LE(pod.namespace_name.size(), 63u);
      EXPECT_LE(pod.owners.size(), 32u);
      for (const PodOwner& owner : pod.owners) EXPECT_LE(owner.name.size(), 253u);
    }
  }
}

// Whatever comes, it is an error, or readings within bounds: messages of an agent in a row, each
// spoiled in some field or in its bytes.
TEST_F(TelemetryReaderTest, AnyMessageIsRefusedOrBounded) {
  int taken = 0;
  int refused = 0;
  ForManySeeds([&](Dice& dice) {
    Saboteur saboteur(dice);
    TelemetryReader reader;
    ReadingEncoder encoder;
    for (int i = 0; i < 20; ++i) {
      const absl::Time now = kNow + i * absl::Seconds(1);
      NodeSnapshot snapshot = SnapshotOf(3, now);
      AddPods(snapshot);
      snapshot.gpus[0].utilization_percent = i;
      wire::Telemetry message = i == 0 ? MessageOf(snapshot) : wire::Telemetry();
      const auto reading = encoder.Encode(snapshot);
      if (i > 0) *message.add_readings() = *reading;
      message.set_sent_us(ToWire(now));
      for (int fields = dice.Whole(0, 3); fields > 0; --fields) saboteur.Spoil(message);
      std::string bytes = message.SerializeAsString();
      if (dice.Whole(0, 3) == 0) saboteur.Spoil(bytes);
      if (!message.ParseFromString(bytes)) continue;
      const absl::Status status =
          reader.Read(message, now, [&](const AgentNews& news) { ExpectBounded(news, now); });
      EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
      ++(status.ok() ? taken : refused);
    }
  });
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace gpuscaler
