// The values of a reading. nvml_recovery_test.cc has the source's recovery from failures.
#include "gpu/nvml_source.h"

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gpu/fake_driver.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using Json = FakeDriver::Json;

class NvmlSourceTest : public testing::Test {
 protected:
  std::vector<GpuSample> Read(const CostlyReadings& wanted = {}) { return Read(source_, wanted); }
  static std::vector<GpuSample> Read(NvmlSource& source, const CostlyReadings& wanted = {}) {
    const auto snapshot = source.Read(wanted);
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? snapshot->gpus.get() : std::vector<GpuSample>(8);
  }
  // Advances one second, on the clock and in the driver's times.
  void NextSecond() {
    clock_.Advance(absl::Seconds(1));
    for (Json& gpu : driver_.state["gpus"]) gpu["field_usec"] = absl::ToUnixMicros(clock_.Now());
    driver_.Save();
  }
  static std::string GapText(const GpuSample& gpu, GpuField field) {
    const GpuGap* gap = FindGap(gpu, field);
    return gap == nullptr ? "no gap" : gap->detail;
  }

  FakeClock clock_;
  FakeDriver driver_;
  NvmlSource source_{FakeDriver::New(), "gpu-7", clock_};
};

TEST_F(NvmlSourceTest, ReadsEveryValue) {
  const auto snapshot = source_.Read({.pcie = true});
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->taken_at, clock_.Now());
  EXPECT_EQ(snapshot->node, "gpu-7");
  EXPECT_EQ(snapshot->source, "nvml");
  EXPECT_EQ(snapshot->driver_version, "550.54.15");
  ASSERT_EQ(snapshot->gpus.size(), 2);
  const GpuSample& gpu = snapshot->gpus[1];
  EXPECT_EQ(gpu.uuid, "GPU-b");
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.index, 1);
  EXPECT_EQ(gpu.parent_uuid, "");
  EXPECT_EQ(gpu.utilization_percent, 70);
  EXPECT_EQ(gpu.memory_utilization_percent, 30);
  EXPECT_EQ(gpu.memory_used_bytes, 300);
  EXPECT_EQ(gpu.memory_total_bytes, 1000);
  EXPECT_EQ(gpu.temperature_celsius, 61);
  EXPECT_EQ(gpu.power_watts, 512.5);
  EXPECT_EQ(gpu.power_limit_watts, 700);
  EXPECT_EQ(gpu.pcie_tx_kbps, 11);
  EXPECT_EQ(gpu.pcie_rx_kbps, 12);
  EXPECT_EQ(gpu.ecc_uncorrected_errors, 2);
  EXPECT_EQ(gpu.throttle_reasons, 4);
  ASSERT_EQ(gpu.processes->size(), 1);
  EXPECT_EQ(gpu.processes->at(0).pid, 42);
  EXPECT_EQ(gpu.processes->at(0).memory_bytes, 200);
  EXPECT_TRUE(gpu.gaps.empty()) << gpu.gaps[0].detail;
}

TEST_F(NvmlSourceTest, KernelsMinorIsNotTheIndex) {
  driver_.Gpu(0)["minor"] = 1;
  driver_.Gpu(1)["minor"] = 0;
  driver_.Save();
  const auto snapshot = source_.Read({});
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->gpus[0].minor_number, 1);
  EXPECT_EQ(snapshot->gpus[1].minor_number, 0);
}

TEST_F(NvmlSourceTest, SeveralProcessesAreReadWithTheirUtilization) {
  driver_.Gpu(0)["processes"] = {{42, 200}, {43, 100}};
  driver_.Gpu(0)["process_samples"] = {{9'000'000, 42, 60}};
  driver_.Save();
  const auto snapshot = source_.Read({});
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->gpus[0].processes->at(0).utilization_percent, 60);
  EXPECT_EQ(snapshot->gpus[0].processes->at(1).utilization_percent, 0);
  EXPECT_EQ(snapshot->gpus[1].processes->at(0).utilization_percent, std::nullopt);
}

