#include "gpu/auto_source.h"

#include "gmock/gmock.h"
#include "gpu/test_amd_sysfs.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns the same reading until the test changes it.
class FakeVendor : public GpuSource {
 public:
  explicit FakeVendor(absl::StatusOr<NodeSnapshot>& reading) : reading_(reading) {}
  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings&) override { return reading_; }

 private:
  absl::StatusOr<NodeSnapshot>& reading_;
};

NodeSnapshot SnapshotOf(const std::string& source, const std::vector<std::string>& uuids) {
  NodeSnapshot snapshot = {.taken_at = absl::FromUnixSeconds(100), .node = "gpu-7"};
  snapshot.source = source;
  snapshot.driver_version = source == "nvml" ? "550.54.15" : "6.12.12";
  for (size_t i = 0; i < uuids.size(); ++i) {
    snapshot.gpus.push_back(
        {.uuid = uuids[i], .index = static_cast<int>(i), .utilization_percent = 50});
  }
  return snapshot;
}

class AutoSourceTest : public testing::Test {
 protected:
  absl::StatusOr<NodeSnapshot> Read() { return source_.Read({}); }
  static std::vector<std::string> UuidsOf(const NodeSnapshot& snapshot) {
    std::vector<std::string> uuids;
    for (const GpuSample& gpu : snapshot.gpus) uuids.push_back(gpu.uuid);
    return uuids;
  }

  TestAmdSysfs sysfs_;
  absl::StatusOr<NodeSnapshot> nvidia_ = absl::UnavailableError("no libnvidia-ml.so.1");
  absl::StatusOr<NodeSnapshot> amd_ = absl::UnavailableError("no AMD GPU");
  AutoSource source_{std::make_unique<FakeVendor>(nvidia_), std::make_unique<FakeVendor>(amd_),
                     sysfs_.root()};
};

TEST_F(AutoSourceTest, NodeWithoutAmdIsNvidias) {
  EXPECT_EQ(Read().status().message(), "no libnvidia-ml.so.1");
  nvidia_ = SnapshotOf("nvml", {"GPU-a"});
  const auto snapshot = Read();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->source, "nvml");
  EXPECT_THAT(UuidsOf(*snapshot), ElementsAre("GPU-a"));
}

TEST_F(AutoSourceTest, NodeWithoutNvidiaIsAmds) {
  sysfs_.AddMi210("0000:63:00.0", {});
  amd_ = SnapshotOf("amd", {"1901e6b24a7a4ae6"});
  const auto snapshot = Read();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->source, "amd");
  EXPECT_THAT(UuidsOf(*snapshot), ElementsAre("1901e6b24a7a4ae6"));
  EXPECT_EQ(snapshot->gpus[0].index, 0);
}

TEST_F(AutoSourceTest, BothVendorsHaveDistinctIndices) {
  sysfs_.AddMi210("0000:63:00.0", {});
  nvidia_ = SnapshotOf("nvml", {"GPU-a", "GPU-b"});
  amd_ = SnapshotOf("amd", {"amd-a", "amd-b"});
  amd_->taken_at = absl::FromUnixSeconds(101);
  const auto snapshot = Read();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_THAT(UuidsOf(*snapshot), ElementsAre("GPU-a", "GPU-b", "amd-a", "amd-b"));
  EXPECT_EQ(snapshot->gpus[3].index, 3);
  EXPECT_EQ(snapshot->taken_at, absl::FromUnixSeconds(101));
  EXPECT_EQ(snapshot->source, "nvml+amd");
  EXPECT_EQ(snapshot->driver_version, "550.54.15, amdgpu 6.12.12");
}

TEST_F(AutoSourceTest, FailingVendorIsUnreadableBesideTheOther) {
  sysfs_.AddMi210("0000:63:00.0", {});
  nvidia_ = SnapshotOf("nvml", {"GPU-a"});
  amd_ = SnapshotOf("amd", {"amd-a"});
  ASSERT_TRUE(Read().ok());
  nvidia_ = absl::UnavailableError("NVML error 999 (UNKNOWN)");
  for (int reading = 0; reading < 3; ++reading) {
    const auto snapshot = Read();
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_THAT(UuidsOf(*snapshot), ElementsAre("GPU-a", "amd-a"));
    EXPECT_EQ(snapshot->gpus[0].utilization_percent, std::nullopt);
    const GpuGap* const gap = FindGap(snapshot->gpus[0], GpuField::kUtilization);
    ASSERT_NE(gap, nullptr);
    EXPECT_EQ(gap->detail, "NVML error 999 (UNKNOWN)");
    EXPECT_EQ(snapshot->gpus[1].utilization_percent, 50);
    EXPECT_EQ(snapshot->gpus[1].index, 1) << "as before";
  }
  amd_ = absl::UnavailableError("no AMD GPU");
  EXPECT_EQ(Read().status().message(), "NVML error 999 (UNKNOWN)");
}

TEST_F(AutoSourceTest, AmdGpusThatVanishAreUnreadable) {
  sysfs_.AddMi210("0000:63:00.0", {});
  nvidia_ = SnapshotOf("nvml", {"GPU-a"});
  amd_ = SnapshotOf("amd", {"amd-a"});
  ASSERT_TRUE(Read().ok());
  sysfs_.Unplug("0000:63:00.0");
  amd_ = absl::UnavailableError("no AMD GPU");
  const auto snapshot = Read();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_THAT(UuidsOf(*snapshot), ElementsAre("GPU-a", "amd-a"));
  EXPECT_EQ(snapshot->gpus[1].utilization_percent, std::nullopt);
}

TEST_F(AutoSourceTest, LoadedDriverThatCannotBeReadIsAnError) {
  sysfs_.AddMi210("0000:63:00.0", {});
  sysfs_.LoadNvidiaDriver();
  amd_ = SnapshotOf("amd", {"amd-a"});
  const absl::Status status = Read().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no libnvidia-ml.so.1"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--gpu-source amd reads AMD's alone"));
}

TEST_F(AutoSourceTest, AmdGpusThatWereNeverReadAreAnError) {
  sysfs_.AddMi210("0000:63:00.0", {});
  nvidia_ = SnapshotOf("nvml", {"GPU-a"});
  EXPECT_EQ(Read().status().message(), "no AMD GPU");
}

}  // namespace
}  // namespace gpuscaler
