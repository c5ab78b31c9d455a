#include "workload/gpu_processes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_proc.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class GpuProcessesTest : public testing::Test {
 protected:
  GpuProcessesTest() {
    snapshot_.taken_at = absl::FromUnixSeconds(1000);
    proc_.AddProcess(1, 0, net_);
  }

  void AddPod(const std::string& name, int uid = 0) {
    snapshot_.pods.push_back({.namespace_name = "shop", .name = name});
    if (uid != 0) snapshot_.pods.back().uid = TestProc::Uid(uid);
  }

  void AddGpu(const std::vector<int>& pods, const std::vector<int64_t>& pids) {
    GpuSample gpu = {.uuid = absl::StrCat("GPU-", snapshot_.gpus.size())};
    for (const int pod : pods) gpu.holders.push_back({.pod = pod});
    gpu.processes.emplace();
    for (const int64_t pid : pids) gpu.processes->push_back({.pid = pid});
    snapshot_.gpus.push_back(gpu);
  }

  std::vector<GpuProcessesOfPod> Find() { return processes_.Find(snapshot_); }

  TestProc proc_;
  const std::string net_ = proc_.AddNetwork("net", 8000);
  GpuProcesses processes_{proc_.folders()};
  NodeSnapshot snapshot_;
};

TEST_F(GpuProcessesTest, BelongToThePodWithTheUidOfTheirCgroup) {
  for (const int64_t pid : {41, 42}) proc_.AddProcess(pid, 1, net_);
  proc_.AddProcess(51, 2, net_);
  AddPod("web-0", 1);
  AddPod("web-1", 2);
  AddGpu({0}, {41});
  AddGpu({0, 1}, {42, 51});
  const auto found = Find();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].processes, ElementsAre(41, 42));
  EXPECT_THAT(found[1].processes, ElementsAre(51));
}

TEST_F(GpuProcessesTest, UidIsFoundInTheFoldersOfLogs) {
  proc_.AddLogs("web-0", 1);
  proc_.AddProcess(41, 1, net_);
  AddPod("web-0");
  AddPod("web-1");
  AddGpu({0, 1}, {41});
  const auto found = Find();
  EXPECT_EQ(found[0].uid, TestProc::Uid(1));
  EXPECT_THAT(found[0].processes, ElementsAre(41));
  EXPECT_EQ(found[1].uid, "");
  EXPECT_FALSE(found[1].has_nameless);
}

TEST_F(GpuProcessesTest, OfAnUnknownPodAreNotTheOnlyHolders) {
  proc_.AddProcess(41, 1, net_);
  proc_.AddProcess(51, 2, net_);
  AddPod("web-0");
  AddPod("web-1");
  AddGpu({0}, {41});
  AddGpu({0, 1}, {});
  EXPECT_THAT(Find()[0].processes, IsEmpty());
  EXPECT_EQ(Find()[0].uid, "");
  EXPECT_TRUE(Find()[0].has_nameless);
  EXPECT_FALSE(Find()[1].has_nameless);
  snapshot_.gpus[1].processes->push_back({.pid = 51});
  EXPECT_TRUE(Find()[1].has_nameless);
}

TEST_F(GpuProcessesTest, OfOtherPodsOnItsGpuAreNotItsOwn) {
  proc_.AddLogs("web-0", 1);
  proc_.AddLogs("debug", 3);  // privileged, and holds nothing
  proc_.AddProcess(41, 1, net_);
  proc_.AddProcess(51, 2, net_);
  proc_.AddProcess(61, 3, net_);
  proc_.AddProcess(71, 0, net_);  // without a pod: the node's own
  AddPod("web-0");
  AddPod("web-1", 2);
  AddGpu({0}, {61, 41, 51, 71});
  const auto found = Find();
  EXPECT_EQ(found[0].uid, TestProc::Uid(1));
  EXPECT_THAT(found[0].processes, ElementsAre(41));
  EXPECT_FALSE(found[0].has_hidden || found[0].has_nameless);
}

TEST_F(GpuProcessesTest, AreHiddenWithoutHostPid) {
  AddPod("web-0", 1);
  AddPod("web-1", 2);
  AddGpu({0}, {41});
  AddGpu({1}, {});
  EXPECT_TRUE(Find()[0].has_hidden);
  EXPECT_FALSE(Find()[1].has_hidden);
}

TEST_F(GpuProcessesTest, FailedListIsNoChange) {
  proc_.AddProcess(41, 1, net_);
  AddPod("web-0", 1);
  AddGpu({0}, {41});
  Find();
  snapshot_.gpus[0].processes.reset();
  EXPECT_THAT(Find()[0].processes, ElementsAre(41));
  proc_.End(41);
  EXPECT_THAT(Find()[0].processes, IsEmpty());
}

TEST_F(GpuProcessesTest, UidIsKeptUntilThePodIsGone) {
  proc_.AddLogs("web-0", 1);
  proc_.AddProcess(41, 1, net_);
  AddPod("web-0");
  AddGpu({0}, {41});
  Find();
  snapshot_.gpus[0].processes->clear();
  EXPECT_EQ(Find()[0].uid, TestProc::Uid(1));
  snapshot_.pods.clear();
  snapshot_.gpus[0].holders.clear();
  Find();
  AddPod("web-0");
  EXPECT_EQ(Find()[0].uid, "");
}

TEST_F(GpuProcessesTest, UidIsThatOfTheNewPodOfThatName) {
  proc_.AddLogs("web-0", 1);
  proc_.AddProcess(41, 1, net_);
  AddPod("web-0");
  AddGpu({0}, {41});
  Find();
  proc_.End(41);
  proc_.AddLogs("web-0", 2);
  proc_.AddProcess(51, 2, net_);
  snapshot_.taken_at += absl::Seconds(10);
  snapshot_.gpus[0].processes->front().pid = 51;
  EXPECT_EQ(Find()[0].uid, TestProc::Uid(2));
}

}  // namespace
}  // namespace gpuscaler
