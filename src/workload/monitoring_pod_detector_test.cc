#include "workload/monitoring_pod_detector.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

PodAllocation PodWith(const std::string& claim, const std::vector<std::string>& devices) {
  PodAllocation pod;
  for (const std::string& id : devices) {
    pod.devices.push_back({.resource = "gpu.nvidia.com", .id = id, .claim = claim});
  }
  return pod;
}

// Three GPUs, and a MIG instance of the first.
std::vector<GpuSample> ThreeGpusOneInMigMode() {
  std::vector<GpuSample> gpus(3);
  gpus[0].uuid = "GPU-a";
  gpus[1].uuid = "GPU-b";
  gpus[2].uuid = "GPU-c";
  GpuSample instance;
  instance.uuid = "MIG-a";
  instance.parent_uuid = "GPU-a";
  gpus.push_back(instance);
  return gpus;
}

TEST(MonitoringPodDetector, ClaimHasAllGpusIfItHasADeviceOfEachThatIsNotInMigMode) {
  const std::vector<PodAllocation> pods = {
      PodWith("a/all", {"gpu-1", "gpu-2"}), PodWith("a/one", {"gpu-1"}),
      PodWith("a/instances-of-one", {"gpu-0-mig-1g5gb-19-0", "gpu-0-mig-1g5gb-19-1"}),
      PodWith("", {"gpu-1", "gpu-2"})};
  const std::vector<GpuSample> gpus = ThreeGpusOneInMigMode();
  const MonitoringPodDetector claims(pods, gpus);
  EXPECT_TRUE(claims.HasAllGpus("a/all"));
  EXPECT_FALSE(claims.HasAllGpus("a/one"));
  EXPECT_FALSE(claims.HasAllGpus("a/instances-of-one"));
  EXPECT_FALSE(claims.HasAllGpus("")) << "the devices of a plugin";
  EXPECT_FALSE(MonitoringPodDetector(pods, {}).HasAllGpus("a/all")) << "a node without GPUs";
}

TEST(MonitoringPodDetector, ClaimHasAllGpusOfItsVendor) {
  std::vector<GpuSample> gpus = ThreeGpusOneInMigMode();
  for (const char* const render : {"renderD128", "renderD129"}) {
    gpus.push_back({.uuid = render, .device_ids = {render}});
  }
  std::vector<PodAllocation> pods = {PodWith("a/nvidia", {"gpu-1", "gpu-2"}),
                                     PodWith("a/amd", {"gpu-1-128", "gpu-2-129"}),
                                     PodWith("a/one", {"gpu-1-128"})};
  for (const size_t pod : {1, 2}) {
    for (PodDevice& device : pods[pod].devices) device.resource = "gpu.amd.com";
  }
  const MonitoringPodDetector claims(pods, gpus);
  EXPECT_TRUE(claims.HasAllGpus("a/nvidia"));
  EXPECT_TRUE(claims.HasAllGpus("a/amd"));
  EXPECT_FALSE(claims.HasAllGpus("a/one"));
}

TEST(MonitoringPodDetector, ClaimsOfOnePodCountTogether) {
  std::vector<PodAllocation> pods = {PodWith("a/gpu", {"gpu-1"})};
  pods[0].devices.push_back({.resource = "gpu.nvidia.com", .id = "gpu-2", .claim = "a/other"});
  pods[0].devices.push_back(
      {.resource = "gpu.nvidia.com", .id = "gpu-0-mig-1g5gb-19-0", .claim = "a/instances"});
  const MonitoringPodDetector claims(pods, ThreeGpusOneInMigMode());
  for (const char* const claim : {"a/gpu", "a/other", "a/instances"}) {
    EXPECT_TRUE(claims.HasAllGpus(claim)) << claim;
  }
}

TEST(MonitoringPodDetector, InstancesCountIfAllGpusAreInMigMode) {
  std::vector<GpuSample> gpus = ThreeGpusOneInMigMode();
  for (GpuSample& gpu : gpus) gpu.is_in_mig_mode = !IsMig(gpu);
  const MonitoringPodDetector claims(
      {PodWith("a/each", {"gpu-0-mig-1g5gb-19-0", "gpu-1-mig-1g5gb-19-0", "gpu-2-mig-1g5gb-19-0"}),
       PodWith("a/two", {"gpu-0-mig-1g5gb-19-1", "gpu-0-mig-1g5gb-19-2", "gpu-1-mig-1g5gb-19-1"})},
      gpus);
  EXPECT_TRUE(claims.HasAllGpus("a/each"));
  EXPECT_FALSE(claims.HasAllGpus("a/two"));
}

TEST(MonitoringPodDetector, NameOfAPodDoesNotProveADaemonSet) {
  const std::vector<PodAllocation> pods = {PodWith("a/all", {"gpu-1", "gpu-2"}),
                                           PodWith("a/one", {"gpu-1"})};
  const std::vector<GpuSample> gpus = ThreeGpusOneInMigMode();
  const MonitoringPodDetector claims(pods, gpus);
  Pod pod{.owners = {{.kind = "DaemonSet", .name = "exporter", .group = ""}},
          .owners_from = Pod::OwnersFrom::kReferences};
  const PodDevice all = pods[0].devices[0];
  const PodDevice one = pods[1].devices[0];
  EXPECT_TRUE(claims.IsMonitoring(pod, all));
  EXPECT_FALSE(claims.IsMonitoring(pod, one));
  pod.owners_from = Pod::OwnersFrom::kName;
  EXPECT_FALSE(claims.IsMonitoring(pod, all));
  EXPECT_TRUE(claims.MayBeMonitoring(pod, all));
  pod.owners[0].kind = "StatefulSet";
  EXPECT_FALSE(claims.MayBeMonitoring(pod, all));
}

TEST(MonitoringPodDetector, DriversCheckpointOverridesTheOwner) {
  const std::vector<PodAllocation> pods = {PodWith("a/all", {"gpu-1", "gpu-2"})};
  const MonitoringPodDetector claims(pods, ThreeGpusOneInMigMode());
  const Pod pod{.owners = {{.kind = "DaemonSet", .name = "engine", .group = ""}},
                .owners_from = Pod::OwnersFrom::kReferences};
  PodDevice device = pods[0].devices[0];
  device.is_held = true;
  EXPECT_FALSE(claims.IsMonitoring(pod, device));
  EXPECT_FALSE(claims.MayBeMonitoring(pod, device));
}

}  // namespace
}  // namespace gpuscaler
