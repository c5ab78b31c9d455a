#include "kubelet/pod_resources.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kubelet/kubelet_socket.h"
#include "podresources.pb.h"

namespace gpuscaler {
namespace {

// A dense node with CPU and memory of every container passes gRPC's 4 MiB.
constexpr size_t kMostBytesListed = 16 << 20;

void AddOnce(PodDevice device, PodDevices& pod) {
  if (std::ranges::find(pod.devices, device) == pod.devices.end()) {
    pod.devices.push_back(std::move(device));
  }
}

void AddDevices(const v1::ContainerResources& container, PodDevices& pod) {
  for (const v1::ContainerDevices& devices : container.devices()) {
    for (const std::string& id : devices.device_ids()) {
      AddOnce({.container = container.name(), .resource = devices.resource_name(), .id = id}, pod);
    }
  }
  for (const v1::DynamicResource& claim : container.dynamic_resources()) {
    for (const v1::ClaimResource& resource : claim.claim_resources()) {
      PodDevice device = {.container = container.name(),
                          .resource = resource.driver_name(),
                          .id = resource.device_name()};
      for (const v1::CDIDevice& cdi : resource.cdi_devices()) {
        device.cdi_names.push_back(cdi.name());
      }
      AddOnce(std::move(device), pod);
    }
  }
}

}  // namespace

std::vector<PodDevices> PodDevicesIn(const ::v1::ListPodResourcesResponse& response) {
  std::vector<PodDevices> pods;
  for (const v1::PodResources& resources : response.pod_resources()) {
    PodDevices pod = {.namespace_name = resources.namespace_(), .name = resources.name()};
    for (const v1::ContainerResources& container : resources.containers()) {
      AddDevices(container, pod);
    }
    pods.push_back(std::move(pod));
  }
  return pods;
}

absl::StatusOr<std::vector<PodDevices>> PodResources::List(absl::Duration timeout) const {
  ASSIGN_OR_RETURN(const std::string bytes,
                   CallKubelet(socket_, "/v1.PodResourcesLister/List", kMostBytesListed, timeout));
  v1::ListPodResourcesResponse response;
  if (!response.ParseFromString(bytes)) {
    return absl::InternalError(
        absl::StrCat(socket_, ": the answer is no ListPodResourcesResponse"));
  }
  return PodDevicesIn(response);
}

}  // namespace gpuscaler
