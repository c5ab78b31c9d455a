#include "workload/attribution.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "workload/owner_names.h"
#include "workload/owner_references.h"
#include "workload/reserved_gpus.h"
#include "workload/unread_gpus.h"
#include "workload/vgpu_annotation.h"

namespace gpuscaler {
namespace {

// Limits queries while processes start and end all the time.
constexpr absl::Duration kShortestInterval = absl::Seconds(1);

// The state of the first snapshot, which may come before the first answer: not worth a log line.
constexpr char kNotQueriedYet[] = "the kubelet was not queried yet";

// The state of an agent that has just started, as its kubelet may have.
constexpr char kNotReportedYet[] = "the kubelet lists no pods, which it may not know yet";

Attribution Unknown(std::string why) {
  return {.state = Attribution::State::kUnknown, .why = std::move(why)};
}

bool IsBusy(const GpuSample& gpu) {
  return (gpu.processes && !gpu.processes->empty()) || gpu.utilization_percent.value_or(0) > 0;
}

// Returns "may be GPU 0", "may be one of GPUs 0, 3". An instance has its GPU's index.
std::string GpusText(const std::vector<int>& may_be, const NodeSnapshot& snapshot) {
  if (may_be.empty()) return "is none of the GPUs that are read";
  std::set<int> indices;
  for (const int index : may_be) indices.insert(snapshot.gpus[static_cast<size_t>(index)].index);
  if (indices.size() > 1) return absl::StrCat("may be one of GPUs ", absl::StrJoin(indices, ", "));
  const GpuSample& gpu = snapshot.gpus[static_cast<size_t>(may_be.front())];
  const bool is_instance = may_be.size() > 1 || IsMig(gpu) || gpu.is_in_mig_mode;
  return absl::StrCat(is_instance ? "may be an instance of GPU " : "may be GPU ", *indices.begin());
}

std::string WhyAmbiguous(const std::vector<AmbiguousDevice>& ambiguous,
                         const NodeSnapshot& snapshot) {
  if (ambiguous.empty()) return "";
  const AmbiguousDevice& first = ambiguous.front();
  return absl::StrCat(first.pod, " holds ", first.id, ", which ", GpusText(first.may_be, snapshot));
}

bool HasNoDevice(const PodDevices& pod) { return pod.devices.empty(); }

bool IsListed(const Pod& pod, const std::vector<PodDevices>& listed) {
  return std::ranges::any_of(listed, [&](const PodDevices& other) {
    return other.namespace_name == pod.namespace_name && other.name == pod.name;
  });
}

bool SamePods(const std::vector<PodAllocation>& one, const std::vector<PodAllocation>& other) {
  return std::ranges::equal(one, other, [](const PodAllocation& a, const PodAllocation& b) {
    return a.pod == b.pod && a.devices == b.devices && a.request == b.request;
  });
}

}  // namespace

KubeletAttribution::KubeletAttribution(const Clock& clock, KubeletSockets sockets,
                                       absl::Duration timeout, NodeFolders folders,
                                       std::string own_pod, std::vector<IgnoredPods> ignored,
                                       std::set<std::string> reservation_namespaces)
    : clock_(clock),
      timeout_(timeout),
      sockets_(std::move(sockets)),
      own_pod_(std::move(own_pod)),
      ignored_(std::move(ignored)),
      reservation_namespaces_(std::move(reservation_namespaces)),
      claim_files_(folders),
      cgroup_pods_(std::move(folders.proc)),
      pod_logs_(std::move(folders.pod_logs)) {
  if (ignored_.empty()) return;
  const auto pods = [](std::string* text, const IgnoredPods& each) {
    absl::StrAppend(text, each.namespace_name, "/", each.prefix, "*");
  };
  LogInfo("pods_ignored", {{"pods", absl::StrJoin(ignored_, ",", pods)}});
}

bool KubeletAttribution::Query() {
  const absl::Time queried_at = clock_.Now();
  auto listed = ListPodDevices(kubelet_calls_, sockets_.pod_resources, timeout_);
  bool changed = false;
  if (listed.ok()) {
    changed = HandleList(*std::move(listed), queried_at);
  } else {
    SetError(absl::StrCat("the kubelet does not answer: ", listed.status().message()));
  }
  queried_ = true;
  return changed;
}

bool KubeletAttribution::HandleList(std::vector<PodDevices> listed, absl::Time queried_at) {
  const bool lists_own_pod = std::ranges::any_of(listed, [this](const PodDevices& pod) {
    return absl::StrCat(pod.namespace_name, "/", pod.name) == own_pod_;
  });
  const bool none = std::ranges::all_of(listed, HasNoDevice);
  const bool queries_api = !none || !reported_ || HasHolders();
  const absl::Status api =
      queries_api ? QueryPodsApi(queried_at) : absl::UnknownError("not queried");
  if (const std::string why = WhyPodsAreMissing(lists_own_pod, api); !why.empty()) {
    SetError(why);
    return false;
  }
  ConfirmStart(none, api.ok(), queried_at);
  if (none && AwaitsConfirmation(queried_at, api.ok())) return false;
  claim_files_.AddTo(listed);
  GiveReservedGpus(api_pods_, reservation_namespaces_, listed);
  // Pods without a device may share a GPU that is reserved for unknown pods.
  const bool keeps_all =
      std::ranges::any_of(listed, [this](const PodDevices& pod) { return IsReservation(pod); });
  std::erase_if(listed, [&](const PodDevices& pod) {
    return (!keeps_all && HasNoDevice(pod)) || IsIgnored(ignored_, pod.namespace_name, pod.name);
  });
  if (!none && AwaitsMissingPods(listed, queried_at, api.ok())) return false;
  return SetPods(listed, queried_at);
}

std::string KubeletAttribution::WhyPodsAreMissing(bool lists_own_pod,
                                                  const absl::Status& api) const {
  if (absl::IsFailedPrecondition(api)) {
    return absl::StrCat("the kubelet has not synced its pods yet: ", api.message());
  }
  if (own_pod_.empty() || lists_own_pod) return "";
  return absl::StrCat("the kubelet has not synced its pods yet: it does not list ", own_pod_,
                      ", the pod of this agent");
}

void KubeletAttribution::ConfirmStart(bool none, bool api_answered, absl::Time queried_at) {
  MutexLock lock(mutex_);
  if (none_from_start_ == absl::InfiniteFuture()) none_from_start_ = queried_at;
  reported_ |= !none || api_answered || queried_at - none_from_start_ >= kEmptyListConfirmation;
  if (reported_) none_from_start_ = absl::InfinitePast();
}

// On an idle node no pod can be missing.
bool KubeletAttribution::IsUnconfirmedFor(const NodeSnapshot& snapshot) const {
  return snapshot.taken_at - none_from_start_ < kEmptyListConfirmation &&
         std::ranges::any_of(snapshot.gpus, IsBusy);
}

bool KubeletAttribution::HasHolders() const {
  MutexLock lock(mutex_);
  return pods_ != nullptr && !pods_->empty();
}

bool KubeletAttribution::AwaitsConfirmation(absl::Time queried_at, bool api_answered) {
  MutexLock lock(mutex_);
  if (pods_ == nullptr) return false;
  const bool all_left = std::ranges::all_of(
      *pods_, [&](const PodAllocation& held) { return api_answered && HasLeft(held.pod); });
  const bool first = none_listed_since_ == absl::InfiniteFuture();
  if (all_left || (!first && queried_at - none_listed_since_ >= kEmptyListConfirmation)) {
    return false;
  }
  if (!error_.empty()) {
    LogFound(0);
    found_at_ = queried_at;
  }
  error_.clear();
  if (!first) return true;
  none_listed_since_ = queried_at;
  LogInfo("kubelet_list_empty",
          {{"owners_kept_seconds", absl::ToDoubleSeconds(kEmptyListConfirmation)}});
  return true;
}

bool KubeletAttribution::AwaitsMissingPods(const std::vector<PodDevices>& listed,
                                           absl::Time queried_at, bool api_answered) {
  MutexLock lock(mutex_);
  if (pods_ == nullptr) return false;
  const bool is_back = !error_.empty();
  if (is_back) found_at_ = queried_at;
  if (queried_at - found_at_ >= kEmptyListConfirmation) return false;
  const auto missing = std::ranges::find_if(*pods_, [&](const PodAllocation& held) {
    return !IsListed(held.pod, listed) && !(api_answered && HasLeft(held.pod));
  });
  if (missing == pods_->end()) return false;
  none_listed_since_ = absl::InfiniteFuture();
  if (!is_back) return true;
  LogFound(listed.size());
  error_.clear();
  LogInfo("kubelet_list_incomplete",
          {{"missing", NameOf(missing->pod)},
           {"owners_kept_seconds", absl::ToDoubleSeconds(kEmptyListConfirmation)}});
  return true;
}

bool KubeletAttribution::HasLeft(const Pod& pod) const {
  const auto reported = api_pods_.find({pod.namespace_name, pod.name});
  if (reported == api_pods_.end() || reported->second.has_ended) return true;
  return !pod.uid.empty() && reported->second.uid != pod.uid;  // another pod of that name
}

bool KubeletAttribution::IsReservation(const PodDevices& pod) const {
  return reservation_namespaces_.contains(pod.namespace_name) && HasGpu(pod.devices);
}

void KubeletAttribution::LogFound(size_t pods) {
  LogInfo("kubelet_found", {{"socket", sockets_.pod_resources}, {"pods_with_devices", pods}});
}

bool KubeletAttribution::SetPods(const std::vector<PodDevices>& listed, absl::Time queried_at) {
  std::map<PodName, Listing> listings;
  auto pods = std::make_shared<std::vector<PodAllocation>>();
  for (const PodDevices& devices : listed) {
    const PodName name = {devices.namespace_name, devices.name};
    PodAllocation node_pod = NodePodOf(devices);
    const auto listing = listings.emplace(name, ListingOf(name, node_pod.pod, queried_at)).first;
    const auto reported = api_pods_.find(name);
    if (reported != api_pods_.end() && reported->second.has_ended) continue;
    node_pod.pod.listed_since = listing->second.since;
    node_pod.pod.was_ready = listing->second.was_ready;
    pods->push_back(std::move(node_pod));
  }
  listings_ = std::move(listings);
  std::vector<Pod> former;
  {
    MutexLock lock(mutex_);
    former.swap(former_pods_);
  }
  owner_listings_.Add(former, queried_at);
  owner_listings_.Update(*pods, queried_at);
  MutexLock lock(mutex_);
  if (!queried_ || !error_.empty()) LogFound(pods->size());
  error_.clear();
  none_listed_since_ = absl::InfiniteFuture();
  answered_at_ = queried_at;
  const bool changed = pods_ == nullptr || !SamePods(*pods_, *pods);
  if (changed) pods_ = std::move(pods);
  return changed;
}

void KubeletAttribution::AddFormerPods(std::vector<Pod> pods) {
  MutexLock lock(mutex_);
  if (former_pods_.size() + pods.size() > kMaxOwners) former_pods_.clear();
  std::ranges::move(pods, std::back_inserter(former_pods_));
}

// Only the Pods API has UIDs, and it may be away for a while: the last known UID stays valid.
KubeletAttribution::Listing KubeletAttribution::ListingOf(const PodName& name, const Pod& pod,
                                                          absl::Time queried_at) const {
  const auto found = listings_.find(name);
  const bool is_ready = pod.ready.value_or(false);
  const bool is_other = found != listings_.end() && !found->second.uid.empty() &&
                        !pod.uid.empty() && found->second.uid != pod.uid;
  if (found == listings_.end() || is_other) {
    return {.uid = pod.uid, .since = ReceivedSince(name, queried_at), .was_ready = is_ready};
  }
  Listing listing = found->second;
  if (!pod.uid.empty()) listing.uid = pod.uid;
  listing.was_ready |= is_ready;
  return listing;
}

absl::Time KubeletAttribution::ReceivedSince(const PodName& name, absl::Time queried_at) const {
  const auto reported = api_pods_.find(name);
  if (reported == api_pods_.end()) return queried_at;
  return std::min(queried_at, reported->second.known_since.value_or(queried_at));
}

void KubeletAttribution::SetError(const std::string& why) {
  MutexLock lock(mutex_);
  const absl::Duration kept = pods_ == nullptr ? absl::ZeroDuration() : kAttributionGrace;
  if (why != error_) {
    LogWarn("kubelet_lost", {{"why", why}, {"owners_kept_seconds", absl::ToDoubleSeconds(kept)}});
  }
  error_ = why;
  // The next answer may come from a new kubelet.
  none_listed_since_ = absl::InfiniteFuture();
  if (!reported_) none_from_start_ = absl::InfiniteFuture();
}

// Without the Pods API owners come from names, and readiness is unknown. Its last answer is used
// for a while. A kubelet of 1.36 that has just started answers OK without the pods of the API
// server.
absl::Status KubeletAttribution::QueryPodsApi(absl::Time queried_at) {
  absl::Status status = absl::NotFoundError("no socket is named");
  for (const std::string& socket : sockets_.pods_api) {
    auto pods = ListKubeletPods(kubelet_calls_, socket, timeout_);
    status = pods.status();
    if (absl::IsNotFound(status)) continue;
    LogPodsApi(status, socket);
    if (!pods.ok()) break;
    const bool has_synced = !std::ranges::all_of(*pods, &KubeletPod::is_static);
    if (!has_synced) status = absl::UnavailableError("it lists no pod of the API server");
    if (pods->empty()) break;
    api_answered_at_ = queried_at;
    api_pods_.clear();
    for (KubeletPod& pod : *pods) {
      PodName name = {pod.namespace_name, pod.name};
      api_pods_.insert_or_assign(std::move(name), std::move(pod));
    }
    return status;
  }
  if (absl::IsNotFound(status)) LogPodsApi(status, "");
  if (queried_at - api_answered_at_ > kAttributionGrace) api_pods_.clear();
  return status;
}

void KubeletAttribution::LogPodsApi(const absl::Status& status, const std::string& socket) {
  const std::string error(status.message());
  const bool is_first = !std::exchange(api_queried_, true);
  if (status.ok() && (is_first || !api_error_.empty())) {
    LogInfo("pods_api_found", {{"socket", socket}});
  } else if (is_first && absl::IsNotFound(status)) {
    LogInfo("pods_api_absent", {{"why", error}, {"owners", "by the pods' names"}});
  } else if (!status.ok() && error != api_error_) {
    LogWarn("pods_api_lost", {{"why", error}, {"owners", "by the pods' names"}});
  }
  api_error_ = error;
}

PodAllocation KubeletAttribution::NodePodOf(const PodDevices& devices) const {
  PodAllocation node_pod = {.devices = devices.devices, .is_reservation = IsReservation(devices)};
  Pod& pod = node_pod.pod;
  pod.namespace_name = devices.namespace_name;
  pod.name = devices.name;
  const auto reported = api_pods_.find({pod.namespace_name, pod.name});
  if (reported == api_pods_.end()) {
    pod.owners = OwnersByName(pod.name);
    return node_pod;
  }
  node_pod.devices = WithAllocatedGpus(std::move(node_pod.devices), reported->second);
  node_pod.request = GpuRequestOf(reported->second);
  pod.uid = reported->second.uid;
  pod.owners = OwnersByReference(reported->second);
  pod.owners_from = Pod::OwnersFrom::kReferences;
  pod.ready = reported->second.ready;
  pod.is_terminating = reported->second.is_terminating;
  pod.address = reported->second.address;
  pod.is_in_node_network = reported->second.is_in_node_network;
  return node_pod;
}

bool KubeletAttribution::Annotate(NodeSnapshot& snapshot) {
  Pods pods;
  snapshot.attribution = State(snapshot, pods);
  if (snapshot.attribution.state == Attribution::State::kKnown) {
    lost_.AddTo(snapshot, *pods);
    AddUnreadGpus(*pods, snapshot);
    const auto ambiguous = FillHolders(
        *pods, [&](int64_t pid) { return PodOf(pid, *pods, snapshot.taken_at); }, snapshot);
    LogAmbiguous(ambiguous);
    snapshot.attribution.why = WhyAmbiguous(ambiguous, snapshot);
  }
  LogState(snapshot.attribution);
  return ProcessesChanged(snapshot);
}

std::string KubeletAttribution::PodOf(int64_t pid, const std::vector<PodAllocation>& pods,
                                      absl::Time now) {
  const std::string uid = cgroup_pods_.PodUidOf(pid);
  if (uid.empty()) return "";
  const auto known =
      std::ranges::find_if(pods, [&uid](const PodAllocation& pod) { return pod.pod.uid == uid; });
  return known == pods.end() ? pod_logs_.NameOf(uid, now) : NameOf(known->pod);
}

Attribution KubeletAttribution::State(const NodeSnapshot& snapshot, Pods& pods) const {
  const absl::Time now = snapshot.taken_at;
  MutexLock lock(mutex_);
  if (pods_ == nullptr && error_.empty()) {
    return Unknown(kNotQueriedYet);
  }
  const bool in_time = now - answered_at_ <= kAttributionGrace;
  if (!in_time && none_listed_since_ != absl::InfiniteFuture()) {
    return Unknown("the kubelet, back after a while, lists no pods, which it may not know yet");
  }
  if (!in_time && error_.empty() && now - found_at_ < kEmptyListConfirmation) {
    return Unknown("the kubelet, back after a while, may not list all of its pods yet");
  }
  if (pods_ == nullptr || !in_time) {
    return Unknown(error_.empty() ? "the kubelet does not answer in time" : error_);
  }
  if (IsUnconfirmedFor(snapshot)) return Unknown(kNotReportedYet);
  pods = pods_;
  return {.state = Attribution::State::kKnown};
}

void KubeletAttribution::LogState(const Attribution& attribution) {
  const bool is_known = attribution.state == Attribution::State::kKnown;
  if (!is_known && attribution != last_state_ && attribution.why != kNotQueriedYet &&
      attribution.why != kNotReportedYet) {
    LogWarn("attribution_unknown", {{"why", attribution.why}});
  }
  if (is_known && last_state_.state != Attribution::State::kKnown) LogInfo("attribution_known");
  last_state_ = attribution;
}

void KubeletAttribution::LogAmbiguous(const std::vector<AmbiguousDevice>& ambiguous) {
  std::set<std::string> texts;
  for (const AmbiguousDevice& device : ambiguous) {
    const std::string text = absl::StrCat(device.pod, " ", device.id);
    if (!logged_unmatched_.contains(text)) {
      LogWarn("device_unmatched", {{"pod", device.pod}, {"device", device.id}});
    }
    texts.insert(text);
  }
  logged_unmatched_ = std::move(texts);
}

// A GPU without a process list, failed or absent, keeps its last one: that is no change.
bool KubeletAttribution::ProcessesChanged(const NodeSnapshot& snapshot) {
  std::map<std::string, std::set<int64_t>> processes;
  for (const GpuSample& gpu : snapshot.gpus) {
    if (!gpu.processes) {
      if (const auto last = processes_.find(gpu.uuid); last != processes_.end()) {
        processes.insert(*last);
      }
      continue;
    }
    for (const GpuProcess& process : *gpu.processes) processes[gpu.uuid].insert(process.pid);
  }
  if (annotated_ && processes != processes_) should_query_ = true;
  annotated_ = true;
  processes_ = std::move(processes);
  if (!should_query_ || snapshot.taken_at - requested_at_ < kShortestInterval) return false;
  should_query_ = false;
  requested_at_ = snapshot.taken_at;
  return true;
}

}  // namespace gpuscaler
