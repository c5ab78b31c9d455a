#include "fleet/gpu_wire.h"

#include <functional>

#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const absl::Time kAt = absl::FromUnixSeconds(1'767'225'600);

// Compares every field, and names the one that differs.
void ExpectSame(const GpuSample& got, const GpuSample& want) {
  EXPECT_EQ(got.uuid, want.uuid);
  EXPECT_EQ(got.parent_uuid, want.parent_uuid);
  EXPECT_EQ(got.name, want.name);
  EXPECT_EQ(got.index, want.index);
  EXPECT_EQ(got.link_group, want.link_group);
  EXPECT_EQ(got.utilization_percent, want.utilization_percent);
  EXPECT_EQ(got.memory_utilization_percent, want.memory_utilization_percent);
  EXPECT_EQ(got.memory_used_bytes, want.memory_used_bytes);
  EXPECT_EQ(got.memory_total_bytes, want.memory_total_bytes);
  EXPECT_EQ(got.temperature_celsius, want.temperature_celsius);
  EXPECT_EQ(got.power_watts, want.power_watts);
  EXPECT_EQ(got.power_limit_watts, want.power_limit_watts);
  EXPECT_EQ(got.pcie_tx_kbps, want.pcie_tx_kbps);
  EXPECT_EQ(got.pcie_rx_kbps, want.pcie_rx_kbps);
  EXPECT_EQ(got.nvlink_tx_mbps, want.nvlink_tx_mbps);
  EXPECT_EQ(got.nvlink_rx_mbps, want.nvlink_rx_mbps);
  EXPECT_EQ(got.sm_activity_percent, want.sm_activity_percent);
  EXPECT_EQ(got.dram_activity_percent, want.dram_activity_percent);
  EXPECT_EQ(got.tensor_activity_percent, want.tensor_activity_percent);
  EXPECT_EQ(got.processes, want.processes);
  EXPECT_EQ(got.ecc_uncorrected_errors, want.ecc_uncorrected_errors);
  EXPECT_EQ(got.throttle_reasons, want.throttle_reasons);
  EXPECT_EQ(got.gaps, want.gaps);
  EXPECT_EQ(got.in_use, want.in_use);
  EXPECT_EQ(got.is_free, want.is_free);
  EXPECT_EQ(got.held_since, want.held_since);
  EXPECT_EQ(got.steady_memory, want.steady_memory);
  EXPECT_EQ(got.holders, want.holders);
  EXPECT_EQ(got.shared_by, want.shared_by);
}

GpuSample FullGpu() {
  GpuSample gpu = WorkingGpu(3);
  gpu.parent_uuid = "GPU-parent";
  gpu.link_group = "nvlink-1";
  gpu.is_free = false;
  gpu.pcie_tx_kbps = 1234.5;
  gpu.pcie_rx_kbps = 64e6 + 1;
  gpu.sm_activity_percent = 71.5;
  gpu.dram_activity_percent = 62.25;
  gpu.tensor_activity_percent = 0;
  gpu.processes = {
      {{.pid = 1, .memory_bytes = 2, .utilization_percent = 3.25}, {.pid = 4'194'303}}};
  gpu.ecc_uncorrected_errors = 2;
  gpu.throttle_reasons = ~uint64_t{0};
  gpu.gaps = {{.field = GpuField::kThrottle, .reason = GpuGap::Reason::kNotRequested, .detail = ""},
              {.field = GpuField::kUtilization,
               .reason = GpuGap::Reason::kFailed,
               .detail = "NVML error 15 (GPU_IS_LOST)"}};
  gpu.held_since = kAt - absl::Hours(2);
  gpu.steady_memory =
      SteadyMemory{.high_since = kAt - absl::Hours(1),
                   .current = {.from = kAt - absl::Minutes(3), .until = kAt},
                   .past = {{.from = kAt - absl::Minutes(9), .until = kAt - absl::Minutes(4)}},
                   .lowest_percent = 91.25,
                   .highest_percent = 91.5};
  gpu.holders = {{.pod = 0, .container = "vllm", .share = 0.25},
                 {.pod = 2, .container = "triton", .share = 0.75, .is_possible = true}};
  gpu.shared_by = SharedBy::kProcesses;
  return gpu;
}

