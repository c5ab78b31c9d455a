#include "workload/device_id.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using Form = DeviceId::Form;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kUuid[] = "GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b5a";
constexpr char kOther[] = "GPU-00000000-9b4c-4a3f-8a9e-1f6a2d3c4b5a";
constexpr char kMig[] = "MIG-8b6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b5a";

TEST(ParseDeviceId, ReadsTheFormsOfAllPlugins) {
  struct Row {
    const char* resource;
    std::string id;
    DeviceId want;
  };
  const std::string place = absl::StrCat("MIG-", kUuid, "/1/0");
  const Row rows[] = {
      {"nvidia.com/gpu", kUuid, {.form = Form::kUuid, .text = kUuid}},
      {"example.com/renamed", kUuid, {.form = Form::kUuid, .text = kUuid}},
      {"nvidia.com/mig-1g.10gb.me", kMig, {.form = Form::kUuid, .text = kMig}},
      {"nvidia.com/gpu.shared",
       absl::StrCat(kUuid, "::3"),
       {.form = Form::kUuid, .text = kUuid, .is_replica = true}},
      {"nvidia.com/mig-1g.10gb.shared",
       absl::StrCat(kMig, "::0"),
       {.form = Form::kUuid, .text = kMig, .is_replica = true}},
      {"nvidia.com/gpu",
       absl::StrCat(kUuid, "-7"),
       {.form = Form::kVirtual, .text = absl::StrCat(kUuid, "-7"), .is_replica = true}},
      {"nvidia.com/gpu",
       place,
       {.form = Form::kLegacyMigUuid, .text = place, .parent_uuid = kUuid, .instance = 1}},
      {"nvidia.com/gpu",
       absl::StrCat(place, "::2"),
       {.form = Form::kLegacyMigUuid,
        .text = place,
        .parent_uuid = kUuid,
        .instance = 1,
        .is_replica = true}},
      {"nvidia.com/gpu",
       "nvidia0",
       {.form = Form::kMinorNumber, .text = "nvidia0", .minor_number = 0}},
      {"nvidia.com/gpu",
       "nvidia12/gi3",
       {.form = Form::kMinorNumber, .text = "nvidia12/gi3", .minor_number = 12, .instance = 3}},
      {"nvidia.com/gpu",
       "nvidia0/vgpu1",
       {.form = Form::kMinorNumber, .text = "nvidia0", .minor_number = 0, .is_replica = true}},
      {"nvidia.com/gpu",
       "nvidia0/gi3/vgpu1",
       {.form = Form::kMinorNumber,
        .text = "nvidia0/gi3",
        .minor_number = 0,
        .instance = 3,
        .is_replica = true}},
      {"nvidia.com/gpu", "tegra", {.form = Form::kAllGpus, .text = "tegra"}},
      {"nvidia.com/gpu", "all", {.form = Form::kAllGpus, .text = "all"}},
      {"nvidia.com/gpu", "all::1", {.form = Form::kAllGpus, .text = "all", .is_replica = true}},
      {"nvidia.com/gpu", "GPU-sim-0", {.form = Form::kUuid, .text = "GPU-sim-0"}},
      {"amd.com/gpu", "0000:19:00.0", {.form = Form::kPciAddress, .text = "0000:19:00.0"}},
      {"amd.com/cpx_nps4", "amdgpu_xcp_30", {.form = Form::kAmdPartition, .text = "amdgpu_xcp_30"}},
      {"gpu.amd.com", "gpu-1-128", {.form = Form::kAmdRender, .text = "renderD128"}},
      {"gpu.intel.com/i915",
       "card0-0",
       {.form = Form::kIntel, .text = "card0", .is_replica = true}},
      {"gpu.intel.com/xe",
       "card11-4",
       {.form = Form::kIntel, .text = "card11", .is_replica = true}},
      {"gpu.intel.com",
       "0000-03-00-0-0xe20b",
       {.form = Form::kIntel, .text = "0000-03-00-0-0xe20b"}},
      {"gpu.nvidia.com", "gpu-0", {.form = Form::kMinorNumber, .text = "gpu-0", .minor_number = 0}},
      {"gpu.nvidia.com",
       "gpu-12",
       {.form = Form::kMinorNumber, .text = "gpu-12", .minor_number = 12}},
      {"gpu.nvidia.com",
       "gpu-1-mig-1g5gb-19-0",
       {.form = Form::kDraName, .text = "gpu-1-mig-1g5gb-19-0", .minor_number = 1}},
      {"gpu.nvidia.com",
       "gpu-1-mig-19-0-1",  // until v25.8
       {.form = Form::kDraName, .text = "gpu-1-mig-19-0-1", .minor_number = 1}},
      {"gpu.nvidia.com", "gpu-x-mig-1", {.form = Form::kDraName, .text = "gpu-x-mig-1"}},
      {"gpu.nvidia.com", "slice-0", {.form = Form::kDraName, .text = "slice-0"}},
      {"hami-core-gpu.project-hami.io",
       "hami-gpu-1",
       {.form = Form::kMinorNumber, .text = "hami-gpu-1", .minor_number = 1}},
  };
  for (const Row& row : rows) {
    const auto got = ParseDeviceId(row.resource, row.id);
    ASSERT_TRUE(got) << row.resource << " " << row.id;
    EXPECT_EQ(static_cast<int>(got->form), static_cast<int>(row.want.form)) << row.id;
    EXPECT_EQ(got->text, row.want.text) << row.id;
    EXPECT_EQ(got->minor_number, row.want.minor_number) << row.id;
    EXPECT_EQ(got->parent_uuid, row.want.parent_uuid) << row.id;
    EXPECT_EQ(got->instance, row.want.instance) << row.id;
    EXPECT_EQ(got->is_replica, row.want.is_replica) << row.id;
  }
}

