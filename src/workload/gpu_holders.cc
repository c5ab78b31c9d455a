#include "workload/gpu_holders.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "workload/device_id.h"

namespace gpuscaler {
namespace {

// A container of a pod, listed with a GPU.
struct Claim {
  int pod = 0;  // its place in what the kubelet listed
  std::string container;
  std::string device;
  bool may_share = false;  // with other pods
};

struct Unplaced {
  int pod = 0;
  const PodDevice* device = nullptr;
  DeviceId id;
};

bool IsUuid(const Unplaced& unplaced) { return unplaced.id.form == DeviceId::Form::kUuid; }

// The device of a claim is named by its driver, but a UUID may stand in its CDI names.
std::optional<DeviceId> IdOf(const PodDevice& device) {
  for (const std::string& name : device.cdi_names) {
    const size_t at = name.rfind('=');
    if (at == std::string::npos) continue;
    if (auto id = ParseDeviceId("", name.substr(at + 1))) return id;
  }
  return ParseDeviceId(device.resource, device.id);
}

// A plugin's device is one pod's, unless it is one of several replicas. A DRA driver's, whose name
// has no path as a resource has, is whoever's the claim is.
bool MayShare(const PodDevice& device, const DeviceId& id) {
  return id.is_replica || device.resource.find('/') == std::string::npos;
}

class HolderFinder {
 public:
  HolderFinder(absl::Span<const NodePod> pods, const PodOfProcess& pod_of_process,
               NodeSnapshot& snapshot)
      : pods_(pods),
        pod_of_process_(pod_of_process),
        snapshot_(snapshot),
        claims_(snapshot.gpus.size()) {}

  std::vector<UnplacedDevice> Fill() {
    for (size_t i = 0; i < pods_.size(); ++i) PlaceById(static_cast<int>(i));
    PlaceByProcesses();
    for (size_t i = 0; i < claims_.size(); ++i) KeepTheLiving(i);
    std::vector<UnplacedDevice> left = PlaceOnSilentGpus();
    SetHolders();
    return left;
  }

 private:
  GpuSample& Gpu(size_t i) { return snapshot_.gpus[i]; }

  void PlaceById(int pod) {
    for (const PodDevice& device : pods_[pod].devices) {
      const std::optional<DeviceId> id = IdOf(device);
      if (!id) continue;
      const std::vector<int> found = FindGpus(*id, snapshot_.gpus);
      for (const int gpu : found) {
        AddClaim(pod, device, *id, gpu);
      }
      if (found.empty()) unplaced_.push_back({.pod = pod, .device = &device, .id = *id});
    }
  }

  // Two replicas of a GPU may be in one container.
  void AddClaim(int pod, const PodDevice& device, const DeviceId& id, size_t gpu) {
    const bool is_there = std::ranges::any_of(claims_[gpu], [&](const Claim& other) {
      return other.pod == pod && other.container == device.container;
    });
    if (is_there) return;
    claims_[gpu].push_back({.pod = pod,
                            .container = device.container,
                            .device = id.text,
                            .may_share = MayShare(device, id)});
  }

  // One that has not answered since the start.
  bool IsDisconnected(size_t i) { return Gpu(i).uuid == UnknownGpuUuid(Gpu(i).index); }

  void PlaceByProcesses() {
    for (size_t i = 0; i < snapshot_.gpus.size(); ++i) {
      if (!claims_[i].empty()) continue;
      const std::set<std::string> names = PodsWithProcesses(i);
      std::erase_if(unplaced_, [&](const Unplaced& unplaced) {
        if (!MayBeAny(unplaced.id) || !names.contains(NameOf(pods_[unplaced.pod].pod)))
          return false;
        if (HasOther(unplaced, i)) return false;
        AddClaim(unplaced.pod, *unplaced.device, unplaced.id, i);
        return true;
      });
    }
  }

  std::optional<absl::Time> ListedSince(int pod) const { return pods_[pod].pod.listed_since; }

  // Whether the GPU is already taken for another device of the pod.
  bool HasOther(const Unplaced& unplaced, size_t gpu) const {
    return std::ranges::any_of(claims_[gpu], [&unplaced](const Claim& claim) {
      return claim.pod == unplaced.pod && claim.device != unplaced.id.text;
    });
  }

  std::set<std::string> PodsWithProcesses(size_t gpu) {
    std::set<std::string> names;
    if (!Gpu(gpu).processes) return names;
    for (const GpuProcess& process : *Gpu(gpu).processes) {
      std::string name = pod_of_process_(process.pid);
      if (!name.empty()) names.insert(std::move(name));
    }
    return names;
  }

