#include "fleet/reading_bounds.h"

#include <cstdint>
#include <functional>
#include <limits>

#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

NodeSnapshot NodeWith(const std::function<void(GpuSample&)>& make) {
  NodeSnapshot snapshot = SnapshotOf(2, absl::UnixEpoch());
  make(snapshot.gpus[1]);
  return snapshot;
}

TEST(ReadingBounds, PlausibleReadingsStay) {
  NodeSnapshot snapshot = NodeWith([](GpuSample& gpu) {
    gpu.utilization_percent = 100;
    gpu.memory_utilization_percent = 0;
    gpu.memory_used_bytes = gpu.memory_total_bytes;
    gpu.temperature_celsius = -20;
    gpu.pcie_tx_kbps = 128e6;
    gpu.throttle_reasons = std::numeric_limits<uint64_t>::max();
  });
  const GpuSample gpu = snapshot.gpus[1];
  EXPECT_EQ(BoundReadings(snapshot), "");
  EXPECT_EQ(snapshot.gpus[1].utilization_percent, 100);
  EXPECT_EQ(snapshot.gpus[1].memory_used_bytes, gpu.memory_total_bytes);
  EXPECT_EQ(snapshot.gpus[1].temperature_celsius, -20);
  EXPECT_EQ(snapshot.gpus[1].pcie_tx_kbps, 128e6);
  EXPECT_EQ(snapshot.gpus[1].processes, gpu.processes);
  EXPECT_THAT(snapshot.gpus[1].gaps, IsEmpty());
}

struct Implausible {
  GpuField field;
  std::function<void(GpuSample&)> make;
  const char* want;  // the gap's detail
};

const Implausible kImplausibleReadings[] = {
    {GpuField::kUtilization, [](auto& gpu) { gpu.utilization_percent = -1e6; }, "-1e+06 %"},
    {GpuField::kUtilization, [](auto& gpu) { gpu.utilization_percent = 1e300; }, "1e+300 %"},
    {GpuField::kUtilization, [](auto& gpu) { gpu.utilization_percent = kNan; }, "nan %"},
    {GpuField::kMemoryUtilization, [](auto& gpu) { gpu.memory_utilization_percent = 100.5; },
     "100.5 %"},
    {GpuField::kTemperature, [](auto& gpu) { gpu.temperature_celsius = 4294967295.0; },
     "4.29497e+09 degrees"},
    {GpuField::kPower, [](auto& gpu) { gpu.power_watts = kInfinite; }, "inf W"},
    {GpuField::kPower, [](auto& gpu) { gpu.power_watts = -1; }, "-1 W"},
    {GpuField::kPowerLimit, [](auto& gpu) { gpu.power_limit_watts = 4294967; }, "W"},
    {GpuField::kPcie, [](auto& gpu) { gpu.pcie_tx_kbps = 1e12; }, "1e+12 KB/s"},
    {GpuField::kPcie, [](auto& gpu) { gpu.pcie_rx_kbps = -1; }, "-1 KB/s"},
    {GpuField::kNvlink, [](auto& gpu) { gpu.nvlink_tx_mbps = 1e12; }, "1e+12 MiB/s"},
    {GpuField::kNvlink, [](auto& gpu) { gpu.nvlink_rx_mbps = kNan; }, "nan MiB/s"},
    {GpuField::kSmActivity, [](auto& gpu) { gpu.sm_activity_percent = 100.5; }, "100.5 %"},
    {GpuField::kDramActivity, [](auto& gpu) { gpu.dram_activity_percent = -1; }, "-1 %"},
    {GpuField::kTensorActivity, [](auto& gpu) { gpu.tensor_activity_percent = kNan; }, "nan %"},
    {GpuField::kMemory, [](auto& gpu) { gpu.memory_used_bytes = kMaxInt64; },
     "9223372036854775807 bytes used of 85899345920"},
    {GpuField::kMemory, [](auto& gpu) { gpu.memory_used_bytes = -1; }, "-1 bytes used"},
    {GpuField::kMemory, [](auto& gpu) { gpu.memory_total_bytes = kLeast; }, "bytes used of -9"},
    {GpuField::kMemory, [](auto& gpu) { gpu.memory_total_bytes = kMaxInt64; }, "bytes used of 9"},
    {GpuField::kMemory, [](auto& gpu) { gpu.memory_total_bytes = 1; }, "bytes used of 1"},
    {GpuField::kEcc, [](auto& gpu) { gpu.ecc_uncorrected_errors = -1; }, "-1 errors"},
};

TEST(ReadingBounds, ImplausibleReadingsBecomeGapsWithTheValue) {
  for (const Implausible& reading : kImplausibleReadings) {
    SCOPED_TRACE(absl::StrCat(Name(reading.field), " ", reading.want));
    NodeSnapshot snapshot = NodeWith(reading.make);
    const std::string fault = BoundReadings(snapshot);
    const GpuGap* const gap = FindGap(snapshot.gpus[1], reading.field);
    ASSERT_NE(gap, nullptr);
    EXPECT_EQ(gap->reason, GpuGap::Reason::kFailed);
    EXPECT_THAT(gap->detail, HasSubstr("its agent reports "));
    EXPECT_THAT(gap->detail, HasSubstr(reading.want));
    EXPECT_THAT(fault, HasSubstr(snapshot.gpus[1].uuid));
    EXPECT_THAT(fault, HasSubstr(gap->detail));
    EXPECT_THAT(snapshot.gpus[0].gaps, IsEmpty()) << "of another GPU";
    EXPECT_EQ(BoundReadings(snapshot), "") << "all values are gaps now";
  }
}

TEST(ReadingBounds, ImplausibleMemoryIsUnknownWithItsTotal) {
  NodeSnapshot snapshot = NodeWith([](GpuSample& gpu) { gpu.memory_used_bytes = kMaxInt64; });
  BoundReadings(snapshot);
  EXPECT_EQ(snapshot.gpus[1].memory_used_bytes, std::nullopt);
  EXPECT_EQ(snapshot.gpus[1].memory_total_bytes, std::nullopt);
}

TEST(ReadingBounds, ReasonOfTheAgentStays) {
  NodeSnapshot snapshot = NodeWith([](GpuSample& gpu) {
    gpu.pcie_tx_kbps = -1;
    gpu.gaps = {{.field = GpuField::kPcie, .reason = GpuGap::Reason::kFailed, .detail = "lost"}};
  });
  EXPECT_THAT(BoundReadings(snapshot), HasSubstr("-1 KB/s"));
  ASSERT_EQ(snapshot.gpus[1].gaps.size(), 1);
  EXPECT_EQ(snapshot.gpus[1].gaps[0].detail, "lost");
}

TEST(ReadingBounds, ImplausibleProcessUseIsUnknown) {
  NodeSnapshot snapshot = NodeWith([](GpuSample& gpu) {
    gpu.processes = {{{.pid = -1},
                      {.pid = 7, .memory_bytes = -1, .utilization_percent = kNan},
                      {.pid = 8, .memory_bytes = kMaxInt64, .utilization_percent = 101},
                      {.pid = 9, .memory_bytes = 5, .utilization_percent = 50}}};
  });
  EXPECT_EQ(BoundReadings(snapshot), "");
  const std::vector<GpuProcess> want = {
      {.pid = 7}, {.pid = 8}, {.pid = 9, .memory_bytes = 5, .utilization_percent = 50}};
  EXPECT_EQ(snapshot.gpus[1].processes, want);
}

}  // namespace
}  // namespace gpuscaler
