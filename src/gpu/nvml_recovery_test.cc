// GPUs, drivers and libraries that go away and come back.
#include <filesystem>
#include <future>

#include "base/fake_clock.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gpu/fake_driver.h"
#include "gpu/nvml_source.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using Json = FakeDriver::Json;
using testing::HasSubstr;

class NvmlRecoveryTest : public testing::Test {
 protected:
  std::vector<GpuSample> Read() {
    const auto snapshot = source_.Read({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? snapshot->gpus.get() : std::vector<GpuSample>(2);
  }
  std::string ReadError() {
    const absl::Status status = source_.Read({}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    return std::string(status.message());
  }
  void ReplaceGpu(int index) {
    Json& generation = driver_.Gpu(index)["generation"];
    generation = generation.is_null() ? 1 : generation.get<int>() + 1;
    driver_.Save();
  }

  FakeClock clock_;
  FakeDriver driver_;
  NvmlSource source_{FakeDriver::New(), "gpu-7", clock_};
};

TEST_F(NvmlRecoveryTest, LostGpuHasGapsUntilItRecovers) {
  Read();
  driver_.Gpu(1)["error"] = 15;
  driver_.Save();
  for (int tick = 0; tick < 3; ++tick) {
    clock_.Advance(absl::Seconds(2));
    const auto gpus = Read();
    ASSERT_EQ(gpus.size(), 2);
    EXPECT_EQ(gpus[0].utilization_percent, 70);
    EXPECT_EQ(gpus[1].uuid, "GPU-b");
    EXPECT_EQ(gpus[1].name, "NVIDIA H200");
    EXPECT_EQ(gpus[1].index, 1);
    EXPECT_EQ(gpus[1].utilization_percent, std::nullopt);
    ASSERT_NE(FindGap(gpus[1], GpuField::kUtilization), nullptr);
    EXPECT_EQ(FindGap(gpus[1], GpuField::kUtilization)->detail, "NVML error 15 (GPU_IS_LOST)");
    EXPECT_EQ(FindGap(gpus[1], GpuField::kNvlink), nullptr) << "it has no NVLink";
    EXPECT_EQ(FindGap(gpus[1], GpuField::kPcie)->reason, GpuGap::Reason::kNotRequested);
  }
  driver_.Gpu(1).erase("error");
  driver_.Save();
  EXPECT_EQ(Read()[1].utilization_percent, 70);
}

TEST_F(NvmlRecoveryTest, GpuThatNeverAnsweredHasGapsOnly) {
  driver_.Gpu(0)["error"] = 4;
  driver_.Save();
  const auto gpus = Read();
  ASSERT_EQ(gpus.size(), 2);
  EXPECT_EQ(gpus[0].uuid, "GPU-unknown-0");
  EXPECT_EQ(gpus[0].gaps.size(), 14);
  EXPECT_EQ(gpus[0].gaps[0].detail, "NVML error 4 (NO_PERMISSION)");
  EXPECT_EQ(gpus[1].utilization_percent, 70);
}

TEST_F(NvmlRecoveryTest, GpuThatNeedsANewInitGetsItAtMostOnceAMinute) {
  Read();
  ReplaceGpu(1);
  EXPECT_EQ(Read()[1].utilization_percent, std::nullopt);
  EXPECT_EQ(Read()[1].utilization_percent, 70) << "NVML was initialised before this reading";
  ReplaceGpu(1);
  for (int second = 0; second < 60; second += 2) {
    const auto gpus = Read();
    EXPECT_EQ(gpus[0].utilization_percent, 70) << second;
    EXPECT_EQ(gpus[1].utilization_percent, std::nullopt) << second;
    clock_.Advance(absl::Seconds(2));
  }
  Read();
  EXPECT_EQ(Read()[1].utilization_percent, 70);
}

TEST_F(NvmlRecoveryTest, InitForOneGpuCostsTheOthersNoReadingAndNoRate) {
  driver_.Gpu(0)["fields"] = {{"138", 0}, {"139", 0}};
  driver_.Save();
  Read();
  for (int second = 1; second <= 4; ++second) {
    clock_.Advance(absl::Seconds(1));
    driver_.Gpu(0)["fields"] = {{"138", second * 1024}, {"139", second * 1024}};
    driver_.Save();
    if (second == 2) ReplaceGpu(1);
    const auto gpus = Read();
    EXPECT_EQ(gpus[0].utilization_percent, 70) << second;
    EXPECT_EQ(gpus[0].nvlink_tx_mbps, 1) << second;
  }
  EXPECT_EQ(Read()[1].utilization_percent, 70);
}

TEST_F(NvmlRecoveryTest, InitForOneGpuThatFailedOnceIsNotTriedAgain) {
  Read();
  ReplaceGpu(1);
  driver_.state["errors"] = {{"nvmlInit_v2", 999}};
  driver_.Save();
  EXPECT_EQ(Read()[0].utilization_percent, 70) << "of before the attempt";
  testing::internal::CaptureStderr();
  EXPECT_THAT(ReadError(), HasSubstr("nvmlInit: NVML error 999"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("ok=false may_reopen=false\n"));
  driver_.state.erase("errors");
  ReplaceGpu(1);
  EXPECT_EQ(Read()[0].utilization_percent, 70) << "the next reading waits for no back-off";
  ReplaceGpu(1);
  for (int minute = 0; minute < 5; ++minute) {
    clock_.Advance(absl::Minutes(1));
    EXPECT_EQ(Read()[1].utilization_percent, std::nullopt) << minute;
  }
}

TEST_F(NvmlRecoveryTest, ReadingBesideALostGpuWaitsForNoInit) {
  Read();
  ReplaceGpu(1);
  driver_.state["hang"] = "nvmlInit_v2";
  driver_.Save();
  auto reading = std::async(std::launch::async, [&] { return source_.Read({}).ok(); });
  EXPECT_EQ(reading.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  driver_.state.erase("hang");
  driver_.Save();
  EXPECT_TRUE(reading.get());
  EXPECT_EQ(Read()[1].utilization_percent, 70);
}

TEST_F(NvmlRecoveryTest, LostGpuKeepsItsUuidIfAnotherOneIsGone) {
  driver_.state["gpus"].push_back(FakeDriver::BusyGpu("GPU-c"));
  driver_.Gpu(2)["error"] = 4;
  driver_.Gpu(1)["error"] = 4;
  driver_.Save();
  EXPECT_EQ(Read()[2].uuid, "GPU-unknown-2");
  driver_.Gpu(2).erase("error");
  driver_.Save();
  EXPECT_EQ(Read()[2].uuid, "GPU-c");
  driver_.Gpu(2)["error"] = 4;
  driver_.Save();
  Read();
  driver_.state["gpus"].erase(1);
  driver_.Save();
  for (int tick = 0; tick < 2; ++tick) {
    const auto gpus = Read();
    ASSERT_EQ(gpus.size(), 2);
    EXPECT_EQ(gpus[0].utilization_percent, 70);
    EXPECT_EQ(gpus[1].uuid, "GPU-c");
    EXPECT_EQ(gpus[1].index, 1);
    EXPECT_NE(FindGap(gpus[1], GpuField::kUtilization), nullptr);
  }
}

TEST_F(NvmlRecoveryTest, EveryGpuLostIsUnavailableUntilANewInitFindsThem) {
  Read();
  ReplaceGpu(0);
  ReplaceGpu(1);
  EXPECT_THAT(ReadError(), HasSubstr("each of the 2 GPUs fails: NVML error 15 (GPU_IS_LOST)"));
  EXPECT_THAT(ReadError(), HasSubstr("GPU_IS_LOST")) << "while backing off";
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Read()[0].utilization_percent, 70);
}

TEST_F(NvmlRecoveryTest, DriverReloadIsUnavailableUntilTheNextInit) {
  Read();
  driver_.state["generation"] = 2;
  driver_.Save();
  EXPECT_THAT(ReadError(), HasSubstr("NVML error 18 (LIB_RM_VERSION_MISMATCH)"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Read().size(), 2);
}

TEST_F(NvmlRecoveryTest, ReloadThatShowsAtOneGpuOnlyDropsEveryHandle) {
  Read();
  driver_.Gpu(1)["errors"] = {{"nvmlDeviceGetMemoryInfo_v2", 18}, {"nvmlDeviceGetMemoryInfo", 18}};
  driver_.Save();
  EXPECT_THAT(ReadError(), HasSubstr("the driver was reloaded: NVML error 18"));
}

TEST_F(NvmlRecoveryTest, ReloadIsNotHiddenByTheErrorsThatFollowIt) {
  Read();
  driver_.Gpu(1)["errors"] = {{"nvmlDeviceGetUtilizationRates", 1},
                              {"nvmlDeviceGetPowerUsage", 15},
                              {"nvmlDeviceGetTotalEccErrors", 999}};
  driver_.Save();
  EXPECT_THAT(ReadError(), HasSubstr("the driver was reloaded: NVML error 1 (UNINITIALIZED)"));
}

TEST_F(NvmlRecoveryTest, BackOffDoublesToTenSecondsAndNoFurther) {
  driver_.state["errors"] = {{"nvmlInit_v2", 9}};
  driver_.Save();
  EXPECT_THAT(ReadError(), HasSubstr("nvmlInit: NVML error 9 (DRIVER_NOT_LOADED)"));
  for (const int seconds : {1, 2, 4, 8, 10, 10}) {
    // A different error shows whether the library was called.
    driver_.state["errors"] = {{"nvmlInit_v2", seconds % 2 == 0 ? 9 : 17}};
    driver_.Save();
    clock_.Advance(absl::Seconds(seconds) - absl::Milliseconds(1));
    const std::string before = ReadError();
    driver_.state["errors"] = {{"nvmlInit_v2", 20 + seconds}};
    driver_.Save();
    EXPECT_EQ(ReadError(), before) << seconds;
    clock_.Advance(absl::Milliseconds(1));
    EXPECT_THAT(ReadError(), HasSubstr("NVML error " + std::to_string(20 + seconds))) << seconds;
  }
  driver_.state.erase("errors");
  driver_.Save();
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(Read().size(), 2);
}

TEST_F(NvmlRecoveryTest, AbsentLibraryIsNamedAndFoundOnceItIsThere) {
  const TestFolder folder;
  const std::string path = folder.PathOf("libnvidia-ml.so.1");
  NvmlSource source({path}, "gpu-7", clock_);
  const absl::Status status = source.Read({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("libnvidia-ml.so.1"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  std::filesystem::create_symlink(FakeDriver::New()[0], path);
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(source.Read({}).ok());
}

TEST_F(NvmlRecoveryTest, LibraryThatIsNotNvmlIsRefused) {
  NvmlSource source({"libm.so.6"}, "gpu-7", clock_);
  EXPECT_THAT(std::string(source.Read({}).status().message()),
              HasSubstr("libm.so.6: has not the calls of NVML"));
}

TEST_F(NvmlRecoveryTest, HangingCallBlocksItsReaderUntilTheDriverAnswers) {
  Read();
  driver_.state["hang"] = "nvmlDeviceGetPowerUsage";
  driver_.Save();
  auto reading = std::async(std::launch::async, [&] { return source_.Read({}).ok(); });
  EXPECT_EQ(reading.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  driver_.state.erase("hang");
  driver_.Save();
  EXPECT_TRUE(reading.get());
}

}  // namespace
}  // namespace gpuscaler