TEST_F(NvmlSourceTest, OldDriverIsReadWithItsOwnCalls) {
  NvmlSource source(FakeDriver::Old(), "gpu-7", clock_);
  const GpuSample gpu = Read(source, {.pcie = true})[0];
  EXPECT_EQ(gpu.memory_used_bytes, 300) << "before 510 the reserve is not counted as used";
  EXPECT_EQ(gpu.temperature_celsius, 61);
  EXPECT_EQ(gpu.throttle_reasons, 4);
  EXPECT_EQ(gpu.processes->at(0).memory_bytes, 200);
  EXPECT_TRUE(gpu.gaps.empty()) << gpu.gaps[0].detail;
}

TEST_F(NvmlSourceTest, ReadingThatTheDeviceLacksIsEmptyWithoutAGap) {
  driver_.Gpu(0) = {{"uuid", "GPU-a"}, {"memory", {1000, 0, 10}}};
  driver_.Save();
  const GpuSample gpu = Read({.pcie = true})[0];
  EXPECT_EQ(gpu.utilization_percent, std::nullopt);
  EXPECT_EQ(gpu.power_watts, std::nullopt);
  EXPECT_EQ(gpu.processes, std::nullopt);
  EXPECT_EQ(gpu.nvlink_tx_mbps, std::nullopt);
  EXPECT_EQ(gpu.pcie_tx_kbps, std::nullopt);
  EXPECT_TRUE(gpu.gaps.empty()) << gpu.gaps[0].detail;
}

TEST_F(NvmlSourceTest, FailedCallIsAGapWithItsErrorAndNeverZero) {
  driver_.Gpu(0)["errors"] = {{"nvmlDeviceGetUtilizationRates", 999},
                              {"nvmlDeviceGetPowerUsage", 21},
                              {"nvmlDeviceGetComputeRunningProcesses_v3", 4}};
  driver_.Save();
  const auto gpus = Read();
  EXPECT_EQ(gpus[0].utilization_percent, std::nullopt);
  EXPECT_EQ(GapText(gpus[0], GpuField::kUtilization), "NVML error 999 (UNKNOWN)");
  EXPECT_EQ(GapText(gpus[0], GpuField::kMemoryUtilization), "NVML error 999 (UNKNOWN)");
  EXPECT_EQ(gpus[0].power_watts, std::nullopt);
  EXPECT_EQ(GapText(gpus[0], GpuField::kPower), "NVML error 21 (NO_DATA)");
  EXPECT_EQ(gpus[0].processes, std::nullopt);
  EXPECT_EQ(GapText(gpus[0], GpuField::kProcesses), "NVML error 4 (NO_PERMISSION)");
  EXPECT_EQ(gpus[0].temperature_celsius, 61);
  EXPECT_EQ(gpus[1].utilization_percent, 70);
}

TEST_F(NvmlSourceTest, ImpossibleValueIsAGap) {
  driver_.Gpu(0)["utilization"] = {250, 4294967295};
  driver_.Gpu(0)["memory"] = {10, 0, 20};
  driver_.Gpu(1)["utilization"] = {100, 0};
  driver_.Gpu(1)["memory"] = {10, 0, 10};
  driver_.Save();
  const auto gpus = Read({.pcie = true});
  EXPECT_EQ(gpus[0].utilization_percent, std::nullopt);
  EXPECT_EQ(GapText(gpus[0], GpuField::kUtilization), "the driver reports 250 %");
  EXPECT_EQ(gpus[0].memory_utilization_percent, std::nullopt);
  EXPECT_EQ(GapText(gpus[0], GpuField::kMemoryUtilization), "the driver reports 4294967295 %");
  EXPECT_EQ(gpus[0].memory_used_bytes, std::nullopt);
  EXPECT_EQ(gpus[0].memory_total_bytes, std::nullopt);
  EXPECT_EQ(GapText(gpus[0], GpuField::kMemory), "the driver reports 20 bytes used of 10");
  EXPECT_EQ(gpus[1].utilization_percent, 100);
  EXPECT_EQ(gpus[1].memory_used_bytes, 10);
  EXPECT_TRUE(gpus[1].gaps.empty()) << gpus[1].gaps[0].detail;
}

TEST_F(NvmlSourceTest, MemoryFallsBackIfTheNewCallExistsAndFails) {
  driver_.Gpu(0)["errors"] = {{"nvmlDeviceGetMemoryInfo_v2", 999}};
  driver_.Save();
  EXPECT_EQ(Read()[0].memory_used_bytes, 400) << "300 used and 100 reserved";
}

