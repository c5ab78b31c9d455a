// The groups of GPUs that are linked by NVLink, as the NVML source reads them.
#include "gpu/nvml_links.h"

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gpu/fake_driver.h"
#include "gpu/nvml_source.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using Json = FakeDriver::Json;
using testing::Each;
using testing::ElementsAre;

class NvmlLinksTest : public testing::Test {
 protected:
  // Makes GPUs "GPU-0" and on. Those of each group, by number, are all linked.
  void SetGpus(int count, const std::vector<std::vector<int>>& groups) {
    Json gpus = Json::array();
    for (int i = 0; i < count; ++i) {
      Json gpu = FakeDriver::BusyGpu(absl::StrCat("GPU-", i));
      gpu["links"] = Json::array();
      gpus.push_back(gpu);
    }
    for (const std::vector<int>& group : groups) {
      for (const int one : group) {
        for (const int other : group) {
          if (one == other) continue;
          gpus[static_cast<size_t>(one)]["links"].push_back(absl::StrCat("GPU-", other));
        }
      }
    }
    driver_.state["gpus"] = gpus;
    driver_.Save();
  }
  std::vector<std::string> Groups(NvmlSource& source) {
    const auto snapshot = source.Read({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    std::vector<std::string> groups;
    if (!snapshot.ok()) return groups;
    for (const GpuSample& gpu : snapshot->gpus) groups.push_back(gpu.link_group);
    return groups;
  }
  std::vector<std::string> Groups() { return Groups(source_); }
  std::vector<std::string> GroupsAfter(absl::Duration time) {
    clock_.Advance(time);
    driver_.Save();
    return Groups();
  }

  FakeClock clock_;
  FakeDriver driver_;
  NvmlSource source_{FakeDriver::New(), "gpu-7", clock_};
};

TEST_F(NvmlLinksTest, GpusBehindOneSwitchAreOneGroup) {
  SetGpus(4, {{0, 1, 2, 3}});
  EXPECT_THAT(Groups(), Each("nvlink-0"));
}

TEST_F(NvmlLinksTest, PairsWithABridgeAreGroupsAndOtherGpusHaveNone) {
  SetGpus(5, {{0, 3}, {1, 4}});
  EXPECT_THAT(Groups(), ElementsAre("nvlink-0", "nvlink-1", "", "nvlink-0", "nvlink-1"));
}

TEST_F(NvmlLinksTest, GpusThatAreLinkedThroughAnotherAreOneGroup) {
  SetGpus(3, {{0, 2}, {1, 2}});
  EXPECT_THAT(Groups(), Each("nvlink-0"));
}

TEST_F(NvmlLinksTest, GroupsAreReadOncePerDriverSession) {
  SetGpus(2, {{0, 1}});
  EXPECT_THAT(Groups(), Each("nvlink-0"));
  for (int i = 0; i < 2; ++i) driver_.Gpu(i)["links"] = Json::array();
  EXPECT_THAT(GroupsAfter(absl::Hours(1)), Each("nvlink-0"));
  driver_.state["generation"] = 1;
  driver_.Save();
  EXPECT_FALSE(source_.Read({}).ok()) << "the driver was reloaded";
  EXPECT_THAT(GroupsAfter(absl::Seconds(10)), Each(""));
}

TEST_F(NvmlLinksTest, AGpuThatFailsKeepsItsGroup) {
  SetGpus(2, {{0, 1}});
  EXPECT_THAT(Groups(), Each("nvlink-0"));
  driver_.Gpu(1)["error"] = nvml::kGpuIsLost;
  EXPECT_THAT(GroupsAfter(absl::Seconds(1)), Each("nvlink-0"));
}

TEST_F(NvmlLinksTest, AnErrorIsNoMissingLinkAndIsReadAgainAfterAMinute) {
  SetGpus(2, {{0, 1}});
  driver_.Gpu(0)["errors"] = {{"nvmlDeviceGetP2PStatus", nvml::kUnknown}};
  driver_.Save();
  EXPECT_THAT(Groups(), Each(""));
  driver_.Gpu(0).erase("errors");
  EXPECT_THAT(GroupsAfter(absl::Seconds(59)), Each(""));
  EXPECT_THAT(GroupsAfter(absl::Seconds(1)), Each("nvlink-0"));
}

TEST_F(NvmlLinksTest, ACliqueOfAFabricNamesTheGroup) {
  SetGpus(2, {{0, 1}});
  Json cluster = Json::array();
  for (int i = 0; i < 16; ++i) cluster.push_back(16 * i + i);
  for (int i = 0; i < 2; ++i) {
    driver_.Gpu(i)["fabric"] = {{"state", 3}, {"cluster", cluster}, {"clique", 7}};
  }
  driver_.Save();
  EXPECT_THAT(Groups(), Each("00112233-4455-6677-8899-aabbccddeeff.7"));
}

TEST_F(NvmlLinksTest, AFabricOfOneMachineHasNoCluster) {
  SetGpus(2, {{0, 1}});
  for (int i = 0; i < 2; ++i) driver_.Gpu(i)["fabric"] = {{"state", 3}, {"clique", 0}};
  driver_.Save();
  EXPECT_THAT(Groups(), Each("nvlink-0"));
}

TEST_F(NvmlLinksTest, AFabricThatIsNotSetUpYetIsReadAgain) {
  SetGpus(2, {});  // no link works before
  for (int i = 0; i < 2; ++i) driver_.Gpu(i)["fabric"] = {{"state", nvml::kFabricInProgress}};
  driver_.Save();
  EXPECT_THAT(Groups(), Each(""));
  SetGpus(2, {{0, 1}});
  EXPECT_THAT(GroupsAfter(absl::Minutes(1)), Each("nvlink-0"));
}

TEST_F(NvmlLinksTest, AnOldDriverHasNoGroups) {
  SetGpus(2, {{0, 1}});
  NvmlSource source(FakeDriver::Old(), "gpu-7", clock_);
  EXPECT_THAT(Groups(source), Each(""));
}

}  // namespace
}  // namespace gpuscaler
