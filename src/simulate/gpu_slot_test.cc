#include "simulate/gpu_slot.h"

#include <thread>
#include <vector>

#include "base/fake_clock.h"
#include "base/file_text.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gpu/file_source.h"
#include "gtest/gtest.h"
#include "model/gpu_sample.h"

namespace gpuscaler {
namespace {

class GpuSlotTest : public testing::Test {
 protected:
  std::string path() const { return folder_.PathOf("gpus.json"); }
  std::vector<GpuSample> Gpus() {
    const auto snapshot = FileSource(path(), "node", clock_).Read({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? snapshot->gpus.get() : std::vector<GpuSample>();
  }

  FakeClock clock_;
  const TestFolder folder_;
};

TEST_F(GpuSlotTest, TheScalerReadsAGpuFromANewFile) {
  ASSERT_TRUE(
      WriteGpuReport(path(), 3, {.utilization_percent = 60, .memory_percent = 90, .pid = 77}).ok());
  const std::vector<GpuSample> gpus = Gpus();
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].index, 3);
  EXPECT_THAT(gpus[0].utilization_percent, testing::Optional(60));
  EXPECT_THAT(MemoryUsedPercent(gpus[0]), testing::Optional(testing::DoubleNear(90, 1e-6)));
  ASSERT_TRUE(gpus[0].processes.has_value());
  ASSERT_EQ(gpus[0].processes->size(), 1U);
  EXPECT_EQ(gpus[0].processes->front().pid, 77);
  ASSERT_TRUE(WriteGpuReport(path(), 3, {}).ok());
  EXPECT_TRUE(Gpus()[0].processes->empty());
  EXPECT_THAT(Gpus()[0].memory_used_bytes, testing::Optional(0));
}

TEST_F(GpuSlotTest, ConcurrentWritersKeepEachOthersGpus) {
  std::vector<std::thread> engines;
  for (int index = 0; index < 4; ++index) {
    engines.emplace_back([this, index] {
      for (int i = 1; i <= 50; ++i) {
        const GpuReport report = {.utilization_percent = i + index / 10.0, .pid = 100 + index};
        const absl::Status status = WriteGpuReport(path(), index, report);
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& engine : engines) engine.join();
  const std::vector<GpuSample> gpus = Gpus();
  ASSERT_EQ(gpus.size(), 4U);
  for (const GpuSample& gpu : gpus) {
    EXPECT_THAT(gpu.utilization_percent, testing::Optional(50 + gpu.index / 10.0));
    EXPECT_EQ(gpu.processes->front().pid, 100 + gpu.index);
  }
}

TEST(WithGpuReport, KeepsTheRestOfTheFile) {
  const auto text = WithGpuReport(R"({"driver_version": "sim", "gpus": [
      {"uuid": "GPU-a", "power_watts": 5},
      {"uuid": "GPU-b", "memory_total_bytes": 1000, "ecc_uncorrected_errors": 2}]})",
                                  1, {.utilization_percent = 10, .memory_percent = 50, .pid = 7});
  ASSERT_TRUE(text.ok()) << text.status();
  const auto frames = ParseGpuFile(*text);
  ASSERT_TRUE(frames.ok()) << frames.status();
  const std::vector<GpuSample>& gpus = frames->front().snapshot.gpus;
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_THAT(gpus[0].power_watts, testing::Optional(5));
  EXPECT_FALSE(gpus[0].utilization_percent.has_value());
  EXPECT_EQ(gpus[1].uuid, "GPU-b");
  EXPECT_THAT(gpus[1].ecc_uncorrected_errors, testing::Optional(2));
  EXPECT_THAT(gpus[1].memory_used_bytes, testing::Optional(500));
}

TEST(WithGpuReport, RefusesTextsWithoutAListOfGpus) {
  for (const char* text : {"{", "[]", R"({"gpus": 5})", R"({"gpus": [5]})",
                           R"({"frames": [{"seconds": 1, "gpus": []}]})"}) {
    EXPECT_EQ(WithGpuReport(text, 0, {}).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(LoadingGpu, FillsItsMemoryAndThenCapturesGraphs) {
  EXPECT_DOUBLE_EQ(LoadingGpu(0.35, 90, 1).memory_percent, 45);
  EXPECT_LT(LoadingGpu(0.35, 90, 1).utilization_percent, 50);
  EXPECT_DOUBLE_EQ(LoadingGpu(0.8, 90, 1).memory_percent, 90);
  EXPECT_GT(LoadingGpu(0.8, 90, 1).utilization_percent, 90);
}

}  // namespace
}  // namespace gpuscaler
