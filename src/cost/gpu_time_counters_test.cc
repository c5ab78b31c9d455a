#include "cost/gpu_time_counters.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

const absl::Time kCountersBegin = absl::FromUnixSeconds(1'767'225'600);

NodeSnapshot HeldByWorkload(const std::string& workload, absl::Duration later) {
  NodeSnapshot snapshot{.taken_at = kCountersBegin + later, .node = "gpu-7"};
  snapshot.attribution.state = Attribution::State::kKnown;
  snapshot.pods = {{.namespace_name = "shop", .name = workload, .owners = {}, .ready = true}};
  snapshot.gpus = {
      {.uuid = "GPU-a", .name = "NVIDIA H200", .utilization_percent = 40, .holders = {{.pod = 0}}}};
  return snapshot;
}

UsageKey KeyOfWorkload(const std::string& namespace_name, const std::string& workload) {
  return {.namespace_name = namespace_name,
          .workload = workload,
          .gpu_model = "NVIDIA H200",
          .node = "gpu-7"};
}

TEST(GpuTimeCounters, AWorkloadThatLeftIsKeptForADay) {
  GpuTimeCounters counters({.stale_after = absl::Hours(48)});
  counters.Add(HeldByWorkload("chat", absl::ZeroDuration()));
  counters.Add(HeldByWorkload("chat", absl::Seconds(2)));
  counters.Add(HeldByWorkload("batch", absl::Hours(24)));
  EXPECT_TRUE(counters.counters().contains(KeyOfWorkload("shop", "chat")));
  counters.Add(HeldByWorkload("batch", absl::Hours(24) + absl::Seconds(3)));
  EXPECT_FALSE(counters.counters().contains(KeyOfWorkload("shop", "chat")));
  EXPECT_TRUE(counters.counters().contains(KeyOfWorkload("shop", "batch")));
}

TEST(GpuTimeCounters, TooManyWorkloadsShareOneCounter) {
  GpuTimeCounters counters({.stale_after = absl::Seconds(5)});
  const int workloads = static_cast<int>(GpuTimeCounters::kMaxWorkloads) + 10;
  for (int i = 0; i <= workloads; ++i) {
    counters.Add(HeldByWorkload(absl::StrCat("w", i), absl::Seconds(i)));
  }
  EXPECT_EQ(counters.counters().size(), GpuTimeCounters::kMaxWorkloads + 1);
  const auto other = counters.counters().find(KeyOfWorkload("", std::string(kOtherWorkloads)));
  ASSERT_NE(other, counters.counters().end());
  EXPECT_EQ(other->second.times[GpuState::kBusy], 10'000'000);
  int64_t total = 0;
  for (const auto& [key, counter] : counters.counters()) total += counter.times.Total();
  EXPECT_EQ(total, int64_t{workloads} * 1'000'000);
}

// 16 new workloads an hour are 384 a day.
TEST(GpuTimeCounters, AMonthOfNewWorkloadsHasABoundedNumberOfCounters) {
  constexpr int kHours = 30 * 24;
  GpuTimeCounters counters({.stale_after = absl::Hours(2)});
  size_t most = 0;
  for (int hour = 0; hour <= kHours; ++hour) {
    NodeSnapshot snapshot = HeldByWorkload("", absl::Hours(hour));
    snapshot.pods.clear();
    const GpuSample gpu = snapshot.gpus[0];
    snapshot.gpus = std::vector<GpuSample>(16, gpu);
    for (int i = 0; i < 16; ++i) {
      snapshot.pods.push_back({.namespace_name = "shop",
                               .name = absl::StrCat("job-", hour, "-", i),
                               .owners = {},
                               .ready = true});
      snapshot.gpus[static_cast<size_t>(i)].uuid = absl::StrCat("GPU-", i);
      snapshot.gpus[static_cast<size_t>(i)].holders[0].pod = i;
    }
    counters.Add(snapshot);
    most = std::max(most, counters.counters().size());
  }
  EXPECT_EQ(most, GpuTimeCounters::kMaxWorkloads + 1) << "and those beyond together";
  for (int hour = kHours + 1; hour <= kHours + 50; ++hour) {
    counters.Add(HeldByWorkload("chat", absl::Hours(hour)));
  }
  EXPECT_EQ(counters.counters().size(), 1u) << "all others are gone after a day";
  EXPECT_TRUE(counters.counters().contains(KeyOfWorkload("shop", "chat")));
}

}  // namespace
}  // namespace gpuscaler
