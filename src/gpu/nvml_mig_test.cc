// MIG instances as devices of their own.
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gpu/fake_driver.h"
#include "gpu/nvml_source.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using Json = FakeDriver::Json;

class NvmlMigTest : public testing::Test {
 protected:
  // GPU 0 with two instances; MIG leaves it no utilization of its own.
  NvmlMigTest() {
    Json& gpu = driver_.Gpu(0);
    gpu.erase("utilization");
    gpu["mig"] = {Instance("MIG-x", 1), Instance("MIG-y", 2)};
    driver_.Save();
  }
  static Json Instance(const std::string& uuid, int gpu_instance) {
    return {{"uuid", uuid},         {"name", "NVIDIA H200 MIG 1g.18gb"},
            {"gi", gpu_instance},   {"busy_usec", 0},
            {"memory", {20, 1, 5}}, {"processes", {{77, 5}}}};
  }

  std::vector<GpuSample> Read(const CostlyReadings& wanted = {}) {
    const auto snapshot = source_.Read(wanted);
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? snapshot->gpus.get() : std::vector<GpuSample>(8);
  }
  std::vector<std::string> Uuids() {
    std::vector<std::string> uuids;
    for (const GpuSample& gpu : Read()) uuids.push_back(gpu.uuid);
    return uuids;
  }
  // Advances one second, in which the instances were busy for these percentages of the time.
  void NextSecond(double x_percent, double y_percent) {
    clock_.Advance(absl::Seconds(1));
    Json& gpu = driver_.Gpu(0);
    gpu["field_usec"] = absl::ToUnixMicros(clock_.Now());
    for (const auto& [i, percent] : {std::pair{0, x_percent}, {1, y_percent}}) {
      Json& busy = gpu["mig"][static_cast<size_t>(i)]["busy_usec"];
      busy = busy.get<double>() + percent * 10'000;
    }
    driver_.Save();
  }

  FakeClock clock_;
  FakeDriver driver_;
  NvmlSource source_{FakeDriver::New(), "gpu-7", clock_};
};

TEST_F(NvmlMigTest, InstancesFollowTheirGpuWithTheirOwnUuidMemoryAndProcesses) {
  EXPECT_THAT(Uuids(), testing::ElementsAre("GPU-a", "MIG-x", "MIG-y", "GPU-b"));
  const GpuSample instance = Read()[2];
  EXPECT_EQ(instance.parent_uuid, "GPU-a");
  EXPECT_EQ(instance.name, "NVIDIA H200 MIG 1g.18gb");
  EXPECT_EQ(instance.index, 0);
  EXPECT_EQ(instance.gpu_instance, driver_.Gpu(0)["mig"][1]["gi"].get<int>());
  EXPECT_EQ(instance.memory_used_bytes, 5);
  EXPECT_EQ(instance.memory_total_bytes, 20);
  EXPECT_EQ(instance.processes->at(0).pid, 77);
}

TEST_F(NvmlMigTest, GpuIsInMigModeThoughNoInstanceIsShown) {
  EXPECT_TRUE(Read()[0].is_in_mig_mode);
  driver_.Gpu(0)["mig"] = Json::array();
  driver_.Save();
  const std::vector<GpuSample> gpus = Read();
  ASSERT_EQ(gpus.size(), 2);
  EXPECT_TRUE(gpus[0].is_in_mig_mode);
  EXPECT_FALSE(gpus[1].is_in_mig_mode);
}

TEST_F(NvmlMigTest, InstanceWithoutANameHasItsGpus) {
  driver_.Gpu(0)["mig"][0]["errors"] = {{"nvmlDeviceGetName", 3}};
  driver_.Save();
  const auto gpus = Read();
  EXPECT_FALSE(gpus[0].name.empty());
  EXPECT_EQ(gpus[1].name, gpus[0].name);
}

TEST_F(NvmlMigTest, UtilizationWithoutGpmDoesNotExistAndIsNotZero) {
  NextSecond(50, 50);
  Read();
  NextSecond(50, 50);
  for (const GpuSample& gpu : Read()) {
    if (gpu.uuid == "GPU-b") continue;
    EXPECT_EQ(gpu.utilization_percent, std::nullopt) << gpu.uuid;
    EXPECT_EQ(FindGap(gpu, GpuField::kUtilization), nullptr) << gpu.uuid;
  }
}

TEST_F(NvmlMigTest, UtilizationByGpmIsTheMeanBetweenTwoReadings) {
  driver_.Gpu(0)["gpm"] = true;
  NextSecond(0, 0);
  const GpuSample first = Read()[1];
  EXPECT_EQ(first.utilization_percent, std::nullopt);
  ASSERT_NE(FindGap(first, GpuField::kUtilization), nullptr);
  NextSecond(25, 80);
  const auto second = Read();
  EXPECT_EQ(second[1].utilization_percent, 25);
  EXPECT_EQ(second[2].utilization_percent, 80);
  clock_.Advance(absl::Milliseconds(50));
  EXPECT_EQ(Read()[1].utilization_percent, 25) << "too soon for another sample";
}

