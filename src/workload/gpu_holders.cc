#include "workload/gpu_holders.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "workload/monitoring_pod_detector.h"

namespace gpuscaler {
namespace {

// A container that is listed with a GPU.
struct Claim {
  int pod = 0;  // index in the kubelet's list
  std::string container;
  std::string device;
  std::string claim;         // PodDevice::claim
  bool may_share = false;    // with other pods
  bool is_possible = false;  // GpuHolder::is_possible
  bool may_monitor = false;  // MonitoringPodDetector::MayBeMonitoring()
};

struct Unplaced {
  int pod = 0;
  const PodDevice* device = nullptr;
  DeviceId id;
  std::vector<int> may_be;  // indices in the snapshot's GPUs
  std::vector<int> free;    // those of may_be that no other pod holds alone
};

bool IsVirtual(const Unplaced& unplaced) { return unplaced.id.form == DeviceId::Form::kVirtual; }

// Returns the indices that each of the ids may stand for.
std::vector<int> PossibleGpus(const std::vector<DeviceId>& ids, absl::Span<const GpuSample> gpus) {
  std::vector<int> possible = FindPossibleGpus(ids.front(), gpus);
  for (const DeviceId& id : ids) {
    const std::vector<int> others = FindPossibleGpus(id, gpus);
    std::erase_if(possible, [&](int gpu) { return !std::ranges::binary_search(others, gpu); });
  }
  return possible;
}

// Returns true if several pods may hold the device: a replica of a plugin's device, or a DRA
// driver's device, which all pods of its claim hold. The name of a DRA driver has no slash, as
// resources have.
bool MayShare(const PodDevice& device, const DeviceId& id) {
  return id.is_replica || device.resource.find('/') == std::string::npos;
}

class HolderFinder {
 public:
  HolderFinder(absl::Span<const PodAllocation> pods, const PodOfProcess& pod_of_process,
               NodeSnapshot& snapshot)
      : pods_(pods),
        pod_of_process_(pod_of_process),
        snapshot_(snapshot),
        gpus_(snapshot.gpus.Own()),
        monitoring_(pods, gpus_),
        claims_(gpus_.size()) {}

  std::vector<AmbiguousDevice> Fill() {
    for (size_t i = 0; i < pods_.size(); ++i) PlaceById(static_cast<int>(i));
    GiveReservedGpus();
    PlaceByProcesses();
    for (size_t i = 0; i < claims_.size(); ++i) {
      DropMonitoring(i);
      DropTerminated(i);
    }
    PlaceOnPossibleGpus();
    SetHolders();
    return std::move(ambiguous_);
  }

 private:
  void PlaceById(int pod) {
    for (const PodDevice& device : pods_[pod].devices) {
      if (monitoring_.IsMonitoring(pods_[pod].pod, device)) continue;
      const std::vector<DeviceId> ids = IdsOf(device);
      std::vector<int> found;
      for (auto id = ids.begin(); id != ids.end() && found.empty(); ++id) {
        found = FindGpus(*id, gpus_);
        for (const int gpu : found) AddClaim(pod, device, *id, static_cast<size_t>(gpu));
      }
      if (!found.empty() || ids.empty()) continue;
      unplaced_.push_back(
          {.pod = pod, .device = &device, .id = ids.back(), .may_be = PossibleGpus(ids, gpus_)});
    }
  }

  // A container may have two replicas of a GPU. A pod that certainly holds the GPU is no possible
  // holder of it.
  void AddClaim(int pod, const PodDevice& device, const DeviceId& id, size_t gpu,
                bool is_possible = false) {
    const bool is_there = std::ranges::any_of(claims_[gpu], [&](const Claim& other) {
      const bool is_known = is_possible && !other.is_possible;
      return other.pod == pod && (is_known || other.container == device.container);
    });
    if (is_there) return;
    claims_[gpu].push_back({.pod = pod,
                            .container = device.container,
                            .device = id.text,
                            .claim = device.claim,
                            .may_share = MayShare(device, id),
                            .is_possible = is_possible,
                            .may_monitor = monitoring_.MayBeMonitoring(pods_[pod].pod, device)});
  }

