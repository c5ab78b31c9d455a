#include <google/protobuf/message.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "fleet/test_telemetry_fixture.h"
#include "gtest/gtest.h"
#include "scaling/test_random.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// Puts a random value into one field of the message, or of a message within it.
class Mutator {
 public:
  explicit Mutator(Random& random) : random_(random) {}

  void Mutate(google::protobuf::Message& message) {
    const auto& descriptor = *message.GetDescriptor();
    const auto& reflection = *message.GetReflection();
    const auto* const field = descriptor.field(random_.Whole(0, descriptor.field_count() - 1));
    if (field->is_repeated()) return MutateList(message, reflection, *field);
    if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
      return Mutate(*reflection.MutableMessage(&message, field));
    }
    if (random_.Whole(0, 5) == 0) return reflection.ClearField(&message, field);
    MutateValue(message, reflection, *field);
  }

  // Changes one of its bytes.
  void Mutate(std::string& bytes) {
    for (int i = random_.Whole(1, 8); i > 0 && !bytes.empty(); --i) {
      const auto at = static_cast<size_t>(random_.Whole(0, static_cast<int>(bytes.size()) - 1));
      const char byte = static_cast<char>(random_.Whole(0, 255));
      const int how = random_.Whole(0, 4);
      if (how == 0) bytes.erase(at, 1);
      if (how == 1) bytes.insert(at, 1, byte);
      if (how > 1) bytes[at] = byte;
    }
  }

 private:
  using Field = google::protobuf::FieldDescriptor;
  using Reflection = google::protobuf::Reflection;

  void MutateList(google::protobuf::Message& message, const Reflection& reflection,
                  const Field& field) {
    const int size = reflection.FieldSize(message, &field);
    if (field.cpp_type() == Field::CPPTYPE_STRING) {
      return reflection.AddString(&message, &field,
                                  std::string(static_cast<size_t>(random_.Whole(0, 100)), 'a'));
    }
    if (field.cpp_type() != Field::CPPTYPE_MESSAGE) {
      return reflection.AddUInt32(&message, &field, static_cast<uint32_t>(random_.Whole(0, 40)));
    }
    if (random_.Whole(0, 9) == 0) {
      for (int i = random_.Whole(1, 3000); i > 0; --i) reflection.AddMessage(&message, &field);
    } else if (size > 0 && random_.Whole(0, 9) == 0) {
      reflection.RemoveLast(&message, &field);
    } else if (size > 0) {
      Mutate(*reflection.MutableRepeatedMessage(&message, &field, random_.Whole(0, size - 1)));
    }
  }

  void MutateValue(google::protobuf::Message& message, const Reflection& reflection,
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
                                    std::string(static_cast<size_t>(random_.Whole(0, 3000)), '\n'));
      case Field::CPPTYPE_BOOL:
        return reflection.SetBool(&message, &field, random_.ThreeInFour());
      default:
        return reflection.SetEnumValue(&message, &field, random_.Whole(-1, 99));
    }
  }

  template <typename Value, size_t kCount>
  Value Of(const Value (&values)[kCount]) {
    return values[random_.Whole(0, static_cast<int>(kCount) - 1)];
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

  Random& random_;
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
  ExpectWithin(gpu.sm_activity_percent, 0, 100);
  ExpectWithin(gpu.tensor_activity_percent, 0, 100);
  ExpectWithin(gpu.steady_memory.highest_percent, 0, 100);
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

void ExpectBounded(const AgentUpdate& update, absl::Time now) {
  EXPECT_LE(update.node.size(), 253u);
  EXPECT_LE(update.version.size(), 1024u);
  EXPECT_LE(update.trouble.size(), 1024u);
  for (const AgentUpdate::Reading& reading : update.readings) {
    const NodeSnapshot& snapshot = reading.snapshot;
    // Each reading that is later on the agent's clock adds a microsecond.
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

class TelemetryReaderPropertyTest : public TelemetryFixture {};

// Every message is refused or has readings within bounds: consecutive messages of an agent, each
// with a random field or byte.
TEST_F(TelemetryReaderPropertyTest, AnyMessageIsRefusedOrBounded) {
  int taken = 0;
  int refused = 0;
  ForSeeds(300, [&](Random& random) {
    Mutator mutator(random);
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
      for (int fields = random.Whole(0, 3); fields > 0; --fields) mutator.Mutate(message);
      std::string bytes = message.SerializeAsString();
      if (random.Whole(0, 3) == 0) mutator.Mutate(bytes);
      if (!message.ParseFromString(bytes)) continue;
      const absl::Status status =
          reader.Read(message, now, [&](const AgentUpdate& update) { ExpectBounded(update, now); });
      EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
      ++(status.ok() ? taken : refused);
    }
  });
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace gpuscaler
