// Client of the kubelet's PodResources API (proto/podresources.proto): the devices of each pod.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace v1 {
class ListPodResourcesResponse;
}

namespace gpuscaler {

class EventLoop;

// A device of a container, whether a GPU or not. A device plugin provides it, or a DRA driver for a
// ResourceClaim of the pod.
struct PodDevice {
  std::string container;
  std::string resource;                // "nvidia.com/gpu", or the DRA driver: "gpu.nvidia.com"
  std::string id;                      // as the plugin or the driver names the device
  std::string claim;                   // "shop/web-0-gpu-x7k2p"; empty: from a device plugin
  std::vector<std::string> cdi_names;  // claims only: "k8s.gpu.nvidia.com/claim=UID-gpu-0"

  // The kubelet does not report the rest. ClaimFiles::AddTo() fills it from the driver's files.
  // Further ids of the same device, the most reliable first.
  std::vector<std::string> other_ids;
  // The driver prepared the device for the pod without admin access, so the pod holds it.
  bool is_held = false;

  friend auto operator<=>(const PodDevice&, const PodDevice&) = default;
};

struct PodDevices {
  std::string namespace_name;
  std::string name;
  std::vector<PodDevice> devices;  // without duplicates

  friend bool operator==(const PodDevices&, const PodDevices&) = default;
};

std::vector<PodDevices> PodDevicesIn(const ::v1::ListPodResourcesResponse& response);

// Lists all active pods, also those without devices. An error names the socket and what to do.
// PERMISSION_DENIED: the socket may not be opened. NOT_FOUND: there is no socket.
// DEADLINE_EXCEEDED: no answer within `timeout`. RESOURCE_EXHAUSTED: the clients of the kubelet
// made more than 100 calls in a second together, or the answer is longer than 16 MiB. INTERNAL: the
// answer cannot be parsed. Blocks for at most `timeout`. Thread-safe.
absl::StatusOr<std::vector<PodDevices>> ListPodDevices(EventLoop& loop, const std::string& socket,
                                                       absl::Duration timeout);

}  // namespace gpuscaler
