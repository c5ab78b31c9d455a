#include "workload/sampler.h"

#include <algorithm>
#include <vector>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Returns what a test sets, and records the last requested readings.
class FakeSource : public GpuSource {
 public:
  explicit FakeSource(const Clock& clock) : clock_(clock) {}

  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override {
    requested_ = wanted;
    if (!error_.ok()) return error_;
    return NodeSnapshot{.taken_at = taken_at_.value_or(clock_.Now()), .gpus = gpus_};
  }

  const Clock& clock_;
  absl::Status error_;
  std::vector<GpuSample> gpus_;
  std::optional<absl::Time> taken_at_;  // empty: now
  CostlyReadings requested_;
};

bool IsUsedIfBusy(const NodeSnapshot& snapshot) {
  return std::ranges::all_of(snapshot.gpus, [](const GpuSample& gpu) {
    return gpu.in_use || gpu.utilization_percent.value_or(0) == 0;
  });
}

class SamplerTest : public testing::Test {
 protected:
  FakeClock clock_;
  FakeSource source_{clock_};
  Leases leases_;
  SnapshotStore store_{clock_, absl::Seconds(5), absl::Minutes(15)};
  std::vector<absl::StatusCode> collected_;
  int annotated_ = 0;
  int process_changes_ = 0;
  const Sampler::Callbacks callbacks_ = {
      .collected = [this](const absl::Status& status,
                          absl::Duration) { collected_.push_back(status.code()); },
      .annotated =
          [this](const NodeSnapshot& snapshot) {
            ++annotated_;
            EXPECT_TRUE(IsUsedIfBusy(snapshot));
            const auto stored = store_.Newest();
            EXPECT_TRUE(stored == nullptr || stored->NewestAt() < snapshot.taken_at) << "too early";
          },
      .processes_changed = [this] { ++process_changes_; }};
  Sampler sampler_{clock_, source_, leases_, store_, nullptr, callbacks_};
};

TEST_F(SamplerTest, StoresReadingsWithHolders) {
  source_.gpus_ = {{.uuid = "GPU-a", .utilization_percent = 90}};
  EXPECT_TRUE(sampler_.Tick().ok());
  const auto history = store_.Fresh();
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ((*history)->Newest().gpus.size(), 1u);
  EXPECT_TRUE((*history)->Newest().gpus[0].in_use);
  EXPECT_EQ(annotated_, 1);
}

TEST_F(SamplerTest, WithoutAttributionNoGpuIsKnownToBeFree) {
  source_.gpus_ = {{.uuid = "GPU-a", .utilization_percent = 0}};
  ASSERT_TRUE(sampler_.Tick().ok());
  EXPECT_EQ(store_.Newest()->Newest().gpus[0].is_free, std::nullopt);
}

TEST_F(SamplerTest, FailedReadingKeepsTheLastSnapshotUntilItIsStale) {
  source_.gpus_ = {{.uuid = "GPU-a", .utilization_percent = 90}};
  ASSERT_TRUE(sampler_.Tick().ok());
  source_.error_ = absl::UnavailableError("NVML error 15 (GPU_IS_LOST)");
  clock_.Advance(absl::Seconds(5));
  EXPECT_EQ(sampler_.Tick().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(store_.Fresh().ok());
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(sampler_.Tick().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store_.Fresh().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(store_.Fresh().status().message()), HasSubstr("GPU_IS_LOST"));
}

TEST_F(SamplerTest, RepeatedReadingBecomesStale) {
  source_.gpus_ = {{.uuid = "GPU-a", .utilization_percent = 90}};
  source_.taken_at_ = clock_.Now();
  ASSERT_TRUE(sampler_.Tick().ok());
  clock_.Advance(absl::Seconds(5));
  ASSERT_TRUE(sampler_.Tick().ok());
  EXPECT_EQ(store_.Newest()->generation, 1);
  EXPECT_TRUE(store_.Fresh().ok());
  clock_.Advance(absl::Seconds(1));
  ASSERT_TRUE(sampler_.Tick().ok());
  EXPECT_THAT(std::string(store_.Fresh().status().message()),
              HasSubstr("its source shows nothing newer"));
}

TEST_F(SamplerTest, LogsAnUnreadableGpuOnceAndItsReturn) {
  const auto log = [&](std::vector<GpuGap> gaps, std::string parent = "") {
    source_.gpus_ = {{.uuid = "GPU-a", .parent_uuid = std::move(parent), .index = 3}};
    source_.gpus_[0].gaps = std::move(gaps);
    testing::internal::CaptureStderr();
    EXPECT_TRUE(sampler_.Tick().ok());
    return testing::internal::GetCapturedStderr();
  };
  const GpuGap lost = {GpuField::kMemory, GpuGap::Reason::kFailed, "NVML error 15 (GPU_IS_LOST)"};
  EXPECT_THAT(log({}), Not(HasSubstr("readable")));
  EXPECT_THAT(log({lost}), HasSubstr("level=warn event=gpu_unreadable uuid=GPU-a index=3 "
                                     "why=\"NVML error 15 (GPU_IS_LOST)\""));
  EXPECT_EQ(log({lost}), "");
  EXPECT_THAT(log({}), HasSubstr("level=info event=gpu_readable uuid=GPU-a index=3"));
  EXPECT_EQ(log({{GpuField::kPower, GpuGap::Reason::kFailed, ""}}), "") << "scales nothing";
  const GpuGap no_rate = {GpuField::kUtilization, GpuGap::Reason::kFailed, "one reading so far"};
  EXPECT_EQ(log({no_rate}, "GPU-b"), "") << "a MIG instance, of which it is a rate";
  EXPECT_THAT(log({no_rate}), HasSubstr("event=gpu_unreadable"));
}

TEST_F(SamplerTest, ReportsGoodAndFailedReadings) {
  ASSERT_TRUE(sampler_.Tick().ok());
  source_.error_ = absl::UnavailableError("no driver");
  ASSERT_FALSE(sampler_.Tick().ok());
  EXPECT_THAT(collected_, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kUnavailable));
}

TEST_F(SamplerTest, QueriesTheKubeletWhenProcessesOnTheGpusChange) {
  KubeletAttribution attribution(clock_, {.pod_resources = "/nonexistent", .pods_api = {}});
  Sampler sampler(clock_, source_, leases_, store_, &attribution, callbacks_);
  source_.gpus_ = {{.uuid = "GPU-a", .processes = std::vector<GpuProcess>{{.pid = 1}}}};
  ASSERT_TRUE(sampler.Tick().ok());
  EXPECT_EQ(process_changes_, 0);
  clock_.Advance(absl::Seconds(2));
  source_.gpus_[0].processes = {{{.pid = 2}}};
  ASSERT_TRUE(sampler.Tick().ok());
  EXPECT_EQ(process_changes_, 1);
  EXPECT_EQ(store_.Newest()->Newest().attribution.state, Attribution::State::kUnknown);
}

TEST_F(SamplerTest, TakesCostlyReadingsOnlyUnderALease) {
  ASSERT_TRUE(sampler_.Tick().ok());
  EXPECT_FALSE(source_.requested_.pcie);
  leases_.Renew({.pcie = true}, clock_.Now() + absl::Seconds(90));
  ASSERT_TRUE(sampler_.Tick().ok());
  EXPECT_TRUE(source_.requested_.pcie);
  EXPECT_FALSE(source_.requested_.activity) << "each has its own lease";
  clock_.Advance(absl::Seconds(91));
  ASSERT_TRUE(sampler_.Tick().ok());
  EXPECT_FALSE(source_.requested_.pcie);
}

}  // namespace
}  // namespace gpuscaler