TEST(ParseDeviceId, OtherDevicesAreNoGpu) {
  const std::pair<const char*, std::string> rows[] = {
      {"nvidia.com/gpu", ""},
      {"nvidia.com/gpu", "::1"},
      {"nvidia.com/gpu", "nvidia"},
      {"nvidia.com/gpu", "nvidia-1"},
      {"nvidia.com/gpu", "nvidia01"},
      {"nvidia.com/gpu", "nvidia0/"},
      {"nvidia.com/gpu", "nvidia0/gi"},
      {"nvidia.com/gpu", "nvidia0/gi1/ci0/vgpu1"},
      {"nvidia.com/gpu", "nvidia99999999999999999999"},
      {"example.com/gpu", absl::StrCat(kUuid, "-")},
      {"example.com/gpu", absl::StrCat(kUuid, "-x")},
      {"example.com/gpu", absl::StrCat("MIG-", kUuid, "/1")},
      {"example.com/gpu", absl::StrCat("MIG-", kUuid, "/1/x")},
      {"intel.com/sriov", "0000:19:00.0"},
      {"rdma/hca", "mlx5_0"},
      {"gpu.intel.com/monitoring", "card0-0"},
      {"gpu.intel.com/i915_monitoring", "card0-0"},
      {"gpu.intel.com/i915", "card-0"},
      {"amd.com/gpu", "0000:19:00"},
      {"gpu.amd.com", "gpu-1"},
      {"gpu.amd.com", "gpu-vfio-0"},
      {"gpu.amd.com", "gpu-1-128-2"},
      {"nic.example.com", "gpu-1-128"},
      {"nic.example.com", "gpu-0"},
      {"nic.example.com", "hami-gpu-0"},
      {"gpu.nvidia.com", "gpu-vfio-0"},
      {"compute-domain.nvidia.com", "channel-0"},
      {"compute-domain.nvidia.com", "daemon-0"},
  };
  for (const auto& [resource, id] : rows) {
    EXPECT_FALSE(ParseDeviceId(resource, id)) << resource << " " << id;
  }
}

