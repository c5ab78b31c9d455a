// AMD's device-metrics-exporter as a source.
#include "absl/strings/str_replace.h"
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gpu/amd_exporter_schema.h"
#include "gpu/exporter_source.h"
#include "gpu/test_amd_exposition.h"
#include "gpu/test_exporter.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

TestAmdExporterGpu Partition(int number, const std::string& pod = "") {
  return {.id = number,
          .compute_partitions = "cpx",
          .memory_partitions = "nps4",
          .partition = absl::StrCat(number),
          .pod = pod};
}

class AmdExporterTest : public testing::Test {
 protected:
  absl::StatusOr<NodeSnapshot> Read(const std::string& page) {
    exporter_.Show(page);
    clock_.Advance(absl::Seconds(2));
    return source_.Read({});
  }
  NodeSnapshot Good(const std::string& page) {
    auto snapshot = Read(page);
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? *std::move(snapshot) : NodeSnapshot();
  }

  FakeClock clock_;
  TestExporter exporter_;
  ExporterSource source_{AmdExporterSchema(),
                         ParseExporterUrl(exporter_.Url(), 5000).value(),
                         {},
                         true,
                         "gpu-7",
                         clock_};
};

TEST_F(AmdExporterTest, WholeMi300xHasItsValuesAndItsPod) {
  const NodeSnapshot snapshot = Good(
      AmdNodeLine(1) + AmdMi300x({.pod = "web-0"}, 77, {70, 80, 70, 80, 70, 80, 70, 80}, "9e12"));
  EXPECT_EQ(snapshot.source, absl::StrCat("amd-exporter:", exporter_.Url(), "/metrics"));
  ASSERT_EQ(snapshot.gpus.size(), 1u);
  const GpuSample& gpu = snapshot.gpus[0];
  EXPECT_EQ(gpu.uuid, "AMD-692251001124");
  EXPECT_EQ(gpu.name, "102-G30211-0C");
  EXPECT_EQ(gpu.utilization_percent, 77);
  EXPECT_EQ(gpu.memory_utilization_percent, 21);
  EXPECT_EQ(gpu.memory_used_bytes, int64_t{98304} << 20);
  EXPECT_EQ(gpu.memory_total_bytes, int64_t{196592} << 20);
  EXPECT_EQ(gpu.power_watts, 512);
  EXPECT_EQ(gpu.temperature_celsius, 65);
  EXPECT_EQ(gpu.ecc_uncorrected_errors, 2);
  EXPECT_EQ(gpu.power_limit_watts, std::nullopt);
  EXPECT_TRUE(gpu.gaps.empty());
  ASSERT_EQ(snapshot.pods.size(), 1u);
  EXPECT_EQ(snapshot.pods[0].name, "web-0");
  EXPECT_THAT(gpu.holders,
              testing::ElementsAre(GpuHolder{.pod = 0, .container = "main", .share = 1}));
}

TEST_F(AmdExporterTest, Mi210HasItsSensorsUnderOtherNames) {
  const NodeSnapshot snapshot = Good(AmdMi210(
      {.model = "102-D67305-00", .compute_partitions = "none", .partition = "NA"}, 71, "1.5e+13"));
  ASSERT_EQ(snapshot.gpus.size(), 1u);
  EXPECT_EQ(snapshot.gpus[0].utilization_percent, 71);
  EXPECT_EQ(snapshot.gpus[0].power_watts, 147);
  EXPECT_EQ(snapshot.gpus[0].temperature_celsius, 45);
  EXPECT_EQ(snapshot.gpus[0].parent_uuid, "");
  EXPECT_TRUE(snapshot.gpus[0].holders.empty());
}

// The activity and the sensors of partition 0 are the GPU's.
TEST_F(AmdExporterTest, PartitionsFollowTheirGpuAndHaveTheirOwnActivity) {
  const NodeSnapshot snapshot = Good(AmdMi300x(Partition(0, "web-0"), 13, {100}, "9e12") +
                                     AmdPartition(Partition(1, "web-1"), 40));
  ASSERT_EQ(snapshot.gpus.size(), 3u);
  const GpuSample& whole = snapshot.gpus[0];
  EXPECT_EQ(whole.uuid, "AMD-692251001124");
  EXPECT_EQ(whole.power_watts, 512);
  EXPECT_EQ(whole.utilization_percent, std::nullopt);
  EXPECT_TRUE(whole.holders.empty());
  const GpuSample& first = snapshot.gpus[1];
  EXPECT_EQ(first.uuid, "AMD-692251001124/0");
  EXPECT_EQ(first.parent_uuid, whole.uuid);
  EXPECT_EQ(first.name, "102-G30211-0C CPX NPS4");
  EXPECT_EQ(first.utilization_percent, 100);
  EXPECT_EQ(first.power_watts, std::nullopt);
  const GpuSample& second = snapshot.gpus[2];
  EXPECT_EQ(second.uuid, "AMD-692251001124/1");
  EXPECT_EQ(second.index, 0) << "its GPU's";
  EXPECT_EQ(second.utilization_percent, 40);
  EXPECT_EQ(second.memory_used_bytes, int64_t{12288} << 20);
  EXPECT_EQ(snapshot.pods.get().at(static_cast<size_t>(second.holders.at(0).pod)).name, "web-1");
}

