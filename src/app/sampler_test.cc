#include "app/sampler.h"

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

// Gives what it is told to, and remembers what was wanted.
class FakeSource : public GpuSource {
 public:
  explicit FakeSource(const Clock& clock) : clock_(clock) {}

  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override {
    wanted_ = wanted;
    if (!error_.ok()) return error_;
    return NodeSnapshot{.taken_at = clock_.Now(), .gpus = gpus_};
  }

  const Clock& clock_;
  absl::Status error_;
  std::vector<GpuSample> gpus_;
  CostlyReadings wanted_;
};

class SamplerTest : public testing::Test {
 protected:
  FakeClock clock_;
  FakeSource source_{clock_};
  Leases leases_;
  SnapshotStore store_{clock_, absl::Seconds(5), absl::Minutes(15)};
  Metrics metrics_;
  Sampler sampler_{clock_, source_, leases_, store_, metrics_};
};

TEST_F(SamplerTest, StoresWhatItReadWithItsHolders) {
  source_.gpus_ = {{.uuid = "GPU-a", .utilization_percent = 90}};
  EXPECT_TRUE(sampler_.Tick().ok());
  const auto history = store_.Fresh();
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ((*history)->Newest().gpus.size(), 1u);
  EXPECT_TRUE((*history)->Newest().gpus[0].in_use);
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

TEST_F(SamplerTest, CountsGoodAndFailedReadings) {
  ASSERT_TRUE(sampler_.Tick().ok());
  source_.error_ = absl::UnavailableError("no driver");
  ASSERT_FALSE(sampler_.Tick().ok());
  const std::string page = metrics_.Page(nullptr, clock_.Now());
  EXPECT_THAT(page, HasSubstr("keda_gpu_scaler_collections_total 2"));
  EXPECT_THAT(page, HasSubstr("keda_gpu_scaler_collection_errors_total 1"));
}

TEST_F(SamplerTest, TakesCostlyReadingsOnlyUnderALease) {
  ASSERT_TRUE(sampler_.Tick().ok());
  EXPECT_FALSE(source_.wanted_.pcie);
  leases_.Renew({.pcie = true}, clock_.Now() + absl::Seconds(90));
  ASSERT_TRUE(sampler_.Tick().ok());
  EXPECT_TRUE(source_.wanted_.pcie);
  clock_.Advance(absl::Seconds(91));
  ASSERT_TRUE(sampler_.Tick().ok());
  EXPECT_FALSE(source_.wanted_.pcie);
}

}  // namespace
}  // namespace gpuscaler