GpuSample Gpu(const char* uuid, int index, std::optional<int> minor_number = std::nullopt) {
  GpuSample gpu;
  gpu.uuid = uuid;
  gpu.index = index;
  gpu.minor_number = minor_number;
  return gpu;
}

GpuSample Instance(const char* uuid, const GpuSample& parent, std::optional<int> gpu_instance) {
  GpuSample gpu = Gpu(uuid, parent.index, parent.minor_number);
  gpu.parent_uuid = parent.uuid;
  gpu.gpu_instance = gpu_instance;
  return gpu;
}

std::vector<int> Find(const char* resource, const std::string& id,
                      const std::vector<GpuSample>& gpus) {
  const auto device = ParseDeviceId(resource, id);
  EXPECT_TRUE(device) << id;
  return FindGpus(*device, gpus);
}

TEST(FindGpus, ByUuidInAnyCase) {
  const std::vector<GpuSample> gpus = {Gpu(kOther, 0), Gpu(kUuid, 1)};
  EXPECT_THAT(Find("nvidia.com/gpu", kUuid, gpus), ElementsAre(1));
  EXPECT_THAT(Find("nvidia.com/gpu", "GPU-7A6BD0C9-9B4C-4A3F-8A9E-1F6A2D3C4B5A::1", gpus),
              ElementsAre(1));
  EXPECT_THAT(Find("nvidia.com/gpu", kMig, gpus), IsEmpty());
}

TEST(FindGpus, ByMinorNumberAndNeverByIndex) {
  EXPECT_THAT(Find("nvidia.com/gpu", "nvidia0", {Gpu(kUuid, 0, 1), Gpu(kOther, 1, 0)}),
              ElementsAre(1));
  EXPECT_THAT(Find("nvidia.com/gpu", "nvidia0", {Gpu(kUuid, 0)}), IsEmpty());
}

TEST(FindGpus, MigInstanceByItsPlace) {
  const GpuSample parent = Gpu(kUuid, 0, 0);
  const std::vector<GpuSample> gpus = {parent, Instance(kMig, parent, 3),
                                       Instance("MIG-b", parent, 4)};
  EXPECT_THAT(Find("nvidia.com/gpu", "nvidia0/gi4", gpus), ElementsAre(2));
  EXPECT_THAT(Find("nvidia.com/gpu", "nvidia0", gpus), ElementsAre(0));
  EXPECT_THAT(Find("nvidia.com/gpu", absl::StrCat("MIG-", kUuid, "/3/0"), gpus), ElementsAre(1));
}

TEST(FindGpus, ComputeInstanceIsNotGuessed) {
  const GpuSample parent = Gpu(kUuid, 0, 0);
  EXPECT_THAT(Find("nvidia.com/gpu", "nvidia0/gi3",
                   {parent, Instance("MIG-a", parent, 3), Instance("MIG-b", parent, 3)}),
              IsEmpty());
}

TEST(FindGpus, AllIsEveryGpuAndNoMigInstance) {
  const GpuSample parent = Gpu(kUuid, 0);
  EXPECT_THAT(Find("nvidia.com/gpu", "all", {parent, Instance(kMig, parent, 3), Gpu(kOther, 1)}),
              ElementsAre(0, 2));
}

TEST(FindGpus, DraDeviceByMinorNumberAndNeverAnInstance) {
  const GpuSample parent = Gpu(kUuid, 0, 1);
  const GpuSample instance = Instance(kMig, parent, std::nullopt);
  EXPECT_THAT(Find("gpu.nvidia.com", "gpu-1", {Gpu(kOther, 1, 0), parent, instance}),
              ElementsAre(1));
  EXPECT_THAT(Find("gpu.nvidia.com", "gpu-1-mig-1g5gb-19-0", {parent, instance}), IsEmpty());
}

GpuSample AmdGpu(const char* uuid, int index, std::vector<std::string> device_ids) {
  GpuSample gpu = Gpu(uuid, index);
  gpu.device_ids = std::move(device_ids);
  return gpu;
}

