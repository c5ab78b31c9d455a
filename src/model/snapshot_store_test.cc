#include "model/snapshot_store.h"

#include <thread>

#include "base/fake_clock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kStaleAfter = absl::Seconds(10);
constexpr absl::Duration kHorizon = absl::Minutes(1);

class SnapshotStoreTest : public testing::Test {
 protected:
  void PutNow() { store_.Put({.taken_at = clock_.Now(), .node = "gpu-7"}); }

  FakeClock clock_;
  SnapshotStore store_{clock_, kStaleAfter, kHorizon};
};

TEST_F(SnapshotStoreTest, UnavailableBeforeTheFirstSnapshotWithTheReason) {
  EXPECT_EQ(store_.Fresh().status().code(), absl::StatusCode::kUnavailable);
  store_.PutError(absl::UnavailableError("libnvidia-ml.so.1 not found"));
  EXPECT_EQ(store_.Fresh().status().message(), "no GPU snapshot yet: libnvidia-ml.so.1 not found");
}

TEST_F(SnapshotStoreTest, StaleSnapshotIsUnavailableNotZero) {
  PutNow();
  clock_.Advance(kStaleAfter);
  EXPECT_TRUE(store_.Fresh().ok()) << store_.Fresh().status();
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_EQ(store_.Fresh().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store_.Fresh().status().message(), "GPU snapshot is 10s old, --stale-after=10s");
}

TEST_F(SnapshotStoreTest, ErrorDoesNotHideASnapshotThatIsStillFresh) {
  PutNow();
  store_.PutError(absl::UnavailableError("driver reload"));
  EXPECT_TRUE(store_.Fresh().ok());
}

TEST_F(SnapshotStoreTest, KeepsReadingsOfTheHorizon) {
  for (int second = 0; second <= 90; second += 10) {
    GpuSample gpu;
    gpu.utilization_percent = second;
    store_.Put({.taken_at = clock_.Now(), .node = "gpu-7", .gpus = {gpu}});
    clock_.Advance(absl::Seconds(10));
  }
  const auto history = store_.Newest();
  EXPECT_EQ(history->generation, 10);
  EXPECT_EQ(history->runs.size(), 7);
  EXPECT_EQ(history->NewestAt() - history->runs.front().first, kHorizon);
}

TEST_F(SnapshotStoreTest, EqualReadingsAreOneRunAndStayFresh) {
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(kStaleAfter);
    PutNow();
  }
  EXPECT_EQ(store_.Newest()->generation, 100);
  EXPECT_LE(store_.Newest()->runs.size(), 2);
  EXPECT_TRUE(store_.Fresh().ok());
}

TEST_F(SnapshotStoreTest, HistoryOfAReaderIsImmutable) {
  PutNow();
  const auto mine = store_.Newest();
  clock_.Advance(absl::Minutes(10));
  PutNow();
  EXPECT_EQ(mine->generation, 1);
  EXPECT_EQ(mine->runs.size(), 1);
}

TEST_F(SnapshotStoreTest, WaiterGetsTheNextSnapshot) {
  PutNow();
  std::thread writer([&] { PutNow(); });
  EXPECT_EQ(store_.WaitForNewer(1, absl::Minutes(1))->generation, 2);
  writer.join();
}

TEST_F(SnapshotStoreTest, WaitReturnsAtItsTimeout) {
  EXPECT_EQ(store_.WaitForNewer(0, absl::Milliseconds(1)), nullptr);
}

TEST_F(SnapshotStoreTest, CloseEndsWaits) {
  std::thread closer([&] { store_.Close(); });
  EXPECT_EQ(store_.WaitForNewer(0, absl::InfiniteDuration()), nullptr);
  closer.join();
}

TEST_F(SnapshotStoreTest, ManyReadersSeeReadingsInOrderWhileOneWrites) {
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      int64_t seen = 0;
      while (seen < 200) {
        const auto history = store_.WaitForNewer(seen, absl::Minutes(1));
        ASSERT_GT(history->generation, seen);
        seen = history->generation;
        const double newest = *history->Newest().gpus[0].utilization_percent;
        const NodeRun& run = history->runs.back();
        ASSERT_EQ(run.point(0).Value(GpuReading::kUtilization), newest);
        for (const NodeRun& each : history->runs) {
          ASSERT_LE(each.point(0).Value(GpuReading::kUtilization), newest);
        }
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    clock_.Advance(absl::Seconds(1));
    GpuSample gpu;
    gpu.utilization_percent = 0.25 * i;
    store_.Put({.taken_at = clock_.Now(), .node = "gpu-7", .gpus = {gpu}});
  }
  for (auto& reader : readers) reader.join();
}

}  // namespace
}  // namespace gpuscaler