  // Gives reserved GPUs to the pods with processes on them. If there is none, each pod without a
  // GPU is a possible holder.
  void GiveReservedGpus() {
    for (size_t i = 0; i < gpus_.size(); ++i) {
      const auto reserved = std::ranges::find_if(
          claims_[i], [this](const Claim& claim) { return pods_[claim.pod].is_reservation; });
      if (reserved == claims_[i].end()) continue;
      const Claim reservation = *reserved;
      claims_[i].clear();
      const std::set<std::string> names = PodsWithProcesses(i);
      AddSharers(i, reservation, false,
                 [&](const PodAllocation& pod) { return names.contains(NameOf(pod.pod)); });
      if (!claims_[i].empty()) continue;
      AddSharers(i, reservation, true,
                 [](const PodAllocation& pod) { return !HasGpu(pod.devices); });
      ambiguous_.push_back({.pod = NameOf(pods_[reservation.pod].pod),
                            .id = absl::StrCat(reservation.device, " for pods that are not known"),
                            .may_be = {static_cast<int>(i)}});
    }
  }

  template <typename Shares>
  void AddSharers(size_t gpu, const Claim& reservation, bool are_possible, Shares shares) {
    for (size_t pod = 0; pod < pods_.size(); ++pod) {
      if (pods_[pod].is_reservation || !shares(pods_[pod])) continue;
      claims_[gpu].push_back({.pod = static_cast<int>(pod),
                              .device = reservation.device,
                              .may_share = true,
                              .is_possible = are_possible});
    }
  }

  void PlaceByProcesses() {
    for (size_t i = 0; i < gpus_.size(); ++i) {
      if (IsInMigMode(i)) continue;
      const bool is_taken = IsTaken(i);
      const std::set<std::string> names = PodsWithProcesses(i);
      std::erase_if(unplaced_, [&](const Unplaced& unplaced) {
        if (is_taken && !IsVirtual(unplaced)) return false;
        if (!MayBe(unplaced, i) || HasOther(unplaced, i)) return false;
        if (!names.contains(NameOf(pods_[unplaced.pod].pod))) return false;
        AddClaim(unplaced.pod, *unplaced.device, unplaced.id, i);
        return true;
      });
    }
  }

  static bool MayBe(const Unplaced& unplaced, size_t gpu) {
    return std::ranges::find(unplaced.may_be, static_cast<int>(gpu)) != unplaced.may_be.end();
  }

  std::optional<absl::Time> ListedSince(int pod) const { return pods_[pod].pod.listed_since; }

  // Returns true if the GPU already counts for another device of the pod.
  bool HasOther(const Unplaced& unplaced, size_t gpu) const {
    return std::ranges::any_of(claims_[gpu], [&unplaced](const Claim& claim) {
      return claim.pod == unplaced.pod && claim.device != unplaced.id.text;
    });
  }

  std::set<std::string> PodsWithProcesses(size_t gpu) {
    std::set<std::string> names;
    if (!gpus_[gpu].processes) return names;
    for (const GpuProcess& process : *gpus_[gpu].processes) {
      std::string name = pod_of_process_(process.pid);
      if (!name.empty()) names.insert(std::move(name));
    }
    return names;
  }