TEST_F(NvmlSourceTest, MemoryIsAGapIfTheNewCallHasWorkedAndFails) {
  EXPECT_EQ(Read()[0].memory_used_bytes, 300);
  driver_.Gpu(0)["errors"] = {{"nvmlDeviceGetMemoryInfo_v2", 999}};
  driver_.Save();
  const GpuSample gpu = Read()[0];
  EXPECT_EQ(gpu.memory_used_bytes, std::nullopt) << "400 would be another quantity";
  EXPECT_EQ(GapText(gpu, GpuField::kMemory), "NVML error 999 (UNKNOWN)");
  driver_.Gpu(0).erase("errors");
  driver_.Save();
  EXPECT_EQ(Read()[0].memory_used_bytes, 300);
}

TEST_F(NvmlSourceTest, UtilizationIsTheMeanOfTheSamplesSinceTheLastReading) {
  // Before the first reading only the newest second counts.
  driver_.Gpu(0)["gpu_samples"] = {{1'000'000, 10}, {2'500'000, 40}, {3'000'000, 60}};
  driver_.Save();
  EXPECT_EQ(Read()[0].utilization_percent, 50);
  // A burst that is over when the next reading comes: the driver's last rate, 70, would miss it.
  for (const auto& [usec, percent] : {std::pair{3'200'000, 100},
                                      {3'400'000, 100},
                                      {3'600'000, 0},
                                      {3'800'000, 0},
                                      {4'000'000, 0}}) {
    driver_.Gpu(0)["gpu_samples"].push_back({usec, percent});
  }
  driver_.Save();
  EXPECT_EQ(Read()[0].utilization_percent, 40);
}

TEST_F(NvmlSourceTest, UtilizationIsTheLastRateWhileNoSampleIsNew) {
  driver_.Gpu(0)["gpu_samples"] = {{3'000'000, 50}};
  driver_.Save();
  EXPECT_EQ(Read()[0].utilization_percent, 50);
  EXPECT_EQ(Read()[0].utilization_percent, 70);
}

TEST_F(NvmlSourceTest, UtilizationSurvivesAClockSetBack) {
  driver_.Gpu(0)["gpu_samples"] = {{3'000'000, 50}};
  driver_.Save();
  Read();
  driver_.Gpu(0)["gpu_samples"] = {{2'000'000, 20}};
  driver_.Save();
  EXPECT_EQ(Read()[0].utilization_percent, 70);
  EXPECT_EQ(Read()[0].utilization_percent, 20);
}

TEST_F(NvmlSourceTest, NvlinkIsTheGrowthOfTheCountersInMebibytesASecond) {
  driver_.Gpu(0)["fields"] = {{"138", 1024}, {"139", 10240}};
  NextSecond();
  const GpuSample first = Read()[0];
  EXPECT_EQ(first.nvlink_tx_mbps, std::nullopt);
  EXPECT_THAT(GapText(first, GpuField::kNvlink), testing::HasSubstr("two readings"));

  driver_.Gpu(0)["fields"] = {{"138", 1024 + 5 * 1024}, {"139", 10240 + 7 * 1024}};
  NextSecond();
  const GpuSample second = Read()[0];
  EXPECT_EQ(second.nvlink_tx_mbps, 5);
  EXPECT_EQ(second.nvlink_rx_mbps, 7);

  driver_.Gpu(0)["fields"] = {{"138", 0}, {"139", 0}};
  NextSecond();
  const GpuSample reset = Read()[0];
  EXPECT_EQ(reset.nvlink_tx_mbps, std::nullopt);
  EXPECT_NE(FindGap(reset, GpuField::kNvlink), nullptr);
  EXPECT_EQ(FindGap(Read()[1], GpuField::kNvlink), nullptr) << "it has no NVLink";
}

TEST_F(NvmlSourceTest, Nvlink5IsSummedOverTheLinksThatAreConnected) {
  constexpr int kMib = 1024 * 1024;
  driver_.Gpu(0)["fields"] = {{"91", 3}, {"202", 0}, {"204", 0}, {"202@2", 0}, {"204@2", 0}};
  NextSecond();
  Read();
  driver_.Gpu(0)["fields"] = {
      {"91", 3}, {"202", 2 * kMib}, {"204", 3 * kMib}, {"202@2", 20 * kMib}, {"204@2", 30 * kMib}};
  NextSecond();
  const GpuSample gpu = Read()[0];
  EXPECT_EQ(gpu.nvlink_tx_mbps, 22);
  EXPECT_EQ(gpu.nvlink_rx_mbps, 33);
}