TEST(GpuWire, EveryFieldArrives) {
  telemetry::v1::Gpu message;
  EncodeGpu(FullGpu(), message);
  ExpectSame(DecodeGpu(message, {}), FullGpu());
}

TEST(GpuWire, GpuWithoutReadingsArrivesEmpty) {
  const GpuSample gpu{.uuid = "GPU-1"};
  telemetry::v1::Gpu message;
  EncodeGpu(gpu, message);
  ExpectSame(DecodeGpu(message, {}), gpu);
}

TEST(GpuWire, EveryGapField) {
  for (int field = 0; field <= static_cast<int>(GpuField::kThrottle); ++field) {
    GpuSample gpu{.uuid = "GPU-1"};
    gpu.gaps = {{.field = static_cast<GpuField>(field), .reason = GpuGap::Reason::kFailed}};
    telemetry::v1::Gpu message;
    EncodeGpu(gpu, message);
    EXPECT_EQ(DecodeGpu(message, {}).gaps, gpu.gaps) << Name(gpu.gaps[0].field);
  }
}

// Aggregators of earlier versions do the same with gaps of activity.
TEST(GpuWire, GapOfAnUnknownFieldIsDropped) {
  telemetry::v1::Gpu message;
  EncodeGpu(FullGpu(), message);
  message.mutable_gaps()->add_gaps()->set_field(static_cast<telemetry::v1::Gap::Field>(99));
  EXPECT_EQ(DecodeGpu(message, {}).gaps, FullGpu().gaps);
}

struct Change {
  const char* name;
  std::function<void(GpuSample&)> make;
};

const Change kChanges[] = {
    {"none", [](GpuSample&) {}},
    {"utilization", [](GpuSample& gpu) { gpu.utilization_percent = 0; }},
    {"utilization gone", [](GpuSample& gpu) { gpu.utilization_percent.reset(); }},
    {"memory", [](GpuSample& gpu) { gpu.memory_used_bytes = 1; }},
    {"memory gone", [](GpuSample& gpu) { gpu.memory_used_bytes.reset(); }},
    {"power gone", [](GpuSample& gpu) { gpu.power_watts.reset(); }},
    {"pcie gone", [](GpuSample& gpu) { gpu.pcie_rx_kbps = gpu.pcie_tx_kbps = std::nullopt; }},
    {"tensor activity gone", [](GpuSample& gpu) { gpu.tensor_activity_percent.reset(); }},
    {"throttle gone", [](GpuSample& gpu) { gpu.throttle_reasons.reset(); }},
    {"throttle 0", [](GpuSample& gpu) { gpu.throttle_reasons = 0; }},
    {"no process", [](GpuSample& gpu) { gpu.processes->clear(); }},
    {"processes unknown", [](GpuSample& gpu) { gpu.processes.reset(); }},
    {"no gap", [](GpuSample& gpu) { gpu.gaps.clear(); }},
    {"not in use", [](GpuSample& gpu) { gpu.in_use = false; }},
    {"free", [](GpuSample& gpu) { gpu.is_free = true; }},
    {"unknown whether free", [](GpuSample& gpu) { gpu.is_free.reset(); }},
    {"held by another", [](GpuSample& gpu) { gpu.held_since = kAt; }},
    {"held since ever", [](GpuSample& gpu) { gpu.held_since = absl::InfinitePast(); }},
    {"memory forgotten", [](GpuSample& gpu) { gpu.steady_memory = SteadyMemory(); }},
    {"no holder", [](GpuSample& gpu) { gpu.holders.clear(); }},
    {"shares by parts", [](GpuSample& gpu) { gpu.shared_by = SharedBy::kParts; }},
    {"equal shares", [](GpuSample& gpu) { gpu.shared_by = SharedBy::kEqually; }},
    {"another share", [](GpuSample& gpu) { gpu.holders[0].share = 0.125; }},
};

TEST(GpuWire, EveryChangeArrivesBothWays) {
  for (const Change& change : kChanges) {
    SCOPED_TRACE(change.name);
    GpuSample changed = FullGpu();
    change.make(changed);
    for (const auto& [before, after] :
         {std::pair(FullGpu(), changed), std::pair(changed, FullGpu())}) {
      telemetry::v1::Gpu message;
      EncodeGpuChange(before, after, kAt, message);
      GpuSample got = before;
      got.steady_memory = ExpectedMemory(before, after, kAt);
      DecodeGpuChange(message, {}, got);
      ExpectSame(got, after);
    }
  }
}

