// Client of the kubelet's PodResources API (proto/podresources.proto): the devices of each pod.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "wire/event_loop.h"

namespace v1 {
class ListPodResourcesResponse;
}

namespace gpuscaler {

// A device of a container, whether a GPU or not.
struct PodDevice {
  std::string container;
  std::string resource;                // "nvidia.com/gpu"; for a claim its driver, "gpu.nvidia.com"
  std::string id;                      // the plugin's; for a claim the driver's name of the device
  std::string claim;                   // "shop/web-0-gpu-x7k2p"; empty: a plugin's device
  std::vector<std::string> cdi_names;  // claims only: "k8s.gpu.nvidia.com/claim=UID-gpu-0"
  // Further ids of the same device, the most reliable first. The kubelet reports none.
  std::vector<std::string> other_ids;
  // The claim's driver has the device without admin access, so the pod holds it. The kubelet cannot
  // report that.
  bool is_held = false;

  friend bool operator==(const PodDevice&, const PodDevice&) = default;
};

struct PodDevices {
  std::string namespace_name;
  std::string name;
  std::vector<PodDevice> devices;  // each once

  friend bool operator==(const PodDevices&, const PodDevices&) = default;
};

// Returns each pod of the response.
std::vector<PodDevices> PodDevicesIn(const ::v1::ListPodResourcesResponse& response);

// Thread-safe: each call has a connection of its own.
class PodResources {
 public:
  // `loop` must outlive this.
  PodResources(EventLoop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {}

  // Returns all active pods, those without devices too. An error names the socket and the remedy.
  // PERMISSION_DENIED. NOT_FOUND: no socket. DEADLINE_EXCEEDED. RESOURCE_EXHAUSTED: the kubelet
  // answers 100 calls a second for all clients together.
  absl::StatusOr<std::vector<PodDevices>> List(absl::Duration timeout) const;

  const std::string& socket() const { return socket_; }

 private:
  EventLoop& loop_;
  const std::string socket_;
};

}  // namespace gpuscaler
