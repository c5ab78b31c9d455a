#include "gpu/failing_gpus.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/unreadable_gpu.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;

GpuSample Answering(const std::string& uuid, int index) {
  GpuSample gpu;
  gpu.uuid = uuid;
  gpu.index = index;
  gpu.utilization_percent = 70;
  return gpu;
}

GpuSample Failing(const std::string& uuid, int index) {
  return UnreadableGpu(Answering(uuid, index), "lost", {});
}

GpuSample Instance(const std::string& uuid, const std::string& parent, int index) {
  GpuSample gpu = Answering(uuid, index);
  gpu.parent_uuid = parent;
  return gpu;
}

// Returns "index uuid" of each sample.
std::vector<std::string> Match(const std::vector<int>& indices,
                               const std::vector<GpuSample>& answered,
                               const std::vector<GpuSample>& before) {
  std::vector<FailingIndex> failing;
  for (const int index : indices) failing.push_back({index, "lost"});
  std::vector<std::string> samples;
  for (const GpuSample& gpu : SamplesOf(failing, answered, before, {})) {
    EXPECT_EQ(gpu.utilization_percent, std::nullopt) << gpu.uuid;
    EXPECT_NE(FindGap(gpu, GpuField::kUtilization), nullptr) << gpu.uuid;
    samples.push_back(absl::StrCat(gpu.index, " ", gpu.uuid));
  }
  return samples;
}

TEST(SamplesOf, IndexIsTheSameGpuWhileTheCountIsTheSame) {
  const std::vector<GpuSample> before = {Answering("a", 0), Answering("b", 1), Answering("c", 2)};
  EXPECT_THAT(Match({1}, {Answering("a", 0), Answering("c", 2)}, before), ElementsAre("1 b"));
  EXPECT_THAT(Match({0, 2}, {Answering("b", 1)}, before), ElementsAre("0 a", "2 c"));
}

TEST(SamplesOf, GpuThatAnswersAtAnotherIndexDoesNotFail) {
  EXPECT_THAT(Match({1}, {Answering("b", 0)}, {Answering("a", 0), Answering("b", 1)}),
              ElementsAre("1 GPU-unknown-1"));
}

TEST(SamplesOf, FailingGpuIsTheSameAtAnotherIndexIfAnotherGpuIsGone) {
  const std::vector<GpuSample> before = {Answering("a", 0), Answering("b", 1), Failing("c", 2)};
  EXPECT_THAT(Match({1}, {Answering("b", 0)}, before), ElementsAre("1 c"));
}

TEST(SamplesOf, FailingGpuIsTheSameIfOneMoreIsCounted) {
  EXPECT_THAT(
      Match({2}, {Answering("z", 0), Answering("a", 1)}, {Answering("a", 0), Failing("b", 1)}),
      ElementsAre("2 b"));
}

TEST(SamplesOf, NewGpuThatFailsIsUnknown) {
  EXPECT_THAT(
      Match({2}, {Answering("a", 0), Answering("b", 1)}, {Answering("a", 0), Answering("b", 1)}),
      ElementsAre("2 GPU-unknown-2"));
  EXPECT_THAT(Match({1, 2}, {Answering("a", 0)}, {Answering("a", 0), Failing("b", 1)}),
              ElementsAre("1 b", "2 GPU-unknown-2"));
}

TEST(SamplesOf, GpuIsUnknownIfTwoFailAtOnce) {
  EXPECT_THAT(
      Match({1}, {Answering("a", 0)}, {Answering("a", 0), Answering("b", 1), Answering("c", 2)}),
      ElementsAre("1 GPU-unknown-1"));
}

TEST(SamplesOf, GpuThatNeverAnsweredStaysUnknown) {
  const std::vector<GpuSample> before = {Answering("a", 0), UnknownGpu(1, "lost"),
                                         UnknownGpu(2, "lost")};
  EXPECT_THAT(Match({0, 1}, {}, before), ElementsAre("0 a", "1 GPU-unknown-1"));
}

TEST(SamplesOf, InstancesFollowTheirGpuToItsIndex) {
  const std::vector<GpuSample> before = {Answering("a", 0), Failing("b", 1),
                                         Instance("MIG-x", "b", 1)};
  EXPECT_THAT(Match({0}, {}, before), ElementsAre("0 b", "0 MIG-x"));
}

}  // namespace
}  // namespace gpuscaler
