#include "gpu/exporter_exposition.h"

#include "gmock/gmock.h"
#include "gpu/dcgm_schema.h"
#include "gpu/test_dcgm_exposition.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

ExporterExposition Read(const std::string& text) {
  auto page = ReadExporterExposition(DcgmSchema(), text, ExpositionFormat::kText);
  EXPECT_TRUE(page.ok()) << page.status() << "\n" << text;
  return page.ok() ? *std::move(page) : ExporterExposition();
}

TEST(DcgmExposition, ListsGpusByIndexWithTheirValues) {
  const ExporterExposition page = Read(DcgmExpositionOf(
      {{DcgmLabels(1, kTestUuid1), 7, 500, 20}, {DcgmLabels(0, kTestUuid0), 97, 80'000, 10}}));
  ASSERT_EQ(page.devices.size(), 2);
  EXPECT_EQ(page.driver_version, "570.124.06");
  const ExporterDevice& gpu = page.devices[0];
  EXPECT_EQ(gpu.uuid, kTestUuid0);
  EXPECT_EQ(gpu.index, 0);
  EXPECT_EQ(gpu.model, "NVIDIA H200");
  EXPECT_EQ(gpu.instance, std::nullopt);
  EXPECT_EQ(At(gpu.values, ExporterField::kGpuUtilization), 97);
  EXPECT_EQ(At(gpu.values, ExporterField::kMemoryUsed), 80'000);
  EXPECT_EQ(At(gpu.values, ExporterField::kEnergy), 10);
  EXPECT_EQ(At(gpu.values, ExporterField::kPower), std::nullopt);
  EXPECT_EQ(page.devices[1].uuid, kTestUuid1);
  EXPECT_TRUE(gpu.holders.empty());
}

TEST(DcgmExposition, PodsAreReadUnderTheLabelsOfEveryRelease) {
  const struct {
    const char* labels;
    ExporterHolder want;
  } rows[] = {
      {R"(,container="main",namespace="shop",pod="web-0")", {"shop", "web-0", "", "main", {}}},
      {R"(,container="main",namespace="shop",pod="web-0",pod_uid="u-1")",
       {"shop", "web-0", "u-1", "main", {}}},
      {R"(,container_name="main",pod_name="web-0",pod_namespace="shop")",
       {"shop", "web-0", "", "main", {}}},
  };
  for (const auto& row : rows) {
    const ExporterExposition page =
        Read(DcgmLine("DCGM_FI_DEV_FB_USED", DcgmLabels(0, kTestUuid0) + row.labels, "5"));
    ASSERT_EQ(page.devices.size(), 1) << row.labels;
    EXPECT_THAT(page.devices[0].holders, testing::ElementsAre(row.want)) << row.labels;
  }
}

TEST(DcgmExposition, EmptyPodLabelsNameNoPod) {
  const ExporterExposition page =
      Read(DcgmLine("DCGM_FI_DEV_FB_USED",
                    DcgmLabels(0, kTestUuid0, R"(,container="",namespace="",pod="")"), "5"));
  ASSERT_EQ(page.devices.size(), 1);
  EXPECT_TRUE(page.devices[0].holders.empty());
}

TEST(DcgmExposition, SharedGpuIsOneDeviceWithAllItsPods) {
  const std::string web = DcgmLabels(0, kTestUuid0) + PodLabels("web-0") + ",vgpu=\"0\"";
  const std::string job = DcgmLabels(0, kTestUuid0) + PodLabels("job-1") + ",vgpu=\"1\"";
  const ExporterExposition page = Read(DcgmLine("DCGM_FI_DEV_GPU_UTIL", web, "80") +
                                       DcgmLine("DCGM_FI_DEV_GPU_UTIL", job, "80"));
  ASSERT_EQ(page.devices.size(), 1);
  EXPECT_EQ(At(page.devices[0].values, ExporterField::kGpuUtilization), 80);
  ASSERT_EQ(page.devices[0].holders.size(), 2);
  EXPECT_EQ(page.devices[0].holders[0].utilization, std::nullopt);  // 80 is the GPU's
}

TEST(DcgmExposition, LineWithoutAPodIsTheGpusAndTheOthersThePods) {
  const std::string labels = DcgmLabels(0, kTestUuid0);
  const ExporterExposition page =
      Read(DcgmLine("DCGM_FI_DEV_GPU_UTIL", labels + PodLabels("web-0"), "60") +
           DcgmLine("DCGM_FI_DEV_GPU_UTIL", labels, "90") +
           DcgmLine("DCGM_FI_DEV_GPU_UTIL", labels + PodLabels("job-1"), "30"));
  ASSERT_EQ(page.devices.size(), 1);
  EXPECT_EQ(At(page.devices[0].values, ExporterField::kGpuUtilization), 90);
  ASSERT_EQ(page.devices[0].holders.size(), 2);
  EXPECT_EQ(page.devices[0].holders[0].utilization, 60);
  EXPECT_EQ(page.devices[0].holders[1].utilization, 30);
}

TEST(DcgmExposition, InstancesAreDevicesOfTheirOwn) {
  const ExporterExposition page =
      Read(DcgmLine("DCGM_FI_PROF_GR_ENGINE_ACTIVE", InstanceLabels(0, kTestUuid0, 9), "0.5") +
           DcgmLine("DCGM_FI_PROF_GR_ENGINE_ACTIVE", InstanceLabels(0, kTestUuid0, 7), "0.25"));
  ASSERT_EQ(page.devices.size(), 2);
  EXPECT_EQ(page.devices[0].instance, 7);
  EXPECT_EQ(page.devices[0].profile, "MIG 1g.18gb");
  EXPECT_EQ(page.devices[1].instance, 9);
}

TEST(DcgmExposition, BlankAndImpossibleValuesAreUnknownButTheGpuIsListed) {
  for (const char* value :
       {"9223372036854775794", "140737488355328.000000", "2147483632", "NaN", "-1"}) {
    const ExporterExposition page =
        Read(DcgmLine("DCGM_FI_DEV_GPU_UTIL", DcgmLabels(0, kTestUuid0), value));
    ASSERT_EQ(page.devices.size(), 1) << value;
    EXPECT_EQ(page.devices[0].values, ExporterValues()) << value;
  }
}

TEST(DcgmExposition, LinesOfOtherDevicesAreIgnored) {
  const ExporterExposition page = Read(
      "DCGM_FI_DEV_NVLINK_BANDWIDTH_L0{nvlink=\"1\",gpu=\"0\",gpu_uuid=\"GPU-a\"} 5\n"
      "DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT{nvswitch=\"nvswitch0\",hostname=\"gpu-7\"} 40\n"
      "DCGM_FI_DEV_CPU_UTIL_TOTAL{cpu=\"0\"} 0.5\n"
      "go_goroutines 5\n");
  EXPECT_TRUE(page.devices.empty());
  EXPECT_TRUE(Read("").devices.empty());
}

TEST(DcgmExposition, PagesOfNoExporterAreErrors) {
  std::string many;
  for (int i = 0; i <= 512; ++i) {
    many += DcgmLine("DCGM_FI_DEV_GPU_TEMP", InstanceLabels(0, kTestUuid0, i), "5");
  }
  const struct {
    std::string page;
    const char* want;
  } rows[] = {
      {"<html><body>", "line 1"},
      {"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-a\"} 1", "does not end with a line feed"},
      {"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-a\"} ERROR - FAILED TO CONVERT TO STRING\n",
       "line 1"},
      {"DCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-a\"} 1\n", "UUID and gpu name no GPU"},
      {"DCGM_FI_DEV_GPU_UTIL{gpu=\"-1\",UUID=\"GPU-a\"} 1\n", "UUID and gpu name no GPU"},
      {"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-a\",GPU_I_ID=\"x\"} 1\n", "GPU_I_ID"},
      {DcgmLine("DCGM_FI_DEV_GPU_UTIL",
                DcgmLabels(0, kTestUuid0) + PodLabels(std::string(300, 'x')), "1"),
       "name no pod"},
      {many, "more than 512 GPUs"},
  };
  for (const auto& row : rows) {
    const absl::Status status =
        ReadExporterExposition(DcgmSchema(), row.page, ExpositionFormat::kText).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.page.substr(0, 200);
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.want)) << row.page.substr(0, 200);
  }
}

}  // namespace
}  // namespace gpuscaler
