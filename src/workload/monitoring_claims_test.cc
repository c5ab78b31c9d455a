#include "workload/monitoring_claims.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;

NodePod PodWith(const std::string& claim, const std::vector<std::string>& devices) {
  NodePod pod;
  for (const std::string& id : devices) {
    pod.devices.push_back({.resource = "gpu.nvidia.com", .id = id, .claim = claim});
  }
  return pod;
}

std::vector<GpuSample> TwoGpus() {
  std::vector<GpuSample> gpus(2);
  gpus[0].uuid = "GPU-a";
  gpus[1].uuid = "GPU-b";
  GpuSample instance;
  instance.uuid = "MIG-a";
  instance.parent_uuid = "GPU-a";
  gpus.push_back(instance);
  return gpus;
}

TEST(MonitoringClaims, ClaimHasAllGpusIfItHasADeviceOfEach) {
  const std::vector<NodePod> pods = {
      PodWith("a/all", {"gpu-0", "gpu-1"}), PodWith("a/one", {"gpu-0"}),
      PodWith("a/instances-of-one", {"gpu-0-mig-1g5gb-19-0", "gpu-0-mig-1g5gb-19-1"}),
      PodWith("", {"gpu-0", "gpu-1"})};
  const std::vector<GpuSample> gpus = TwoGpus();
  const MonitoringClaims claims(pods, gpus);
  EXPECT_TRUE(claims.HasAllGpus("a/all"));
  EXPECT_FALSE(claims.HasAllGpus("a/one"));
  EXPECT_FALSE(claims.HasAllGpus("a/instances-of-one"));
  EXPECT_FALSE(claims.HasAllGpus("")) << "the devices of a plugin";
  EXPECT_FALSE(MonitoringClaims(pods, {}).HasAllGpus("a/all")) << "a node without GPUs";
  EXPECT_THAT(claims.Smallest({"a/all", "a/one", "a/instances-of-one"}),
              ElementsAre("a/instances-of-one", "a/one"));
}

TEST(MonitoringClaims, NameOfAPodIsNoProofOfADaemonSet) {
  const std::vector<NodePod> pods = {PodWith("a/all", {"gpu-0", "gpu-1"}),
                                     PodWith("a/one", {"gpu-0"})};
  const std::vector<GpuSample> gpus = TwoGpus();
  const MonitoringClaims claims(pods, gpus);
  Pod pod{.owners = {{.kind = "DaemonSet", .name = "exporter", .group = ""}},
          .owners_from = Pod::OwnersFrom::kReferences};
  EXPECT_TRUE(claims.IsMonitoring(pod, "a/all"));
  EXPECT_FALSE(claims.IsMonitoring(pod, "a/one"));
  pod.owners_from = Pod::OwnersFrom::kName;
  EXPECT_FALSE(claims.IsMonitoring(pod, "a/all"));
  EXPECT_TRUE(claims.MayBeMonitoring(pod, "a/all"));
  pod.owners[0].kind = "StatefulSet";
  EXPECT_FALSE(claims.MayBeMonitoring(pod, "a/all"));
}

}  // namespace
}  // namespace gpuscaler
