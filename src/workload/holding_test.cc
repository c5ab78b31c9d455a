#include "workload/holding.h"

#include "base/fake_clock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

GpuSample Gpu(std::vector<GpuProcess> processes) {
  GpuSample gpu;
  gpu.uuid = "GPU-0";
  gpu.utilization_percent = 0;
  gpu.memory_used_bytes = 0;
  gpu.memory_total_bytes = 80 * kGiB;
  gpu.processes = std::move(processes);
  return gpu;
}

GpuSample UnreadableGpu() {
  GpuSample gpu;
  gpu.uuid = "GPU-0";
  return gpu;
}

TEST(InUse, IsAProcessOrUtilisationOrMoreThanThreePercentOfMemory) {
  EXPECT_EQ(InUse(Gpu({})), false);
  EXPECT_EQ(InUse(Gpu({{.pid = 1}})), true);
  GpuSample busy = Gpu({});
  busy.utilization_percent = 0.5;
  EXPECT_EQ(InUse(busy), true);
  GpuSample full = Gpu({});
  full.memory_used_bytes = 3 * 80 * kGiB / 100;
  EXPECT_EQ(InUse(full), false);
  full.memory_used_bytes = 4 * kGiB;
  EXPECT_EQ(InUse(full), true);
  EXPECT_EQ(InUse(UnreadableGpu()), std::nullopt);
}

class HoldingTrackerTest : public testing::Test {
 protected:
  GpuSample Next(GpuSample gpu) {
    clock_.Advance(absl::Seconds(1));
    NodeSnapshot snapshot;
    snapshot.taken_at = clock_.Now();
    snapshot.gpus = {std::move(gpu)};
    for (const std::string& pod : pods_) {
      snapshot.gpus[0].holders.push_back({.pod = static_cast<int>(snapshot.pods.size())});
      snapshot.pods.push_back({.namespace_name = "shop", .name = pod});
    }
    tracker_.Annotate(snapshot);
    return snapshot.gpus[0];
  }

  FakeClock clock_;
  HoldingTracker tracker_;
  std::vector<std::string> pods_;  // that hold it
};

TEST_F(HoldingTrackerTest, HolderAtTheStartHasHeldForever) {
  EXPECT_EQ(Next(Gpu({{.pid = 1}})).held_since, absl::InfinitePast());
}

TEST_F(HoldingTrackerTest, LaterHolderHoldsSinceItsStart) {
  Next(Gpu({}));
  const absl::Time since = Next(Gpu({{.pid = 1}})).held_since;
  EXPECT_EQ(since, clock_.Now());
  EXPECT_EQ(Next(Gpu({{.pid = 1}, {.pid = 2}})).held_since, since);
  EXPECT_EQ(Next(Gpu({{.pid = 2}})).held_since, since);
}

TEST_F(HoldingTrackerTest, OnlyNewProcessesAreANewHolder) {
  Next(Gpu({{.pid = 1}}));
  const absl::Time since = Next(Gpu({{.pid = 7}})).held_since;
  EXPECT_EQ(since, clock_.Now());
}

// In a pid namespace of our own the driver may list no process at all.
TEST_F(HoldingTrackerTest, AnotherPodIsANewHolder) {
  GpuSample full = Gpu({});
  full.memory_used_bytes = 70 * kGiB;
  pods_ = {"web-0"};
  EXPECT_EQ(Next(full).held_since, absl::InfinitePast());
  pods_ = {"web-0", "web-1"};  // beside it, on a shared GPU
  EXPECT_EQ(Next(full).held_since, absl::InfinitePast());
  pods_ = {};  // not known for a while
  EXPECT_EQ(Next(full).held_since, absl::InfinitePast());
  pods_ = {"web-1"};
  EXPECT_EQ(Next(full).held_since, absl::InfinitePast());
  pods_ = {"web-2"};
  const absl::Time since = Next(full).held_since;
  EXPECT_EQ(since, clock_.Now());
}

// A pod has its GPU before its engine starts, which is when the warm-up begins.
TEST_F(HoldingTrackerTest, PodHoldsFromItsFirstUseOfTheGpu) {
  Next(Gpu({}));
  pods_ = {"web-0"};
  EXPECT_FALSE(Next(Gpu({})).in_use);
  const absl::Time since = Next(Gpu({{.pid = 1}})).held_since;
  EXPECT_EQ(since, clock_.Now());
}