// A whole GPU, and one in two partitions, beside a GPU of NVIDIA's.
std::vector<GpuSample> BothVendors() {
  std::vector<GpuSample> gpus = {
      Gpu(kUuid, 0, 0), AmdGpu("1901e6b24a7a4ae6", 1, {"card1", "0000:63:00.0", "renderD128"}),
      AmdGpu("e3a9716b4cd5ab71", 2, {"card2"}),
      AmdGpu("e3a9716b4cd5ab71/0", 2, {"0000:05:00.0", "renderD129"}),
      AmdGpu("e3a9716b4cd5ab71/1", 2, {"amdgpu_xcp_0", "renderD130"})};
  gpus[2].is_in_mig_mode = true;
  gpus[3].parent_uuid = gpus[2].uuid;
  gpus[4].parent_uuid = gpus[2].uuid;
  return gpus;
}

TEST(FindGpus, AmdDeviceByItsIds) {
  const std::vector<GpuSample> gpus = BothVendors();
  EXPECT_THAT(Find("amd.com/gpu", "0000:63:00.0", gpus), ElementsAre(1));
  EXPECT_THAT(Find("amd.com/cpx_nps1", "0000:05:00.0", gpus), ElementsAre(3))
      << "the plugin's id of partition 0";
  EXPECT_THAT(Find("amd.com/cpx_nps1", "amdgpu_xcp_0", gpus), ElementsAre(4));
  EXPECT_THAT(Find("gpu.amd.com", "gpu-1-128", gpus), ElementsAre(1));
  EXPECT_THAT(Find("gpu.amd.com", "gpu-2-129", gpus), ElementsAre(3));
  EXPECT_THAT(Find("gpu.amd.com", "gpu-0-130", gpus), ElementsAre(4)) << "by the render minor";
  EXPECT_THAT(Find("amd.com/gpu", "0000:19:00.0", gpus), IsEmpty());
  EXPECT_THAT(Find("nvidia.com/gpu", "all", gpus), ElementsAre(0)) << "NVIDIA's alone";
}

std::vector<int> Possible(const char* resource, const std::string& id,
                          const std::vector<GpuSample>& gpus) {
  const auto device = ParseDeviceId(resource, id);
  EXPECT_TRUE(device) << id;
  return FindPossibleGpus(*device, gpus);
}

TEST(FindPossibleGpus, MissingMinorNumberMayBeAGpuWithoutANumber) {
  const std::vector<GpuSample> gpus = {Gpu(kUuid, 0, 0), Gpu(kOther, 1),
                                       Gpu(UnknownGpuUuid(2).c_str(), 2)};
  EXPECT_THAT(Possible("gpu.nvidia.com", "gpu-1", gpus), ElementsAre(1, 2));
  EXPECT_THAT(Possible("nvidia.com/gpu", "nvidia1", gpus), ElementsAre(1, 2));
  EXPECT_THAT(Possible("gpu.nvidia.com", "gpu-1", {Gpu(kUuid, 0, 0)}), IsEmpty());
}

TEST(FindPossibleGpus, DraInstanceIsAnInstanceOfItsGpu) {
  const GpuSample parent = Gpu(kUuid, 0, 0);
  const GpuSample other = Gpu(kOther, 1, 1);
  const std::vector<GpuSample> gpus = {
      parent, Instance(kMig, parent, 3),   Instance("MIG-b", parent, 4),
      other,  Instance("MIG-c", other, 3), Gpu(UnknownGpuUuid(2).c_str(), 2)};
  EXPECT_THAT(Possible("gpu.nvidia.com", "gpu-0-mig-1g5gb-19-0", gpus), ElementsAre(1, 2));
  EXPECT_THAT(Possible("gpu.nvidia.com", "gpu-7-mig-1g5gb-19-0", gpus), ElementsAre(5));
}

