#include "base/worker_threads.h"

#include <atomic>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;

// Blocks threads until it is opened.
class Gate {
 public:
  void Open() {
    MutexLock lock(mutex_);
    is_open_ = true;
    changed_.NotifyAll();
  }
  void Pass() {
    MutexLock lock(mutex_);
    ++arrived_;
    changed_.NotifyAll();
    while (!is_open_) changed_.Wait(mutex_);
  }
  void WaitForArrivals(int count) {
    MutexLock lock(mutex_);
    while (arrived_ < count) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int arrived_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_open_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(WorkerThreads, OneThreadRunsTasksInOrderAndAllOfThemBeforeItStops) {
  std::vector<int> ran;
  WorkerThreads worker("test", 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(worker.Run([&ran, i] { ran.push_back(i); }, 10));
  worker.Stop();
  EXPECT_THAT(ran, ElementsAre(0, 1, 2));
}

TEST(WorkerThreads, LongTaskBlocksNoOtherThread) {
  Gate gate, done;
  WorkerThreads workers("test", 2);
  ASSERT_TRUE(workers.Run([&] { gate.Pass(); }, 10));
  gate.WaitForArrivals(1);
  ASSERT_TRUE(workers.Run([&] { done.Pass(); }, 10));
  done.WaitForArrivals(1);
  done.Open();
  gate.Open();
}

TEST(WorkerThreads, TaskBeyondTheLimitIsRefused) {
  Gate gate;
  std::atomic<int> ran = 0;
  WorkerThreads worker("test", 1);
  ASSERT_TRUE(worker.Run([&] { gate.Pass(); }, 2));
  gate.WaitForArrivals(1);
  EXPECT_TRUE(worker.Run([&] { ++ran; }, 2));
  EXPECT_TRUE(worker.Run([&] { ++ran; }, 2));
  EXPECT_FALSE(worker.Run([&] { ++ran; }, 2));
  gate.Open();
  worker.Stop();
  EXPECT_EQ(ran, 2);
}

TEST(WorkerThreads, TenantMayHoldHalfOfTheBytesThatOthersLeave) {
  constexpr size_t kHalf = WorkerThreads::kMaxBytes / 2;
  Gate gate;
  WorkerThreads worker("test", 1);
  ASSERT_TRUE(worker.Run([&] { gate.Pass(); }, 9, "large", kHalf));
  gate.WaitForArrivals(1);  // the task runs: its bytes count no longer
  EXPECT_FALSE(worker.Run([] {}, 9, "large", kHalf + 1));
  EXPECT_TRUE(worker.Run([] {}, 9, "large", kHalf));
  EXPECT_FALSE(worker.Run([] {}, 9, "large", 1));
  EXPECT_TRUE(worker.Run([] {}, 9, "other", kHalf / 2));
  EXPECT_FALSE(worker.Run([] {}, 9, "other", 1));
  gate.Open();
}

TEST(WorkerThreads, SchedulesTenantsRoundRobin) {
  Gate gate;
  std::vector<std::string> ran;
  WorkerThreads worker("test", 1);
  const auto run = [&](const std::string& tenant) {
    return worker.Run([&ran, tenant] { ran.push_back(tenant); }, 2, tenant);
  };
  ASSERT_TRUE(worker.Run([&] { gate.Pass(); }, 2));
  gate.WaitForArrivals(1);
  EXPECT_TRUE(run("a"));
  EXPECT_TRUE(run("a"));
  EXPECT_FALSE(run("a"));
  EXPECT_TRUE(run("b"));
  gate.Open();
  worker.Stop();
  EXPECT_THAT(ran, ElementsAre("a", "b", "a"));
}

TEST(WorkerThreads, NoTaskRunsAfterStop) {
  WorkerThreads worker("test", 1);
  worker.Stop();
  EXPECT_FALSE(worker.Run([] { FAIL(); }, 2));
}

}  // namespace
}  // namespace gpuscaler
