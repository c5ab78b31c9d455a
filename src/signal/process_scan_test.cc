#include "signal/process_scan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_proc.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const absl::Time kStart = absl::FromUnixSeconds(1000);

class ProcessScanTest : public testing::Test {
 protected:
  std::map<std::string, std::vector<int64_t>> Find(int pod, absl::Time now = kStart) {
    return scan_.Find({TestProc::Uid(pod)}, now);
  }

  TestProc proc_;
  const std::string net_ = proc_.AddNetwork("net", 8000);
  ProcessScan scan_{proc_.folders().proc};
};

TEST_F(ProcessScanTest, FindsAPodsProcessesOnTheGpuOrNot) {
  proc_.AddProcess(1, 0, net_);
  for (const int64_t pid : {41, 42}) proc_.AddProcess(pid, 1, net_);
  proc_.AddProcess(51, 2, net_);
  EXPECT_THAT(Find(1), ElementsAre(Pair(TestProc::Uid(1), ElementsAre(41, 42))));
  EXPECT_THAT(Find(3), IsEmpty());
}

TEST_F(ProcessScanTest, FindsNewAndDropsEndedProcesses) {
  proc_.AddProcess(41, 1, net_);
  Find(1);
  proc_.End(41);
  proc_.AddProcess(42, 1, net_);
  EXPECT_THAT(Find(1), ElementsAre(Pair(TestProc::Uid(1), ElementsAre(42))));
}

TEST_F(ProcessScanTest, AReusedPidIsNotTheOldPods) {
  proc_.AddProcess(41, 1, net_);
  Find(1);
  proc_.End(41);
  proc_.AddProcess(41, 2, net_);
  EXPECT_THAT(Find(1), IsEmpty());
  EXPECT_THAT(Find(2), ElementsAre(Pair(TestProc::Uid(2), ElementsAre(41))));
}

TEST_F(ProcessScanTest, APidReusedByAPodIsFoundByTheNextFullScan) {
  proc_.AddProcess(41, 0, net_);
  Find(1);
  proc_.End(41);
  proc_.AddProcess(41, 1, net_);
  EXPECT_THAT(Find(1, kStart + absl::Minutes(5)),
              ElementsAre(Pair(TestProc::Uid(1), ElementsAre(41))));
}

TEST_F(ProcessScanTest, NoProcessesWithoutProc) {
  ProcessScan none("/nonexistent");
  EXPECT_THAT(none.Find({TestProc::Uid(1)}, kStart), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