TEST_F(HoldingTrackerTest, GapKeepsTheLastState) {
  Next(Gpu({{.pid = 1}}));
  EXPECT_TRUE(Next(UnreadableGpu()).in_use);
  EXPECT_EQ(Next(Gpu({{.pid = 1}})).held_since, absl::InfinitePast());
}

TEST_F(HoldingTrackerTest, HolderAfterAGapAtTheStartIsNotNew) {
  Next(UnreadableGpu());
  EXPECT_EQ(Next(Gpu({{.pid = 1}})).held_since, absl::InfinitePast());
}

GpuSample WithFailedProcessList(GpuSample gpu) {
  gpu.processes.reset();
  gpu.gaps.push_back({GpuField::kProcesses, GpuGap::Reason::kFailed, "NVML error 999 (UNKNOWN)"});
  return gpu;
}

TEST_F(HoldingTrackerTest, FailedProcessListDoesNotFreeTheGpuOfASmallIdleModel) {
  Next(Gpu({{.pid = 1}}));
  const GpuSample gap = Next(WithFailedProcessList(Gpu({})));
  EXPECT_TRUE(gap.in_use);
  EXPECT_EQ(Next(Gpu({{.pid = 1}})).held_since, absl::InfinitePast());
}

TEST_F(HoldingTrackerTest, ProcessListThatNeverWorkedHoldsNothing) {
  GpuSample busy = WithFailedProcessList(Gpu({}));
  busy.utilization_percent = 50;
  Next(busy);
  EXPECT_FALSE(Next(WithFailedProcessList(Gpu({}))).in_use);
}

TEST_F(HoldingTrackerTest, DeviceWithALateUuidIsNotNew) {
  GpuSample unknown = UnreadableGpu();
  unknown.uuid = "GPU-unknown-0";
  Next(unknown);
  EXPECT_EQ(Next(Gpu({{.pid = 1}})).held_since, absl::InfinitePast());
}

TEST_F(HoldingTrackerTest, DeviceThatAppearsIsNew) {
  GpuSample other = Gpu({});
  other.uuid = "GPU-other";
  Next(other);
  const absl::Time since = Next(Gpu({{.pid = 1}})).held_since;
  EXPECT_EQ(since, clock_.Now());
}

TEST_F(HoldingTrackerTest, GpuThatReadingsMissForMinutesIsHeldAsBefore) {
  Next(Gpu({}));
  const absl::Time since = Next(Gpu({{.pid = 1}})).held_since;
  GpuSample other = Gpu({});
  other.uuid = "GPU-1";
  for (int minute = 0; minute < 5; ++minute) {
    Next(other);
    clock_.Advance(absl::Minutes(1));
  }
  EXPECT_EQ(Next(Gpu({{.pid = 1}})).held_since, since) << "no start: it never stopped";
  Next(other);
  const GpuSample of_another = Next(Gpu({{.pid = 2}}));
  EXPECT_EQ(of_another.held_since, clock_.Now());
  Next(other);
  clock_.Advance(absl::Minutes(10));
  Next(other);
  const GpuSample too_late = Next(Gpu({{.pid = 2}}));
  EXPECT_EQ(too_late.held_since, clock_.Now()) << "too long to be the same";
}

TEST_F(HoldingTrackerTest, SteadyMemoryBelongsToTheHolder) {
  GpuSample full = Gpu({{.pid = 1}});
  full.memory_used_bytes = 70 * kGiB;
  for (int i = 0; i < 200; ++i) Next(full);
  EXPECT_TRUE(Next(full).steady_memory.WasSteadyFor(absl::Seconds(120), absl::InfinitePast()));
  full.processes = {{{.pid = 2}}};
  EXPECT_FALSE(Next(full).steady_memory.WasSteadyFor(absl::Seconds(120), absl::InfinitePast()));
}

TEST_F(HoldingTrackerTest, GpuNeverSeenInUseIsNotInUseWhileItCannotBeRead) {
  EXPECT_FALSE(Next(UnreadableGpu()).in_use);
}

}  // namespace
}  // namespace gpuscaler
