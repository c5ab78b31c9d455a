#include "kubelet/pod_resources.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kubelet/kubelet_socket.h"
#include "podresources.pb.h"

namespace gpuscaler {
namespace {

// The list of a dense node, with CPU and memory of every container, exceeds gRPC's 4 MiB.
constexpr size_t kMaxBytesListed = 16 << 20;

// Plugins that share GPUs may have one id for each MiB of memory: a pod has tens of thousands.
class DistinctDevices {
 public:
  void Add(PodDevice device) {
    if (listed_.insert(device).second) devices_.push_back(std::move(device));
  }
  std::vector<PodDevice> Take() { return std::move(devices_); }

 private:
  std::set<PodDevice> listed_;
  std::vector<PodDevice> devices_;
};

bool IsNameOf(const std::string& cdi_name, const std::string& device) {
  return absl::EndsWith(cdi_name, absl::StrCat("-", device)) ||
         absl::EndsWith(cdi_name, absl::StrCat("=", device));
}

// A kubelet lists names cumulatively: each row of a driver repeats the names of the rows before
// (kubernetes pkg/kubelet/cm, GetDynamicResources). The row's own names end in the device's name.
// Some drivers name devices otherwise: then the names that no earlier row has are returned.
std::vector<std::string> OwnNames(const v1::ClaimResource& row, std::set<std::string>& listed) {
  std::vector<std::string> named;
  std::vector<std::string> added;
  for (const v1::CDIDevice& cdi : row.cdi_devices()) {
    if (IsNameOf(cdi.name(), row.device_name())) named.push_back(cdi.name());
    if (listed.insert(cdi.name()).second) added.push_back(cdi.name());
  }
  return named.empty() ? added : named;
}

void AddClaim(const std::string& container, const v1::DynamicResource& claim,
              DistinctDevices& devices) {
  std::set<std::string> listed;
  for (const v1::ClaimResource& row : claim.claim_resources()) {
    devices.Add({.container = container,
                 .resource = row.driver_name(),
                 .id = row.device_name(),
                 .claim = absl::StrCat(claim.claim_namespace(), "/", claim.claim_name()),
                 .cdi_names = OwnNames(row, listed)});
  }
}

void AddDevices(const v1::ContainerResources& container, DistinctDevices& devices) {
  for (const v1::ContainerDevices& row : container.devices()) {
    for (const std::string& id : row.device_ids()) {
      devices.Add({.container = container.name(), .resource = row.resource_name(), .id = id});
    }
  }
  for (const v1::DynamicResource& claim : container.dynamic_resources()) {
    AddClaim(container.name(), claim, devices);
  }
}

}  // namespace

std::vector<PodDevices> PodDevicesIn(const ::v1::ListPodResourcesResponse& response) {
  std::vector<PodDevices> pods;
  for (const v1::PodResources& resources : response.pod_resources()) {
    DistinctDevices devices;
    for (const v1::ContainerResources& container : resources.containers()) {
      AddDevices(container, devices);
    }
    pods.push_back({.namespace_name = resources.namespace_(),
                    .name = resources.name(),
                    .devices = devices.Take()});
  }
  return pods;
}

absl::StatusOr<std::vector<PodDevices>> ListPodDevices(EventLoop& loop, const std::string& socket,
                                                       absl::Duration timeout) {
  ASSIGN_OR_RETURN(const std::string bytes, CallKubelet(loop, socket, "/v1.PodResourcesLister/List",
                                                        kMaxBytesListed, timeout));
  v1::ListPodResourcesResponse response;
  if (!response.ParseFromString(bytes)) {
    return absl::InternalError(absl::StrCat(socket, ": the answer is no ListPodResourcesResponse"));
  }
  return PodDevicesIn(response);
}

}  // namespace gpuscaler