  void KeepTheLiving(size_t gpu) {
    std::vector<Claim>& claims = claims_[gpu];
    const bool several = std::ranges::any_of(
        claims, [&claims](const Claim& claim) { return claim.pod != claims.front().pod; });
    if (!several || std::ranges::all_of(claims, &Claim::may_share)) return;
    const std::set<std::string> names = PodsWithProcesses(gpu);
    const auto has_process = [&](const Claim& claim) {
      return names.contains(NameOf(pods_[claim.pod].pod));
    };
    if (std::ranges::any_of(claims, has_process)) {
      std::erase_if(claims, [&](const Claim& claim) { return !has_process(claim); });
      return;
    }
    std::optional<absl::Time> newest;
    for (const Claim& claim : claims) newest = std::max(newest, ListedSince(claim.pod));
    std::erase_if(claims, [&](const Claim& claim) { return ListedSince(claim.pod) < newest; });
  }

  void SetHolders() {
    for (size_t i = 0; i < claims_.size(); ++i) {
      std::vector<int> pods;
      std::vector<std::string> names;
      for (const Claim& claim : claims_[i]) {
        if (std::ranges::find(pods, claim.pod) != pods.end()) continue;
        pods.push_back(claim.pod);
        names.push_back(NameOf(pods_[claim.pod].pod));
      }
      if (pods.empty()) continue;
      const std::vector<double> shares = SharesOf(Gpu(i), names, pod_of_process_);
      for (const Claim& claim : claims_[i]) {
        const auto pod = std::ranges::find(pods, claim.pod) - pods.begin();
        const auto containers = std::ranges::count(claims_[i], claim.pod, &Claim::pod);
        Gpu(i).holders.push_back({.pod = PlaceOf(claim.pod),
                                  .container = claim.container,
                                  .share = shares[pod] / static_cast<double>(containers)});
      }
    }
  }

  // In snapshot.pods, where only holders are.
  int PlaceOf(int pod) {
    const auto [place, is_new] = places_.emplace(pod, static_cast<int>(snapshot_.pods.size()));
    if (is_new) snapshot_.pods.push_back(pods_[pod].pod);
    return place->second;
  }

  // A GPU that is divided is none that anybody holds.
  bool IsFree(size_t i) {
    return claims_[i].empty() && std::ranges::find(snapshot_.gpus, Gpu(i).uuid,
                                                   &GpuSample::parent_uuid) == snapshot_.gpus.end();
  }

  // Which of several silent GPUs a device is nobody can tell, nor whether it is one at all: it may
  // be of a GPU that the driver no longer counts.
  std::vector<UnplacedDevice> PlaceOnSilentGpus() {
    std::vector<size_t> silent;
    bool any_other = false;
    for (size_t i = 0; i < snapshot_.gpus.size(); ++i) {
      if (!IsFree(i)) continue;
      if (IsDisconnected(i)) silent.push_back(i);
      any_other = any_other || !IsDisconnected(i);
    }
    std::vector<UnplacedDevice> left;
    for (const Unplaced& unplaced : unplaced_) {
      const bool any = MayBeAny(unplaced.id);
      const bool is_disconnected = !silent.empty() && (IsUuid(unplaced) || (any && !any_other));
      const bool may_be_read = (any && any_other) || MayBeInstance(unplaced);
      if (is_disconnected ? HasSuccessor(unplaced) : !may_be_read) continue;
      left.push_back({.pod = NameOf(pods_[unplaced.pod].pod),
                      .id = absl::StrCat(unplaced.device->id, " of ", unplaced.device->resource),
                      .is_disconnected = is_disconnected});
      if (!is_disconnected) continue;
      for (const size_t gpu : silent) AddClaim(unplaced.pod, *unplaced.device, unplaced.id, gpu);
    }
    return left;
  }

  // Of a source that knows instances by their places alone, as dcgm-exporter's page does.
  bool MayBeInstance(const Unplaced& unplaced) {
    if (!IsUuid(unplaced) || !absl::StartsWith(unplaced.id.text, "MIG-")) return false;
    for (size_t i = 0; i < snapshot_.gpus.size(); ++i) {
      if (IsMig(Gpu(i)) && IsFree(i) && absl::StrContains(Gpu(i).uuid, '/')) return true;
    }
    return false;
  }

  // Of a dead pod: the device is listed with a later one too.
  bool HasSuccessor(const Unplaced& unplaced) const {
    const std::optional<absl::Time> listed_since = ListedSince(unplaced.pod);
    return !MayShare(*unplaced.device, unplaced.id) &&
           std::ranges::any_of(unplaced_, [&](const Unplaced& other) {
             return other.id == unplaced.id && ListedSince(other.pod) > listed_since;
           });
  }

  const absl::Span<const NodePod> pods_;
  const PodOfProcess& pod_of_process_;
  NodeSnapshot& snapshot_;
  std::vector<std::vector<Claim>> claims_;  // of each GPU
  std::vector<Unplaced> unplaced_;
  std::map<int, int> places_;  // from what was listed to snapshot.pods
};

}  // namespace

std::string NameOf(const Pod& pod) { return absl::StrCat(pod.namespace_name, "/", pod.name); }

std::vector<UnplacedDevice> FillHolders(absl::Span<const NodePod> pods,
                                        const PodOfProcess& pod_of_process,
                                        NodeSnapshot& snapshot) {
  return HolderFinder(pods, pod_of_process, snapshot).Fill();
}

}  // namespace gpuscaler