TEST_F(NvmlSourceTest, PcieIsMeasuredOnlyIfRequested) {
  const GpuSample without_pcie = Read()[0];
  EXPECT_EQ(without_pcie.pcie_tx_kbps, std::nullopt);
  ASSERT_NE(FindGap(without_pcie, GpuField::kPcie), nullptr);
  EXPECT_EQ(FindGap(without_pcie, GpuField::kPcie)->reason, GpuGap::Reason::kNotRequested);
  const GpuSample with_pcie = Read({.pcie = true})[0];
  EXPECT_EQ(with_pcie.pcie_tx_kbps, 11);
  EXPECT_EQ(with_pcie.pcie_rx_kbps, 12);
}

TEST_F(NvmlSourceTest, FreePcieCountersAreAlwaysRead) {
  driver_.Gpu(0)["fields"] = {{"197", 0}, {"198", 0}};
  NextSecond();
  Read();
  driver_.Gpu(0)["fields"] = {{"197", 5000}, {"198", 7000}};
  NextSecond();
  const GpuSample gpu = Read()[0];
  EXPECT_EQ(gpu.pcie_tx_kbps, 5);
  EXPECT_EQ(gpu.pcie_rx_kbps, 7);
}

// GPU 0 has GPM, and GPU 1 has not.
class NvmlActivityTest : public NvmlSourceTest {
 protected:
  NvmlActivityTest() {
    driver_.Gpu(0)["gpm"] = true;
    driver_.Gpu(0)["gpm_usec"] = {{"2", 0}, {"5", 0}, {"10", 0}};
    NextSecond();
  }
  // Advances one second, in which the parts of GPU 0 were in use for these percentages of the time.
  void NextSecondWith(double sm_percent, double dram_percent, double tensor_percent) {
    Json& counters = driver_.Gpu(0)["gpm_usec"];
    for (const auto& [metric, percent] :
         {std::pair{"2", sm_percent}, {"10", dram_percent}, {"5", tensor_percent}}) {
      counters[metric] = counters[metric].get<double>() + percent * 10'000;
    }
    NextSecond();
  }
  static constexpr GpuField kActivityFields[] = {GpuField::kSmActivity, GpuField::kDramActivity,
                                                 GpuField::kTensorActivity};
};

TEST_F(NvmlActivityTest, IsTheMeanBetweenTwoReadingsUnderALease) {
  constexpr CostlyReadings kEverything{.pcie = true, .activity = true};
  const GpuSample first = Read(kEverything)[0];
  for (const GpuField field : kActivityFields) {
    ASSERT_NE(FindGap(first, field), nullptr) << Name(field);
    EXPECT_EQ(FindGap(first, field)->reason, GpuGap::Reason::kNotRequested) << "KEDA's call waits";
    EXPECT_EQ(Why(*FindGap(first, field)), "no value yet: GPM needs two samples");
  }
  NextSecondWith(35, 80, 0);
  const GpuSample second = Read(kEverything)[0];
  EXPECT_EQ(second.sm_activity_percent, 35);
  EXPECT_EQ(second.dram_activity_percent, 80);
  EXPECT_EQ(second.tensor_activity_percent, 0);
  EXPECT_EQ(second.utilization_percent, 70) << "of a whole GPU not from GPM";
  EXPECT_TRUE(second.gaps.empty());
}

TEST_F(NvmlActivityTest, IsNotReadWithoutALeaseAndBeginsAnewWithTheNext) {
  driver_.Gpu(0)["errors"] = {{"nvmlGpmSampleGet", 999}};
  NextSecond();
  const GpuSample unasked = Read()[0];
  for (const GpuField field : kActivityFields) {
    ASSERT_NE(FindGap(unasked, field), nullptr) << Name(field);
    EXPECT_EQ(FindGap(unasked, field)->reason, GpuGap::Reason::kNotRequested);
  }
  driver_.Gpu(0).erase("errors");
  for (const bool leased : {true, true, false, false}) {
    NextSecondWith(50, 50, 50);
    Read({.activity = leased});
  }
  NextSecondWith(90, 90, 90);
  EXPECT_EQ(Read({.activity = true})[0].sm_activity_percent, std::nullopt);
  NextSecondWith(10, 10, 10);
  EXPECT_EQ(Read({.activity = true})[0].sm_activity_percent, 10);
}

