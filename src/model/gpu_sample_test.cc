#include "model/gpu_sample.h"

#include "gtest/gtest.h"

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

}  // namespace
}  // namespace gpuscaler
