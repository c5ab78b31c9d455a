#include "gpu/file_source.h"

#include <filesystem>

#include "base/fake_clock.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr CostlyReadings kNothing;

class FileSourceTest : public testing::Test {
 protected:
  void Write(const std::string& text) { folder_.Write("gpus.json", text); }
  std::optional<double> Utilization() {
    const auto snapshot = source_.Read(kNothing);
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? snapshot->gpus.get().at(0).utilization_percent : std::nullopt;
  }

  const TestFolder folder_;
  const std::string path_ = folder_.PathOf("gpus.json");
  FakeClock clock_;
  FileSource source_{path_, "gpu-7", clock_};
};

TEST_F(FileSourceTest, UnchangedFileGivesANewSnapshotAtEveryReading) {
  Write(R"({"driver_version": "550", "gpus": [{"utilization_percent": 7}]})");
  ASSERT_TRUE(source_.Read(kNothing).ok());
  clock_.Advance(absl::Seconds(2));
  const auto second = source_.Read(kNothing);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->taken_at, clock_.Now());
  EXPECT_EQ(second->node, "gpu-7");
  EXPECT_EQ(second->source, "file:" + path_);
  EXPECT_EQ(second->driver_version, "550");
}

TEST_F(FileSourceTest, ChangesInPlaceAndByRenameAreSeen) {
  Write(R"({"gpus": [{"utilization_percent": 1}]})");
  EXPECT_EQ(Utilization(), 1);
  Write(R"({"gpus": [{"utilization_percent": 2}]})");
  EXPECT_EQ(Utilization(), 2);
  std::filesystem::rename(
      folder_.Write("gpus.json.new", R"({"gpus": [{"utilization_percent": 3}]})"), path_);
  EXPECT_EQ(Utilization(), 3);
}

TEST_F(FileSourceTest, BrokenFileIsUnavailableUntilItIsFixed) {
  Write("{\"gpus\": [{\n  \"utilization_percent\": 1,\n  \"power_wats\": 2}]}");
  const absl::Status status = source_.Read(kNothing).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(),
            path_ + ":3: gpus[0].power_wats: unknown key; did you mean \"power_watts\"?");
  Write("{\"gpus\": [}");
  EXPECT_THAT(std::string(source_.Read(kNothing).status().message()),
              testing::StartsWith(path_ + ":1:11: syntax error"));
  Write(R"({"gpus": [{"utilization_percent": 4}]})");
  EXPECT_EQ(Utilization(), 4);
}

TEST_F(FileSourceTest, FramesBeginWhenTheirTextIsFirstRead) {
  clock_.Advance(absl::Seconds(100));
  Write(R"({"frames": [{"seconds": 10, "gpus": [{"utilization_percent": 1}]},
                       {"seconds": 10, "gpus": [{"utilization_percent": 2}]}]})");
  EXPECT_EQ(Utilization(), 1);
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(Utilization(), 2);
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(Utilization(), 1);
  clock_.Advance(absl::Seconds(15));
  Write(R"({"frames": [{"seconds": 10, "gpus": [{"utilization_percent": 3}]},
                       {"seconds": 10, "gpus": [{"utilization_percent": 4}]}]})");
  EXPECT_EQ(Utilization(), 3);
}

TEST_F(FileSourceTest, MissingEmptyAndUnreadableFilesAreUnavailable) {
  EXPECT_EQ(source_.Read(kNothing).status(),
            absl::UnavailableError(path_ + ": cannot be read: No such file or directory"));
  Write("");
  EXPECT_EQ(source_.Read(kNothing).status().code(), absl::StatusCode::kUnavailable);
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(source_.Read(kNothing).status(),
            absl::UnavailableError(path_ + ": cannot be read: Is a directory"));
}

TEST_F(FileSourceTest, PcieIsReadOnlyIfRequestedAndSupported) {
  Write(R"({"gpus": [{"pcie_tx_kbps": 5, "pcie_rx_kbps": 6}, {}, {"pcie_tx_kbps": null}]})");
  const auto unasked = source_.Read(kNothing);
  ASSERT_TRUE(unasked.ok()) << unasked.status();
  EXPECT_EQ(unasked->gpus[0].pcie_tx_kbps, std::nullopt);
  for (int i : {0, 2}) {
    ASSERT_NE(FindGap(unasked->gpus[i], GpuField::kPcie), nullptr);
    EXPECT_EQ(FindGap(unasked->gpus[i], GpuField::kPcie)->reason, GpuGap::Reason::kNotRequested);
    EXPECT_EQ(unasked->gpus[i].gaps.size(), 1);
  }
  EXPECT_EQ(FindGap(unasked->gpus[1], GpuField::kPcie), nullptr);

  const auto reading = source_.Read({.pcie = true});
  ASSERT_TRUE(reading.ok()) << reading.status();
  EXPECT_EQ(reading->gpus[0].pcie_tx_kbps, 5);
  EXPECT_EQ(reading->gpus[0].pcie_rx_kbps, 6);
  EXPECT_EQ(FindGap(reading->gpus[2], GpuField::kPcie)->reason, GpuGap::Reason::kFailed);
}

TEST_F(FileSourceTest, ActivityIsReadOnlyIfRequestedAndSupported) {
  Write(R"({"gpus": [{"sm_activity_percent": 50, "dram_activity_percent": null}, {}]})");
  const auto unasked = source_.Read({.pcie = true});
  ASSERT_TRUE(unasked.ok()) << unasked.status();
  EXPECT_EQ(unasked->gpus[0].sm_activity_percent, std::nullopt);
  for (const GpuField field : {GpuField::kSmActivity, GpuField::kDramActivity}) {
    ASSERT_NE(FindGap(unasked->gpus[0], field), nullptr) << Name(field);
    EXPECT_EQ(FindGap(unasked->gpus[0], field)->reason, GpuGap::Reason::kNotRequested);
  }
  EXPECT_EQ(FindGap(unasked->gpus[0], GpuField::kTensorActivity), nullptr);
  EXPECT_TRUE(unasked->gpus[1].gaps.empty());

  const auto reading = source_.Read({.activity = true});
  ASSERT_TRUE(reading.ok()) << reading.status();
  EXPECT_EQ(reading->gpus[0].sm_activity_percent, 50);
  EXPECT_EQ(FindGap(reading->gpus[0], GpuField::kDramActivity)->reason, GpuGap::Reason::kFailed);
}

}  // namespace
}  // namespace gpuscaler