TEST(FindPossibleGpus, HiddenInstanceBelongsToAGpuInMigMode) {
  std::vector<GpuSample> gpus = {Gpu(kUuid, 0, 0), Gpu(kOther, 1, 1)};
  gpus[1].is_in_mig_mode = true;
  EXPECT_THAT(Possible("nvidia.com/mig-1g.10gb", kMig, gpus), ElementsAre(1));
  EXPECT_THAT(Possible("gpu.nvidia.com", "gpu-1-mig-1g5gb-19-0", gpus), ElementsAre(1));
  EXPECT_THAT(Possible("nvidia.com/gpu", "nvidia1/gi3", gpus), ElementsAre(1));
  EXPECT_THAT(Possible("nvidia.com/gpu", absl::StrCat("MIG-", kUuid, "/3/0"), gpus),
              ElementsAre(0));
  EXPECT_THAT(Possible("nvidia.com/gpu", "GPU-00000000-9b4c-4a3f-8a9e-1f6a2d3c4b50", gpus),
              IsEmpty())
      << "no instance";
}

TEST(FindPossibleGpus, ComputeInstanceIsOneOfItsGpuInstance) {
  const GpuSample parent = Gpu(kUuid, 0, 0);
  const std::vector<GpuSample> gpus = {parent, Instance("MIG-a", parent, 3),
                                       Instance("MIG-b", parent, 3), Instance("MIG-c", parent, 4)};
  EXPECT_THAT(Possible("nvidia.com/gpu", "nvidia0/gi3", gpus), ElementsAre(1, 2));
  EXPECT_THAT(Possible("nvidia.com/gpu", absl::StrCat("MIG-", kUuid, "/3/0"), gpus),
              ElementsAre(1, 2));
}

TEST(FindPossibleGpus, VirtualGpuMayBeAnyGpu) {
  const std::string id = absl::StrCat(kUuid, "-7");
  const std::vector<GpuSample> gpus = {Gpu(kUuid, 0), Gpu(kOther, 1)};
  EXPECT_THAT(Find("volcano.sh/vgpu-number", id, gpus), IsEmpty());
  EXPECT_THAT(Possible("volcano.sh/vgpu-number", id, gpus), ElementsAre(0, 1));
}

TEST(FindGpus, VirtualGpuIsTheOnlyGpuOfItsNode) {
  EXPECT_THAT(Find("nvidia.com/gpu", absl::StrCat(kUuid, "-7"), {Gpu(kUuid, 0)}), ElementsAre(0));
  EXPECT_THAT(Find("nvidia.com/gpu", absl::StrCat(kOther, "-7"), {Gpu(kUuid, 0)}), IsEmpty())
      << "another one is not counted";
}

TEST(FindPossibleGpus, NvidiasIdIsNoGpuOfAmd) {
  std::vector<GpuSample> gpus = BothVendors();
  EXPECT_THAT(Possible("nvidia.com/gpu", "nvidia3", gpus), IsEmpty());
  EXPECT_THAT(Possible("nvidia.com/mig-1g.10gb", kMig, gpus), IsEmpty());
  EXPECT_THAT(Possible("volcano.sh/vgpu-number", absl::StrCat(kUuid, "-7"), gpus), ElementsAre(0));
  EXPECT_THAT(Possible("amd.com/gpu", "0000:19:00.0", gpus), IsEmpty());
}

TEST(FindPossibleGpus, UuidMayBeAGpuThatHasNotAnswered) {
  const std::vector<GpuSample> gpus = {Gpu(kOther, 0, 0), Gpu(UnknownGpuUuid(1).c_str(), 1)};
  EXPECT_THAT(Possible("nvidia.com/gpu", kUuid, gpus), ElementsAre(1));
  EXPECT_THAT(Possible("amd.com/gpu", "0000:19:00.0", gpus), IsEmpty());
  EXPECT_THAT(Possible("gpu.nvidia.com", "slice-0", gpus), ElementsAre(0, 1));
}

}  // namespace
}  // namespace gpuscaler