  // If several claims name one device, those that may be for monitoring hold nothing unless their
  // pods have processes there. If that leaves no claim, each is a possible holder.
  void DropMonitoring(size_t gpu) {
    std::vector<Claim>& claims = claims_[gpu];
    if (std::ranges::none_of(claims, &Claim::may_monitor)) return;
    const std::set<std::string> names = PodsWithProcesses(gpu);
    std::set<std::string> all;
    std::set<std::string> held;
    for (const Claim& claim : claims) {
      all.insert(claim.claim);
      if (!claim.may_monitor || names.contains(NameOf(pods_[claim.pod].pod))) {
        held.insert(claim.claim);
      }
    }
    if (all.size() < 2) return;
    if (!held.empty()) {
      std::erase_if(claims, [&](const Claim& claim) { return !held.contains(claim.claim); });
      return;
    }
    for (Claim& claim : claims) {
      claim.is_possible = true;
      ambiguous_.push_back({.pod = NameOf(pods_[claim.pod].pod),
                            .id = absl::StrCat(claim.device, " of claim ", claim.claim),
                            .may_be = {static_cast<int>(gpu)}});
    }
  }

  void DropTerminated(size_t gpu) {
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
      std::stable_partition(claims_[i].begin(), claims_[i].end(),
                            [](const Claim& claim) { return !claim.is_possible; });
      const bool any_known = !claims_[i].empty() && !claims_[i].front().is_possible;
      std::vector<int> pods;
      std::vector<std::string> names;
      for (const Claim& claim : claims_[i]) {
        if (claim.is_possible && any_known) continue;
        if (std::ranges::find(pods, claim.pod) != pods.end()) continue;
        pods.push_back(claim.pod);
        names.push_back(NameOf(pods_[claim.pod].pod));
      }
      if (pods.empty()) continue;
      std::vector<GpuRequest> requests;
      for (const int pod : pods) requests.push_back(pods_[pod].request);
      auto [shares, shared_by] = SharesOf(gpus_[i], names, requests, pod_of_process_);
      gpus_[i].shared_by = shared_by;
      for (const Claim& claim : claims_[i]) {
        const auto pod = std::ranges::find(pods, claim.pod) - pods.begin();
        const auto containers = std::ranges::count(claims_[i], claim.pod, &Claim::pod);
        const bool has_share = !claim.is_possible || !any_known;
        gpus_[i].holders.push_back(
            {.pod = PodIndexOf(claim.pod),
             .container = claim.container,
             .share = has_share ? shares[pod] / static_cast<double>(containers) : 0,
             .is_possible = claim.is_possible});
      }
    }
  }

  // The index is in snapshot.pods, which has holders only.
  int PodIndexOf(int pod) {
    const auto [entry, is_new] = pod_indices_.emplace(pod, static_cast<int>(snapshot_.pods.size()));
    if (is_new) snapshot_.pods.push_back(pods_[pod].pod);
    return entry->second;
  }

  // Returns true unless only claims that may be for monitoring name the GPU.
  bool IsTaken(size_t gpu) const { return !std::ranges::all_of(claims_[gpu], &Claim::may_monitor); }

  // Returns true if further pods may hold the GPU beside its holders.
  bool IsShared(size_t gpu) const {
    return !claims_[gpu].empty() && std::ranges::all_of(claims_[gpu], &Claim::may_share);
  }

  bool IsInMigMode(size_t i) { return gpuscaler::IsInMigMode(gpus_[i], gpus_); }

  // Returns true if the pods of all processes on the GPU are known. A busy GPU without a process
  // hides some.
  bool AreUsersKnown(size_t i) {
    const auto& processes = gpus_[i].processes;
    if (!processes) return false;
    if (processes->empty()) return gpus_[i].utilization_percent == 0;
    return std::ranges::none_of(*processes, [this](const GpuProcess& process) {
      return pod_of_process_(process.pid).empty();
    });
  }

  void PlaceOnPossibleGpus() {
    for (Unplaced& unplaced : unplaced_) {
      std::ranges::copy_if(unplaced.may_be, std::back_inserter(unplaced.free), [&](int gpu) {
        const size_t index = static_cast<size_t>(gpu);
        return (!IsTaken(index) && !IsInMigMode(index)) || (IsVirtual(unplaced) && IsShared(index));
      });
    }
    for (const Unplaced& unplaced : unplaced_) {
      if (!HasSuccessor(unplaced)) PlaceBesideHolders(unplaced);
    }
  }

