#include "app/gpu_selection.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Returns four GPUs, GPU-a0 to GPU-d3. The second has two MIG instances.
std::vector<GpuSample> Node() {
  return {{.uuid = "GPU-a0", .index = 0},
          {.uuid = "GPU-b1", .index = 1},
          {.uuid = "MIG-11", .parent_uuid = "GPU-b1", .index = 1},
          {.uuid = "MIG-12", .parent_uuid = "GPU-b1", .index = 1},
          {.uuid = "GPU-c2", .index = 2},
          {.uuid = "GPU-d3", .index = 3}};
}

std::vector<std::string> Uuids(const GpuSelection& selection) {
  std::vector<std::string> uuids;
  for (const GpuSample& gpu : selection.gpus) uuids.push_back(gpu.uuid);
  return uuids;
}

TEST(SelectGpus, MatchesIndicesUuidsAndPrefixes) {
  EXPECT_THAT(Uuids(SelectGpus(Node(), {"0", "3"})), ElementsAre("GPU-a0", "GPU-d3"));
  EXPECT_THAT(Uuids(SelectGpus(Node(), {"GPU-c"})), ElementsAre("GPU-c2"));
}

TEST(SelectGpus, TakesAMigInstanceAlone) {
  EXPECT_THAT(Uuids(SelectGpus(Node(), {"MIG-12"})), ElementsAre("MIG-12"));
}

TEST(SelectGpus, AGpuIncludesItsMigInstances) {
  EXPECT_THAT(Uuids(SelectGpus(Node(), {"GPU-b1"})), ElementsAre("GPU-b1", "MIG-11", "MIG-12"));
  EXPECT_THAT(Uuids(SelectGpus(Node(), {"MIG-GPU-b1/3/0"})),
              ElementsAre("GPU-b1", "MIG-11", "MIG-12"));
}

TEST(SelectGpus, EmptyListIsNoGpu) { EXPECT_THAT(Uuids(SelectGpus(Node(), {})), IsEmpty()); }

TEST(SelectGpus, ReportsEntriesWithoutAGpu) {
  const GpuSelection selection = SelectGpus(Node(), {"0", "9"});
  EXPECT_THAT(Uuids(selection), ElementsAre("GPU-a0"));
  EXPECT_THAT(selection.notes, ElementsAre("the driver shows no GPU 9"));
}

TEST(SelectGpus, AJobConfinedToItsDevicesGetsAllOfThem) {
  const std::vector<GpuSample> seen = {{.uuid = "GPU-c2", .index = 0},
                                       {.uuid = "GPU-d3", .index = 1}};
  const GpuSelection selection = SelectGpus(seen, {"2", "3"});
  EXPECT_THAT(Uuids(selection), ElementsAre("GPU-c2", "GPU-d3"));
  EXPECT_THAT(selection.notes, IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