TEST_F(AmdExporterTest, PowerOfAPartitionIsNotTheGpus) {
  const NodeSnapshot snapshot = Good(AmdPartition(Partition(3), 40));
  ASSERT_EQ(snapshot.gpus.size(), 2u);
  EXPECT_EQ(snapshot.gpus[0].power_watts, std::nullopt) << "0 W of a partition without a sensor";
  EXPECT_EQ(snapshot.gpus[1].uuid, "AMD-692251001124/3");
}

TEST_F(AmdExporterTest, ActivityOfAWholeGpuWithoutItsOwnIsTheMeanOfItsDies) {
  EXPECT_EQ(Good(AmdBusyLines({}, {20, 40, 60, 100})).gpus.get().at(0).utilization_percent, 55);
}

TEST_F(AmdExporterTest, IdentityIsTheSerialNumberAndForBoardsOfTwoGpusTheirNumberToo) {
  const NodeSnapshot snapshot = Good(AmdMi210({.compute_partitions = "none"}, 1, "1") +
                                     AmdMi210({.id = 1, .compute_partitions = "none"}, 1, "1") +
                                     AmdMi300x({.id = 2, .serial_number = "8"}, 1, {}, "1") +
                                     AmdMi300x({.id = 3, .serial_number = ""}, 1, {}, "1"));
  ASSERT_EQ(snapshot.gpus.size(), 4u);
  EXPECT_EQ(snapshot.gpus[0].uuid, "AMD-692251001124-0");
  EXPECT_EQ(snapshot.gpus[1].uuid, "AMD-692251001124-1");
  EXPECT_EQ(snapshot.gpus[2].uuid, "AMD-8");
  EXPECT_EQ(snapshot.gpus[3].uuid, "AMD-3") << "in a virtual machine";
}

TEST_F(AmdExporterTest, GpuThatIsDividedAnewIsNotLost) {
  Good(AmdMi300x({}, 1, {}, "1"));
  const NodeSnapshot divided =
      Good(AmdMi300x(Partition(0), 1, {1}, "2") + AmdPartition(Partition(1), 1));
  ASSERT_EQ(divided.gpus.size(), 3u);
  EXPECT_EQ(divided.gpus[0].uuid, "AMD-692251001124");
}

TEST_F(AmdExporterTest, PrefixOfTheOperatorIsSkipped) {
  const std::string page = absl::StrReplaceAll(
      AmdMi210({}, 71, "1"), {{"gpu_average", "amd_gpu_average"}, {"gpu_gfx", "amd_gpu_gfx"}});
  EXPECT_EQ(Good(page).gpus.get().at(0).utilization_percent, 71);
  EXPECT_EQ(Good(page).gpus.get().at(0).power_watts, 147);
}

TEST_F(AmdExporterTest, ReadingHasTheTimeOfItsCollection) {
  const absl::Time collected = Good(AmdMi210({}, 71, "100")).taken_at;
  for (int i = 0; i < 7; ++i) EXPECT_EQ(Good(AmdMi210({}, 71, "100")).taken_at, collected);
  const absl::Time next = Good(AmdMi210({}, 71, "105")).taken_at;
  EXPECT_EQ(next, clock_.Now());
  clock_.Advance(absl::Seconds(40));
  EXPECT_THAT(std::string(Read(AmdMi210({}, 71, "105")).status().message()),
              HasSubstr("device-metrics-exporter: "));
}

TEST_F(AmdExporterTest, InvalidPagesAreUnavailable) {
  const struct {
    std::string page;
    const char* want;
  } rows[] = {
      {AmdNodeLine(0), "its page shows no GPU"},
      {absl::StrReplaceAll(AmdMi210({}, 1, "1"), {{"gpu_id=\"0\"", "gpu_id=\"x\""}}),
       "its label gpu_id is no number"},
      {AmdPartition({.id = 0, .serial_number = "", .compute_partitions = "cpx"}, 1) +
           AmdPartition({.id = 8, .serial_number = "", .compute_partitions = "cpx"}, 1),
       "two of its GPUs are AMD-/0"},
  };
  for (const auto& row : rows) {
    const absl::Status status = Read(row.page).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << row.want;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.want));
  }
}

}  // namespace
}  // namespace gpuscaler
