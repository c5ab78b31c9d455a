#include "model/gpu_sample.h"

#include "gtest/gtest.h"
#include "model/costly_readings.h"

namespace gpuscaler {
namespace {

TEST(MemoryUsedPercent, IsUnknownWithoutBothParts) {
  GpuSample gpu;
  EXPECT_EQ(MemoryUsedPercent(gpu), std::nullopt);
  gpu.memory_used_bytes = 40;
  EXPECT_EQ(MemoryUsedPercent(gpu), std::nullopt);
  gpu.memory_total_bytes = 0;
  EXPECT_EQ(MemoryUsedPercent(gpu), std::nullopt);
  gpu.memory_total_bytes = 80;
  EXPECT_EQ(MemoryUsedPercent(gpu), 50);
}

TEST(FindGap, DistinguishesAFailedFieldFromOneTheDeviceLacks) {
  GpuSample gpu;
  gpu.gaps = {{GpuField::kPower, GpuGap::Reason::kFailed, "NVML error 15 (GPU_IS_LOST)"}};
  ASSERT_NE(FindGap(gpu, GpuField::kPower), nullptr);
  EXPECT_EQ(FindGap(gpu, GpuField::kNvlink), nullptr);
}

TEST(Why, IsTheDetailOrThatNoTriggerHadAsked) {
  EXPECT_EQ(Why({GpuField::kPower, GpuGap::Reason::kFailed, "lost"}), "lost");
  EXPECT_EQ(Why({GpuField::kPcie, GpuGap::Reason::kNotRequested, ""}),
            "not read yet: costly, and no trigger had requested it");
  EXPECT_EQ(Why({GpuField::kSmActivity, GpuGap::Reason::kNotRequested, "two samples"}),
            "two samples");
}

TEST(CostlyReadings, CoverOthersOnlyIfTheyHaveEachOfThem) {
  const CostlyReadings both{.pcie = true, .activity = true};
  EXPECT_TRUE(both.Covers({.activity = true}));
  EXPECT_TRUE(CostlyReadings{}.Covers({}));
  EXPECT_FALSE(CostlyReadings{.pcie = true}.Covers({.activity = true}));
  EXPECT_FALSE(CostlyReadings{.activity = true}.Covers(both));
}

}  // namespace
}  // namespace gpuscaler
