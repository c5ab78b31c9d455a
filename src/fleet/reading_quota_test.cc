#include "fleet/reading_quota.h"

#include <utility>

#include "fleet/test_readings.h"
#include "gtest/gtest.h"
#include "model/node_history.h"
#include "page/test_footprint.h"

namespace gpuscaler {
namespace {

const absl::Time kQuotaStart = absl::FromUnixSeconds(1'767'225'600);

// The shortest --poll-interval and a node of 16 GPUs with 7 MIG instances each, for the whole
// horizon.
TEST(ReadingQuota, AllowsTheShortestPollInterval) {
  ReadingQuota quota;
  NodeSnapshot snapshot = SnapshotOf(128, kQuotaStart);
  AddPods(snapshot);
  const ReadingWeight weight = StoredWeightOf(&snapshot, snapshot);
  for (absl::Duration at; at < absl::Minutes(15); at += absl::Milliseconds(50)) {
    ASSERT_TRUE(quota.Take(kQuotaStart + at, weight)) << at;
  }
  EXPECT_TRUE(quota.Take(kQuotaStart, weight)) << "a repetition";
}

TEST(ReadingQuota, RepeatedReadingIsFreeAndTheNextOneIsChargedWhole) {
  ReadingQuota quota;
  constexpr size_t kHuge = size_t{1} << 40;
  EXPECT_TRUE(quota.Take(kQuotaStart, {.standalone = 1, .after_previous = kHuge})) << "the first";
  EXPECT_TRUE(quota.Take(kQuotaStart, {.standalone = kHuge, .after_previous = kHuge}));
  const absl::Time later = kQuotaStart + absl::Seconds(1);
  EXPECT_TRUE(quota.Take(later, {.standalone = 1, .after_previous = kHuge}));
  EXPECT_TRUE(quota.Take(later + absl::Seconds(1), {.standalone = kHuge, .after_previous = 1}));
  EXPECT_FALSE(quota.Take(later + absl::Seconds(2), {.standalone = 1, .after_previous = kHuge}));
}

TEST(ReadingWeight, CountsEverythingThatANodeMayHaveManyOf) {
  NodeSnapshot snapshot = SnapshotOf(1, kQuotaStart);
  AddPods(snapshot);
  size_t before = WeightOf(snapshot);
  const auto grown = [&] { return WeightOf(snapshot) - std::exchange(before, WeightOf(snapshot)); };
  snapshot.gpus.push_back(WorkingGpu(1));
  EXPECT_GE(grown(), sizeof(GpuSample));
  snapshot.pods.push_back({.name = std::string(100, 'p')});
  EXPECT_GE(grown(), sizeof(Pod) + 100);
  snapshot.pods[0].owners.push_back({.kind = "Job", .name = std::string(100, 'o')});
  EXPECT_GE(grown(), sizeof(PodOwner) + 100);
  snapshot.gpus[0].processes->resize(101);
  EXPECT_GE(grown(), 100 * sizeof(GpuProcess));
  snapshot.gpus[0].gaps.push_back({.field = GpuField::kPcie, .detail = std::string(100, 'g')});
  EXPECT_GE(grown(), sizeof(GpuGap) + 100);
  snapshot.gpus[0].holders.push_back({.container = std::string(40, 'c')});
  EXPECT_GE(grown(), sizeof(GpuHolder) + 40);
  snapshot.gpus[0].steady_memory = SteadyMemory{.past = std::vector<SteadyRun>(100)};
  EXPECT_GE(grown(), 100 * sizeof(SteadyRun));
}

// Changes every number, and a steady one besides: a temperature is present in every second reading
// only. None is whole, because whole numbers take a byte.
void MoveAll(NodeSnapshot& snapshot, int reading) {
  const double number = reading % 50 + 0.5;
  snapshot.taken_at += absl::Milliseconds(50);
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    gpu.utilization_percent = gpu.memory_utilization_percent = number;
    gpu.memory_used_bytes = int64_t{2 * reading + 1} << 19;
    gpu.temperature_celsius.reset();
    if (reading % 2 == 0) gpu.temperature_celsius = number;
    gpu.power_watts = 100 + number;
    gpu.pcie_tx_kbps = gpu.pcie_rx_kbps = number;
    gpu.nvlink_tx_mbps = gpu.nvlink_rx_mbps = number;
    gpu.sm_activity_percent = gpu.dram_activity_percent = number;
    gpu.tensor_activity_percent = number;
    for (GpuHolder& holder : gpu.holders) holder.share = 1.0 / (1 + reading);
  }
}

TEST(ReadingWeight, CoversAHistoryWithABlockPerReading) {
  if (AllocatedBytes() == 0) GTEST_SKIP() << "memory cannot be measured with a sanitizer";
  NodeSnapshot snapshot = SnapshotOf(144, kQuotaStart);
  AddPods(snapshot);
  for (GpuSample& gpu : snapshot.gpus.Own()) gpu.holders.push_back(gpu.holders.front());
  const NodeHistory::Limits limits{.horizon = absl::InfiniteDuration(),
                                   .join_within = absl::Seconds(1)};
  NodeHistory history;
  history.Append(snapshot, limits);
  const size_t before = AllocatedBytes();
  size_t weight = 0;
  for (int reading = 1; reading <= 200; ++reading) {
    const NodeSnapshot last = snapshot;
    MoveAll(snapshot, reading);
    weight += StoredWeightOf(&last, snapshot).after_previous;
    history.Append(snapshot, limits);
  }
  const size_t taken = AllocatedBytes() - before;
  EXPECT_LE(taken, weight);
  EXPECT_GT(taken, weight / 10 * 9);
}

TEST(ReadingWeight, LayoutIsChargedOnlyWhenItChanges) {
  NodeSnapshot before = SnapshotOf(2, kQuotaStart);
  AddPods(before);
  NodeSnapshot snapshot = before;
  snapshot.gpus[0].utilization_percent = 1;
  snapshot.gpus[0].holders[0].share = 0.5;
  const size_t numbers = StoredWeightOf(&before, snapshot).after_previous;
  EXPECT_LT(numbers, 1500u);
  EXPECT_GE(StoredWeightOf(nullptr, snapshot).after_previous, numbers + WeightOf(snapshot));
  EXPECT_EQ(StoredWeightOf(&before, snapshot).standalone,
            StoredWeightOf(nullptr, snapshot).standalone);

  const auto anew = [&](auto change) {
    NodeSnapshot changed = snapshot;
    change(changed);
    return StoredWeightOf(&before, changed).after_previous >= numbers + WeightOf(changed);
  };
  EXPECT_TRUE(anew([](NodeSnapshot& next) { next.attribution.why = "x"; }));
  EXPECT_TRUE(anew([](NodeSnapshot& next) { next.pods[0].ready = false; }));
  EXPECT_TRUE(anew([](NodeSnapshot& next) { next.gpus[1].holders[0].container = "x"; }));
  EXPECT_TRUE(anew([](NodeSnapshot& next) { next.gpus[1].uuid = "GPU-x"; }));

  snapshot.gpus[1].held_since = kQuotaStart;
  EXPECT_GT(StoredWeightOf(&before, snapshot).after_previous, numbers + sizeof(GpuSample))
      << "a holder has left";
}

}  // namespace
}  // namespace gpuscaler
