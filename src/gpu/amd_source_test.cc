#include "gpu/amd_source.h"

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gpu/test_amd_sysfs.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kPci[] = "0000:63:00.0";
constexpr char kMi300Id[] = "e3a9716b4cd5ab71";

class AmdSourceTest : public testing::Test {
 protected:
  // Advances the clock between readings.
  NodeSnapshot Read() {
    clock_.Advance(absl::Seconds(2));
    const auto snapshot = source_.Read({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? *snapshot : NodeSnapshot();
  }
  GpuSample ReadOnly() {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.gpus.size(), 1u);
    return snapshot.gpus.empty() ? GpuSample() : snapshot.gpus.front();
  }
  // Returns the detail of the gap; "": there is none.
  static std::string GapOf(const GpuSample& gpu, GpuField field) {
    const GpuGap* const gap = FindGap(gpu, field);
    return gap == nullptr ? "" : gap->detail;
  }

  TestAmdSysfs sysfs_;
  FakeClock clock_;
  AmdSource source_{sysfs_.root(), "gpu-7", clock_};
};

TEST_F(AmdSourceTest, ReadsAnMi210) {
  sysfs_.AddMi210(kPci, {.card = 1, .render_minor = 128});
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.node, "gpu-7");
  EXPECT_EQ(snapshot.source, "amd");
  EXPECT_EQ(snapshot.taken_at, clock_.Now());
  ASSERT_EQ(snapshot.gpus.size(), 1u);
  const GpuSample& gpu = snapshot.gpus.front();
  EXPECT_EQ(gpu.uuid, "1901e6b24a7a4ae6");
  EXPECT_EQ(gpu.parent_uuid, "");
  EXPECT_EQ(gpu.name, "AMD Instinct MI210");
  EXPECT_EQ(gpu.index, 0);
  EXPECT_EQ(gpu.minor_number, std::nullopt) << "that is NVIDIA's";
  EXPECT_THAT(gpu.device_ids, ElementsAre("card1", kPci, "renderD128"));
  EXPECT_FALSE(gpu.is_in_mig_mode);
  EXPECT_EQ(gpu.utilization_percent, 71);
  EXPECT_EQ(gpu.memory_utilization_percent, 33);
  EXPECT_EQ(gpu.memory_used_bytes, 10'804'899'840);
  EXPECT_EQ(gpu.memory_total_bytes, 68'702'699'520);
  EXPECT_EQ(gpu.power_watts, 147);
  EXPECT_EQ(gpu.power_limit_watts, 300);
  EXPECT_EQ(gpu.temperature_celsius, 52) << "the junction";
  EXPECT_EQ(gpu.processes, std::nullopt) << "KFD shows no node";
  EXPECT_THAT(gpu.gaps, IsEmpty());
}

TEST_F(AmdSourceTest, TheXgmiHiveIsTheLinkGroup) {
  for (int i = 0; i < 3; ++i) {
    const std::string pci = absl::StrCat("0000:0", i + 1, ":00.0");
    sysfs_.AddMi210(pci, {.card = i, .render_minor = 128 + i});
    sysfs_.Set(pci, "unique_id", absl::StrCat("000000000000000", i + 1, "\n"));
    if (i < 2) sysfs_.Set(pci, "xgmi_hive_info/xgmi_hive_id", "15188982192727901047\n");
  }
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 3u);
  EXPECT_EQ(snapshot.gpus[0].link_group, "xgmi-d2ca1ad46147c377");
  EXPECT_EQ(snapshot.gpus[1].link_group, snapshot.gpus[0].link_group);
  EXPECT_EQ(snapshot.gpus[2].link_group, "") << "it has no file";
}

TEST_F(AmdSourceTest, ReadsADesktopCardThatIsCard1Alone) {
  sysfs_.RemoveKfd();
  sysfs_.AddDesktopCard("0000:03:00.0", {.card = 1, .render_minor = 128});
  const GpuSample gpu = ReadOnly();
  EXPECT_EQ(gpu.uuid, "0000:03:00.0") << "it has no unique_id";
  EXPECT_EQ(gpu.name, "AMD GPU 744c");
  EXPECT_THAT(gpu.device_ids, ElementsAre("card1", "0000:03:00.0", "renderD128"));
  EXPECT_EQ(gpu.utilization_percent, 4);
  EXPECT_EQ(gpu.temperature_celsius, 41) << "the edge";
  EXPECT_EQ(gpu.power_watts, 28);
  EXPECT_EQ(gpu.processes, std::nullopt);
  EXPECT_THAT(gpu.gaps, IsEmpty());
}

TEST_F(AmdSourceTest, Mi300InSpxIsOneGpu) {
  sysfs_.AddMi300(kPci, {.card = 1, .render_minor = 128}, kMi300Id, "SPX", 0);
  TestMi300Metrics metrics = {.cycles = 1000, .gfx_sum = 7000, .busy_percent = {{9, 9}}};
  sysfs_.Set(kPci, "gpu_metrics", metrics.bytes());
  GpuSample gpu = ReadOnly();
  EXPECT_EQ(gpu.uuid, kMi300Id);
  EXPECT_THAT(gpu.device_ids, ElementsAre("card1", kPci, "renderD128"));
  EXPECT_EQ(gpu.power_watts, 132) << "power1_input";
  EXPECT_EQ(gpu.temperature_celsius, 38) << "it has no edge";
  EXPECT_EQ(gpu.utilization_percent, 55) << "the first reading has no mean yet";
  metrics.cycles = 3000;
  metrics.gfx_sum = 7000 + 2000 * 83;
  sysfs_.Set(kPci, "gpu_metrics", metrics.bytes());
  gpu = ReadOnly();
  EXPECT_EQ(gpu.utilization_percent, 83) << "the mean since the last reading";
  EXPECT_EQ(gpu.memory_utilization_percent, 12) << "the table has no sum of it";
}

TEST_F(AmdSourceTest, MetricsTableReplacesMissingFiles) {
  sysfs_.AddMi300(kPci, {}, kMi300Id, "SPX", 0);
  sysfs_.Set(kPci, "gpu_metrics", TestMi300Metrics{}.bytes());
  sysfs_.Remove(kPci, "gpu_busy_percent");
  sysfs_.Remove(kPci, "mem_busy_percent");
  const GpuSample gpu = ReadOnly();
  EXPECT_EQ(gpu.utilization_percent, 40);
  EXPECT_EQ(gpu.memory_utilization_percent, 20);
}

TEST_F(AmdSourceTest, FileThatCannotBeReadIsAGap) {
  sysfs_.AddMi210(kPci, {});
  const std::pair<const char*, GpuField> rows[] = {
      {"gpu_busy_percent", GpuField::kUtilization},
      {"mem_busy_percent", GpuField::kMemoryUtilization},
      {"mem_info_vram_used", GpuField::kMemory},
      {"hwmon/hwmon5/power1_average", GpuField::kPower},
      {"hwmon/hwmon5/power1_cap", GpuField::kPowerLimit},
      {"hwmon/hwmon5/temp2_input", GpuField::kTemperature},
  };
  for (const auto& row : rows) sysfs_.Break(kPci, row.first);
  const GpuSample gpu = ReadOnly();
  for (const auto& [file, field] : rows) {
    EXPECT_THAT(GapOf(gpu, field), HasSubstr("Is a directory")) << file;
  }
  EXPECT_EQ(gpu.utilization_percent, std::nullopt);
  EXPECT_EQ(gpu.memory_utilization_percent, std::nullopt);
  EXPECT_EQ(gpu.memory_used_bytes, std::nullopt);
  EXPECT_EQ(gpu.power_watts, std::nullopt);
  EXPECT_EQ(gpu.power_limit_watts, std::nullopt);
  EXPECT_EQ(gpu.temperature_celsius, std::nullopt);
}

TEST_F(AmdSourceTest, ImpossibleValueIsAGap) {
  sysfs_.AddMi210(kPci, {});
  sysfs_.Set(kPci, "gpu_busy_percent", "65535\n");
  sysfs_.Set(kPci, "mem_busy_percent", "n/a\n");
  sysfs_.Set(kPci, "mem_info_vram_used", "68702699521\n");
  const GpuSample gpu = ReadOnly();
  EXPECT_EQ(GapOf(gpu, GpuField::kUtilization), "the driver reports 65535 %");
  EXPECT_EQ(GapOf(gpu, GpuField::kMemoryUtilization), "mem_busy_percent: \"n/a\" is no number");
  EXPECT_EQ(GapOf(gpu, GpuField::kMemory),
            "the driver reports 68702699521 bytes used of 68702699520");
}

TEST_F(AmdSourceTest, VanishedValueIsAGapAndNotAbsent) {
  sysfs_.AddMi210(kPci, {});
  ReadOnly();
  sysfs_.Remove(kPci, "hwmon");
  const GpuSample gpu = ReadOnly();
  EXPECT_EQ(GapOf(gpu, GpuField::kPower), "not in sysfs at this reading");
  EXPECT_EQ(GapOf(gpu, GpuField::kTemperature), "not in sysfs at this reading");
  EXPECT_EQ(gpu.utilization_percent, 71);
}

TEST_F(AmdSourceTest, SleepingCardIsIdleAndStaysAsleep) {
  sysfs_.AddDesktopCard(kPci, {});
  ReadOnly();
  sysfs_.Set(kPci, "power/runtime_status", "suspended\n");
  const GpuSample gpu = ReadOnly();
  EXPECT_EQ(gpu.utilization_percent, 0) << "gpu_busy_percent would wake it";
  EXPECT_EQ(gpu.memory_used_bytes, 1'288'490'188);
  EXPECT_EQ(gpu.power_watts, std::nullopt);
  EXPECT_EQ(GapOf(gpu, GpuField::kPower), "the GPU is powered down: it is idle");
  EXPECT_EQ(GapOf(gpu, GpuField::kTemperature), "the GPU is powered down: it is idle");
}

TEST_F(AmdSourceTest, ProcessesAreThoseWithMemoryOnTheGpu) {
  sysfs_.AddMi210(kPci, {.card = 1, .render_minor = 128});
  sysfs_.AddMi210("0000:43:00.0", {.card = 2, .render_minor = 129});
  sysfs_.Set("0000:43:00.0", "unique_id", "5d3f2b1c0a998877\n");
  sysfs_.AddCpuNode(0);
  sysfs_.AddGpuNode(1, {.gpu_id = 20300, .render_minor = 128, .location_id = 25344});
  sysfs_.AddGpuNode(2, {.gpu_id = 40001, .render_minor = 129, .location_id = 17152});
  sysfs_.SetProcess(4711, {{20300, 5'000'000}, {40001, 0}});
  sysfs_.SetProcess(4712, {{20300, 0}, {40001, 0}});
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 2u);
  EXPECT_THAT(snapshot.gpus[0].processes, testing::Optional(IsEmpty())) << "0000:43:00.0 is first";
  const std::vector<GpuProcess> want = {{.pid = 4711, .memory_bytes = 5'000'000}};
  EXPECT_EQ(snapshot.gpus[1].processes, want);
}

TEST_F(AmdSourceTest, HiddenNodeLeavesProcessesUnknown) {
  sysfs_.AddMi210(kPci, {.card = 1, .render_minor = 128});
  sysfs_.AddHiddenNode(1);
  sysfs_.SetProcess(4711, {{20300, 5'000'000}});
  EXPECT_EQ(ReadOnly().processes, std::nullopt);
}

TEST_F(AmdSourceTest, VirtualFunctionsThatShareAnIdHaveTheirAddresses) {
  sysfs_.AddMi210("0000:63:02.0", {.card = 1, .render_minor = 128});
  sysfs_.AddMi210("0000:63:02.1", {.card = 2, .render_minor = 129});
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 2u);
  EXPECT_EQ(snapshot.gpus[0].uuid, "0000:63:02.0");
  EXPECT_EQ(snapshot.gpus[1].uuid, "0000:63:02.1");
  EXPECT_EQ(snapshot.gpus[1].index, 1);
}

TEST_F(AmdSourceTest, IdThatCannotBeReadForOnceStays) {
  sysfs_.AddMi210(kPci, {});
  ReadOnly();
  sysfs_.Break(kPci, "unique_id");
  EXPECT_EQ(ReadOnly().uuid, "1901e6b24a7a4ae6");
}

TEST_F(AmdSourceTest, UnpluggedCardIsGone) {
  sysfs_.AddMi210(kPci, {.card = 1, .render_minor = 128});
  sysfs_.AddDesktopCard("0000:03:00.0", {.card = 0, .render_minor = 129});
  EXPECT_EQ(Read().gpus.size(), 2u);
  sysfs_.Unplug(kPci);
  EXPECT_EQ(ReadOnly().uuid, "0000:03:00.0");
}

TEST_F(AmdSourceTest, NodeWithoutAGpuIsUnavailable) {
  const absl::Status status = source_.Read({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no AMD GPU is in " + sysfs_.root() + "/module/amdgpu"));
}

}  // namespace
}  // namespace gpuscaler
