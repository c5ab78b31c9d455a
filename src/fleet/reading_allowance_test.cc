#include "fleet/reading_allowance.h"

#include <utility>

#include "fleet/test_readings.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

const absl::Time kAllowanceStart = absl::FromUnixSeconds(1'767'225'600);

// The shortest --poll-interval, and a node of 16 GPUs of 7 MIG instances, for as long as is kept.
TEST(ReadingAllowance, AgentThatReadsAsOftenAsItCanIsHeard) {
  ReadingAllowance allowance;
  NodeSnapshot snapshot = SnapshotOf(128, kAllowanceStart);
  AddPods(snapshot);
  const ReadingWeight weight = KeptOf(&snapshot, snapshot);
  for (absl::Duration at; at < absl::Minutes(15); at += absl::Milliseconds(50)) {
    ASSERT_TRUE(allowance.Take(kAllowanceStart + at, weight)) << at;
  }
  EXPECT_TRUE(allowance.Take(kAllowanceStart, weight)) << "told again";
}

TEST(ReadingAllowance, WhatIsToldAgainIsFreeAndThenTheNextIsChargedWhole) {
  ReadingAllowance allowance;
  constexpr size_t kHuge = size_t{1} << 40;
  EXPECT_TRUE(allowance.Take(kAllowanceStart, {.alone = 1, .behind = kHuge})) << "the first";
  EXPECT_TRUE(allowance.Take(kAllowanceStart, {.alone = kHuge, .behind = kHuge}));
  const absl::Time later = kAllowanceStart + absl::Seconds(1);
  EXPECT_TRUE(allowance.Take(later, {.alone = 1, .behind = kHuge}));
  EXPECT_TRUE(allowance.Take(later + absl::Seconds(1), {.alone = kHuge, .behind = 1}));
  EXPECT_FALSE(allowance.Take(later + absl::Seconds(2), {.alone = 1, .behind = kHuge}));
}

TEST(ReadingWeight, IsThatOfAllThatANodeMayHaveManyOf) {
  NodeSnapshot snapshot = SnapshotOf(1, kAllowanceStart);
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
  snapshot.gpus[0].still_memory = StillMemory({.past = std::vector<StillRun>(100)});
  EXPECT_GE(grown(), 100 * sizeof(StillRun));
}

TEST(ReadingWeight, HistoryKeepsAnewWhoIsThereOnlyWhereThatChanged) {
  NodeSnapshot before = SnapshotOf(2, kAllowanceStart);
  AddPods(before);
  NodeSnapshot snapshot = before;
  snapshot.gpus[0].utilization_percent = 1;
  snapshot.gpus[0].holders[0].share = 0.5;
  const size_t numbers = KeptOf(&before, snapshot).behind;
  EXPECT_LT(numbers, 1400u);
  EXPECT_GE(KeptOf(nullptr, snapshot).behind, numbers + WeightOf(snapshot));
  EXPECT_EQ(KeptOf(&before, snapshot).alone, KeptOf(nullptr, snapshot).alone);

  const auto anew = [&](auto change) {
    NodeSnapshot changed = snapshot;
    change(changed);
    return KeptOf(&before, changed).behind >= numbers + WeightOf(changed);
  };
  EXPECT_TRUE(anew([](NodeSnapshot& next) { next.attribution.why = "x"; }));
  EXPECT_TRUE(anew([](NodeSnapshot& next) { next.pods[0].ready = false; }));
  EXPECT_TRUE(anew([](NodeSnapshot& next) { next.gpus[1].holders[0].container = "x"; }));
  EXPECT_TRUE(anew([](NodeSnapshot& next) { next.gpus[1].uuid = "GPU-x"; }));

  snapshot.gpus[1].held_since = kAllowanceStart;
  EXPECT_GT(KeptOf(&before, snapshot).behind, numbers + sizeof(GpuSample)) << "a holder has left";
}

}  // namespace
}  // namespace gpuscaler