TEST(GpuWire, SendsNoSteadyMemoryWhenItIsAsExpected) {
  GpuSample before = WorkingGpu(0);
  before.steady_memory = ExpectedMemory(before, before, kAt);
  GpuSample after = before;
  after.steady_memory = ExpectedMemory(before, after, kAt + absl::Seconds(1));
  EXPECT_NE(after.steady_memory, before.steady_memory);
  telemetry::v1::Gpu message;
  EXPECT_FALSE(EncodeGpuChange(before, after, kAt + absl::Seconds(1), message));
}

TEST(GpuWire, TimesAreConvertedToTheReadersClock) {
  telemetry::v1::Gpu message;
  EncodeGpu(FullGpu(), message);
  const GpuSample got = DecodeGpu(message, {.offset = -absl::Hours(1)});
  EXPECT_EQ(got.held_since, FullGpu().held_since - absl::Hours(1));
  EXPECT_EQ(got.steady_memory.current.until, kAt - absl::Hours(1));
  EXPECT_EQ(got.steady_memory.past[0].from, kAt - absl::Minutes(69));
}

TEST(GpuWire, UnknownFieldsOfANewerAgentAreIgnored) {
  telemetry::v1::Gpu message;
  EncodeGpu(FullGpu(), message);
  message.add_emptied(4000);
  auto& gap = *message.mutable_gaps()->add_gaps();
  gap.set_field(static_cast<telemetry::v1::Gap::Field>(77));
  message.mutable_gaps()->mutable_gaps(0)->set_reason(static_cast<telemetry::v1::Gap::Reason>(9));
  std::string bytes = message.SerializeAsString();
  bytes += "\x9A\x3F\x03new";  // field 1011
  telemetry::v1::Gpu received;
  ASSERT_TRUE(received.ParseFromString(bytes));
  GpuSample want = FullGpu();
  want.gaps[0].reason = GpuGap::Reason::kFailed;  // an unknown reason is not kNotRequested
  ExpectSame(DecodeGpu(received, {}), want);
  EXPECT_EQ(received.SerializeAsString().size(), bytes.size()) << "unknown fields survive";
}

TEST(GpuWire, InvalidSharesBecomeEqual) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double wrong : {nan, infinite, -0.25, 1.25, 0.5}) {
    telemetry::v1::Gpu message;
    message.mutable_holders()->add_holders()->set_share(wrong);
    message.mutable_holders()->add_holders()->set_share(0.75);
    const GpuSample gpu = DecodeGpu(message, {});
    EXPECT_EQ(gpu.holders[0].share, 0.5) << wrong;
    EXPECT_EQ(gpu.holders[1].share, 0.5) << wrong;
  }
}

TEST(GpuWire, InvalidSteadyMemoryIsUnknown) {
  for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), -1.0, 101.0}) {
    for (const bool lowest : {true, false}) {
      telemetry::v1::Gpu message;
      EncodeGpu(FullGpu(), message);
      auto& memory = *message.mutable_steady_memory();
      lowest ? memory.set_lowest_percent(wrong) : memory.set_highest_percent(wrong);
      EXPECT_EQ(DecodeGpu(message, {}).steady_memory, SteadyMemory()) << wrong;
    }
  }
}

TEST(GpuWire, SteadyRunThatEndsBeforeItBeginsIsUnknown) {
  for (const bool past : {true, false}) {
    telemetry::v1::Gpu message;
    EncodeGpu(FullGpu(), message);
    auto& memory = *message.mutable_steady_memory();
    auto& run = past ? *memory.mutable_past(0) : *memory.mutable_current();
    run.set_until_us(run.from_us() - 1);
    EXPECT_EQ(DecodeGpu(message, {}).steady_memory, SteadyMemory());
  }
}

TEST(GpuWire, ImplausibleUsedMemoryIsNotSteady) {
  GpuSample gpu = WorkingGpu(0);
  gpu.memory_used_bytes = *gpu.memory_total_bytes * 2;
  const SteadyMemory memory = ExpectedMemory(gpu, gpu, kAt);
  EXPECT_EQ(memory, SteadyMemory());
}

}  // namespace
}  // namespace gpuscaler