  // Returns true if the vendor's GPUs are read: NVIDIA's, and AMD's if there is any.
  bool IsRead(const Unplaced& unplaced) const {
    const GpuVendor vendor = VendorOf(unplaced.id);
    if (vendor == GpuVendor::kNvidia) return IsNvidiaResource(unplaced.device->resource);
    return vendor == GpuVendor::kAmd && std::ranges::any_of(gpus_, [](const GpuSample& gpu) {
             return VendorOf(gpu) == GpuVendor::kAmd;
           });
  }

  void PlaceBesideHolders(const Unplaced& unplaced) {
    const bool is_here = !unplaced.may_be.empty();
    if (!is_here && !IsRead(unplaced)) return;
    const std::vector<int>& known = unplaced.free.empty() ? unplaced.may_be : unplaced.free;
    for (size_t i = 0; i < claims_.size(); ++i) {
      if (is_here && !std::ranges::binary_search(known, static_cast<int>(i))) continue;
      if (VendorOf(unplaced.id) != VendorOf(gpus_[i])) continue;
      AddClaim(unplaced.pod, *unplaced.device, unplaced.id, i, true);
      if (unplaced.free.empty() || AreUsersKnown(i)) continue;
      for (Claim& claim : claims_[i]) claim.is_possible = true;
    }
    ambiguous_.push_back(
        {.pod = NameOf(pods_[unplaced.pod].pod),
         .id = absl::StrCat(unplaced.device->id, " of ", unplaced.device->resource),
         .may_be = known});
  }

  // Returns true if a pod that was listed later has the same device, so that this one has
  // terminated.
  bool HasSuccessor(const Unplaced& unplaced) const {
    const std::optional<absl::Time> listed_since = ListedSince(unplaced.pod);
    return !MayShare(*unplaced.device, unplaced.id) &&
           std::ranges::any_of(unplaced_, [&](const Unplaced& other) {
             return other.id == unplaced.id && ListedSince(other.pod) > listed_since;
           });
  }

  const absl::Span<const PodAllocation> pods_;
  const PodOfProcess& pod_of_process_;
  NodeSnapshot& snapshot_;
  std::vector<GpuSample>& gpus_;  // those of the snapshot
  const MonitoringPodDetector monitoring_;
  std::vector<std::vector<Claim>> claims_;  // one element per GPU
  std::vector<Unplaced> unplaced_;
  std::vector<AmbiguousDevice> ambiguous_;
  std::map<int, int> pod_indices_;  // indices in snapshot.pods, by index in the kubelet's list
};

}  // namespace

std::vector<DeviceId> IdsOf(const PodDevice& device) {
  std::vector<DeviceId> ids;
  const auto add = [&ids](absl::string_view resource, absl::string_view text) {
    if (auto id = ParseDeviceId(resource, text)) ids.push_back(*std::move(id));
  };
  for (const std::string& name : device.cdi_names) {
    const size_t at = name.rfind('=');
    if (at != std::string::npos) add("", absl::string_view(name).substr(at + 1));
  }
  for (const std::string& id : device.other_ids) add("nvidia.com/gpu", id);
  add(device.resource, device.id);
  return ids;
}

bool HasGpu(absl::Span<const PodDevice> devices) {
  return std::ranges::any_of(devices,
                             [](const PodDevice& device) { return !IdsOf(device).empty(); });
}

std::string NameOf(const Pod& pod) { return absl::StrCat(pod.namespace_name, "/", pod.name); }

std::vector<AmbiguousDevice> FillHolders(absl::Span<const PodAllocation> pods,
                                         const PodOfProcess& pod_of_process,
                                         NodeSnapshot& snapshot) {
  return HolderFinder(pods, pod_of_process, snapshot).Fill();
}

}  // namespace gpuscaler