TEST_F(NvmlMigTest, ActivityBelongsToTheInstancesAndComesWithTheirUtilization) {
  driver_.Gpu(0)["gpm"] = true;
  driver_.Gpu(0)["gpm_usec"] = {{"2", 0}, {"5", 0}, {"10", 0}};
  driver_.Gpu(0)["mig"][0]["gpm_usec"] = {{"2", 0}, {"5", 0}, {"10", 0}};
  NextSecond(0, 0);
  const auto unasked = Read();
  EXPECT_EQ(FindGap(unasked[0], GpuField::kDramActivity), nullptr) << "its instances have it";
  ASSERT_NE(FindGap(unasked[1], GpuField::kDramActivity), nullptr);
  EXPECT_EQ(FindGap(unasked[1], GpuField::kDramActivity)->reason, GpuGap::Reason::kNotRequested);
  driver_.Gpu(0)["mig"][0]["gpm_usec"] = {{"2", 600'000}, {"5", 50'000}, {"10", 250'000}};
  NextSecond(90, 80);
  const auto gpus = Read({.activity = true});
  EXPECT_EQ(gpus[0].sm_activity_percent, std::nullopt);
  EXPECT_EQ(gpus[1].utilization_percent, 90);
  EXPECT_EQ(gpus[1].sm_activity_percent, 60);
  EXPECT_EQ(gpus[1].dram_activity_percent, 25);
  EXPECT_EQ(gpus[1].tensor_activity_percent, 5);
  EXPECT_TRUE(gpus[1].gaps.empty());
  EXPECT_EQ(gpus[2].utilization_percent, 80);
  EXPECT_EQ(gpus[2].sm_activity_percent, std::nullopt) << "it has no such counters";
}

TEST_F(NvmlMigTest, FailedGpmQueryIsAGapAndIsRepeated) {
  driver_.Gpu(0)["gpm"] = true;
  driver_.Gpu(0)["errors"] = {{"nvmlGpmQueryDeviceSupport", 20}};
  NextSecond(0, 0);
  const GpuSample failed = Read()[1];
  ASSERT_NE(FindGap(failed, GpuField::kUtilization), nullptr);
  EXPECT_EQ(FindGap(failed, GpuField::kUtilization)->detail, "NVML error 20 (MEMORY)");
  driver_.Gpu(0).erase("errors");
  NextSecond(0, 0);
  Read();
  NextSecond(25, 80);
  EXPECT_EQ(Read()[1].utilization_percent, 25);
}

TEST_F(NvmlMigTest, InstanceCreatedAgainUnderTheSameIdStartsNewSamples) {
  driver_.Gpu(0)["gpm"] = true;
  NextSecond(0, 0);
  Read();
  driver_.Gpu(0)["mig"][0]["uuid"] = "MIG-z";
  NextSecond(90, 80);
  const auto gpus = Read();
  EXPECT_EQ(gpus[1].uuid, "MIG-z");
  EXPECT_EQ(gpus[1].utilization_percent, std::nullopt);
  EXPECT_EQ(gpus[2].utilization_percent, 80);
}

TEST_F(NvmlMigTest, InstanceThatWasDestroyedIsGone) {
  EXPECT_EQ(Read().size(), 4);
  driver_.Gpu(0)["mig"].erase(0);
  driver_.Save();
  EXPECT_THAT(Uuids(), testing::ElementsAre("GPU-a", "MIG-y", "GPU-b"));
}

TEST_F(NvmlMigTest, PlaceThatNeverAnsweredHidesNoDestroyedInstance) {
  Json forbidden = Instance("MIG-w", 3);
  forbidden["errors"] = {{"nvmlDeviceGetUUID", 4}};
  driver_.Gpu(0)["mig"] = {forbidden, Instance("MIG-x", 1), Instance("MIG-y", 2)};
  driver_.Save();
  EXPECT_THAT(Uuids(), testing::ElementsAre("GPU-a", "MIG-x", "MIG-y", "GPU-b"));
  driver_.Gpu(0)["mig"].erase(2);
  driver_.Save();
  EXPECT_THAT(Uuids(), testing::ElementsAre("GPU-a", "MIG-x", "GPU-b"));
}

TEST_F(NvmlMigTest, InstanceThatAnsweredOnceIsUnreadableWhileItsPlaceFails) {
  Read();
  driver_.Gpu(0)["mig"][1]["errors"] = {{"nvmlDeviceGetUUID", 4}};
  driver_.Save();
  for (int tick = 0; tick < 3; ++tick) {
    EXPECT_THAT(Uuids(), testing::UnorderedElementsAre("GPU-a", "MIG-x", "MIG-y", "GPU-b"));
    EXPECT_EQ(Read()[2].memory_used_bytes, std::nullopt);
  }
}

TEST_F(NvmlMigTest, InstancesOfAGpuThatIsLostAreUnreadableAndNotGone) {
  Read();
  driver_.Gpu(0)["error"] = 15;
  driver_.Save();
  const auto gpus = Read();
  ASSERT_EQ(gpus.size(), 4);
  EXPECT_EQ(gpus[1].uuid, "MIG-x");
  EXPECT_EQ(gpus[1].parent_uuid, "GPU-a");
  EXPECT_EQ(gpus[1].memory_used_bytes, std::nullopt);
  ASSERT_NE(FindGap(gpus[1], GpuField::kMemory), nullptr);
  EXPECT_EQ(FindGap(gpus[1], GpuField::kMemory)->detail, "NVML error 15 (GPU_IS_LOST)");
  EXPECT_EQ(FindGap(gpus[1], GpuField::kPower), nullptr) << "an instance has no power";
}

TEST_F(NvmlMigTest, InstancesThatCannotBeListedAreUnreadableAndNotGone) {
  Read();
  for (const char* call : {"nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount",
                           "nvmlDeviceGetMigDeviceHandleByIndex"}) {
    driver_.Gpu(0)["errors"] = {{call, 999}};
    driver_.Save();
    const auto gpus = Read();
    ASSERT_EQ(gpus.size(), 4) << call;
    EXPECT_EQ(gpus[0].memory_used_bytes, 300) << call;
    EXPECT_EQ(gpus[1].uuid, "MIG-x") << call;
    EXPECT_EQ(gpus[1].memory_used_bytes, std::nullopt) << call;
    EXPECT_NE(FindGap(gpus[1], GpuField::kMemory), nullptr) << call;
  }
}

}  // namespace
}  // namespace gpuscaler