TEST_F(NvmlActivityTest, GpuWithoutGpmLacksIt) {
  for (const bool leased : {false, true}) {
    const GpuSample gpu = Read({.activity = leased})[1];
    EXPECT_EQ(gpu.sm_activity_percent, std::nullopt);
    for (const GpuField field : kActivityFields) EXPECT_EQ(FindGap(gpu, field), nullptr);
  }
}

TEST_F(NvmlActivityTest, LostGpuIsAGapUnderALease) {
  Read({.activity = true});
  NextSecondWith(50, 50, 50);
  EXPECT_EQ(Read({.activity = true})[0].sm_activity_percent, 50);
  driver_.Gpu(0)["error"] = 15;
  NextSecond();
  const auto gpus = Read({.activity = true});
  EXPECT_EQ(gpus[0].sm_activity_percent, std::nullopt);
  EXPECT_EQ(GapText(gpus[0], GpuField::kSmActivity), "NVML error 15 (GPU_IS_LOST)");
  EXPECT_EQ(FindGap(gpus[1], GpuField::kSmActivity), nullptr);
}

TEST_F(NvmlActivityTest, RefusedPermissionIsAGapForAMinute) {
  driver_.Gpu(0)["errors"] = {{"nvmlGpmSampleGet", 4}};
  NextSecond();
  EXPECT_EQ(GapText(Read({.activity = true})[0], GpuField::kSmActivity),
            "NVML error 4 (NO_PERMISSION)");
  driver_.Gpu(0).erase("errors");
  for (int second = 1; second < 60; ++second) {
    NextSecondWith(50, 50, 50);
    const GpuSample gpu = Read({.activity = true})[0];
    ASSERT_EQ(GapText(gpu, GpuField::kDramActivity), "NVML error 4 (NO_PERMISSION)") << second;
    ASSERT_EQ(gpu.utilization_percent, 70) << "everything else is read";
  }
  NextSecondWith(50, 50, 50);
  Read({.activity = true});
  NextSecondWith(25, 50, 50);
  EXPECT_EQ(Read({.activity = true})[0].sm_activity_percent, 25);
}

TEST_F(NvmlSourceTest, ProcessesOfMpsCountAndUnknownMemoryStaysUnknown) {
  driver_.Gpu(0)["processes"] = {{42, nullptr}, {43, 10}};
  driver_.Gpu(0)["mps"] = {{43, 10}, {44, 20}};
  driver_.Save();
  const GpuSample gpu = Read()[0];
  ASSERT_EQ(gpu.processes->size(), 3);
  EXPECT_EQ(gpu.processes->at(0).memory_bytes, std::nullopt);
  EXPECT_EQ(gpu.processes->at(2).pid, 44);
}

TEST_F(NvmlSourceTest, LongProcessListsAreReadCompletely) {
  driver_.Gpu(0)["processes"] = Json::array();
  for (int pid = 1; pid <= 500; ++pid) driver_.Gpu(0)["processes"].push_back({pid, 1});
  driver_.Save();
  EXPECT_EQ(Read()[0].processes->size(), 500);
}

TEST_F(NvmlSourceTest, EmptyProcessListMeansNoProcess) {
  driver_.Gpu(0)["processes"] = Json::array();
  driver_.Save();
  const GpuSample gpu = Read()[0];
  ASSERT_TRUE(gpu.processes.has_value());
  EXPECT_TRUE(gpu.processes->empty());
}

TEST_F(NvmlSourceTest, CountIsReadEachTime) {
  EXPECT_EQ(Read().size(), 2);
  driver_.state["gpus"].erase(0);
  driver_.Save();
  const auto one = Read();
  ASSERT_EQ(one.size(), 1);
  EXPECT_EQ(one[0].uuid, "GPU-b");
  EXPECT_EQ(one[0].index, 0);
  driver_.state["gpus"] = Json::array();
  driver_.Save();
  EXPECT_TRUE(Read().empty());
}

}  // namespace
}  // namespace gpuscaler
