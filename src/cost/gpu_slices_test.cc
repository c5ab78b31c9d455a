#include "cost/gpu_slices.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

std::vector<double> FractionsOf(const WholeGpu& gpu) {
  std::vector<double> fractions;
  for (const GpuSlice& slice : gpu.slices) fractions.push_back(slice.fraction);
  return fractions;
}

auto Near(double fraction) { return DoubleNear(fraction, 1e-9); }

NodeSnapshot Divided(const std::vector<std::pair<std::string, std::optional<int64_t>>>& instances,
                     const std::string& model = "NVIDIA H200") {
  NodeSnapshot snapshot;
  snapshot.gpus.push_back({.uuid = "GPU-a", .name = model, .memory_total_bytes = 80});
  for (const auto& [name, memory] : instances) {
    snapshot.gpus.push_back({.uuid = "MIG-" + std::to_string(snapshot.gpus.size()),
                             .parent_uuid = "GPU-a",
                             .name = name,
                             .memory_total_bytes = memory});
  }
  return snapshot;
}

TEST(WholeGpusOn, AnUndividedGpuIsOneSlice) {
  const NodeSnapshot snapshot = Divided({});
  const std::vector<WholeGpu> gpus = WholeGpusOn(snapshot);
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].model, "NVIDIA H200");
  EXPECT_THAT(FractionsOf(gpus[0]), ElementsAre(1));
  EXPECT_EQ(gpus[0].slices[0].gpu, &snapshot.gpus[0]);
}

TEST(WholeGpusOn, ProfilesAreComputeSlicesAndTheRestIsLeft) {
  const NodeSnapshot snapshot = Divided(
      {{"NVIDIA H200 MIG 3g.71gb", std::nullopt}, {"NVIDIA H200 MIG 1c.2g.35gb", std::nullopt}});
  const std::vector<WholeGpu> gpus = WholeGpusOn(snapshot);
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_THAT(FractionsOf(gpus[0]), ElementsAre(Near(3.0 / 7), Near(1.0 / 7), Near(3.0 / 7)));
  EXPECT_EQ(gpus[0].slices[2].gpu, nullptr);
}

TEST(WholeGpusOn, AnA30HasFourSlices) {
  const NodeSnapshot snapshot =
      Divided({{"NVIDIA A30 MIG 1g.6gb", std::nullopt}, {"NVIDIA A30 MIG 2g.12gb", std::nullopt}},
              "NVIDIA A30");
  EXPECT_THAT(FractionsOf(WholeGpusOn(snapshot)[0]),
              ElementsAre(Near(0.25), Near(0.5), Near(0.25)));
}

TEST(WholeGpusOn, WithoutProfilesTheMemoryDivides) {
  const NodeSnapshot snapshot = Divided({{"NVIDIA H200", 10}, {"NVIDIA H200", 40}});
  EXPECT_THAT(FractionsOf(WholeGpusOn(snapshot)[0]),
              ElementsAre(Near(0.125), Near(0.5), Near(0.375)));
}

TEST(WholeGpusOn, PartitionsThatShareTheMemoryAreEqual) {
  const NodeSnapshot snapshot = Divided({{"AMD CPX", 80}, {"AMD CPX", 80}, {"AMD CPX", 80}});
  EXPECT_THAT(FractionsOf(WholeGpusOn(snapshot)[0]),
              ElementsAre(Near(1.0 / 3), Near(1.0 / 3), Near(1.0 / 3)));
}

TEST(WholeGpusOn, InstancesWithoutTheirGpuAreOneGpu) {
  NodeSnapshot snapshot =
      Divided({{"NVIDIA H200 MIG 1g.18gb", 18}, {"NVIDIA H200 MIG 1g.18gb", 18}});
  snapshot.gpus.Own().erase(snapshot.gpus.begin());
  const std::vector<WholeGpu> gpus = WholeGpusOn(snapshot);
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].model, "NVIDIA H200");
  EXPECT_THAT(FractionsOf(gpus[0]), ElementsAre(Near(1.0 / 7), Near(1.0 / 7), Near(5.0 / 7)));
}

}  // namespace
}  // namespace gpuscaler
