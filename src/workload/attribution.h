// Attributes the GPUs of this node to pods: queries the kubelet, keeps its newest answer, and
// writes the holders into each snapshot.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "kubelet/kubelet_pods.h"
#include "kubelet/kubelet_socket.h"
#include "kubelet/pod_resources.h"
#include "model/ignored_pods.h"
#include "model/node_snapshot.h"
#include "wire/event_loop.h"
#include "workload/cgroup_pod.h"
#include "workload/claim_files.h"
#include "workload/gpu_holders.h"
#include "workload/lost_gpus.h"
#include "workload/node_folders.h"
#include "workload/owner_listings.h"
#include "workload/pod_logs.h"
#include "workload/reserved_gpus.h"

namespace gpuscaler {

// How often the kubelet is queried, apart from changes of the GPU processes. It answers 100 calls a
// second for all its clients together.
inline constexpr absl::Duration kKubeletInterval = absl::Seconds(5);

// A kubelet that takes longer counts as one that does not answer.
inline constexpr absl::Duration kKubeletTimeout = absl::Seconds(2);

// How long the last owners stay valid while the kubelet does not answer, or has not received its
// pods yet. Longer than a restart of the kubelet.
inline constexpr absl::Duration kAttributionGrace = absl::Seconds(60);

// A kubelet that has just started may list no pods, or only some, and nothing shows that it has not
// received the others yet. So a list without any device is believed once the kubelet has returned
// such lists for this long. For this long after an outage of the kubelet, a list that lacks pods
// which held devices is not believed. Either is believed at once if the Pods API lacks these pods.
inline constexpr absl::Duration kEmptyListConfirmation = absl::Seconds(15);

// A kubelet that has not received its pods from the API server since its start lists only static
// ones, however long that takes. It counts as one that does not answer: while its Pods API reports
// this, or while its list lacks our own pod. Query() runs on a thread of its own, Annotate() on the
// sampler's.
class KubeletAttribution {
 public:
  // `own_pod` is the pod of this process, "namespace/name"; empty: none, or unknown. Pods in
  // `ignored` hold nothing; they are logged once. Pods of `reservation_namespaces` reserve their
  // GPUs for others (workload/reserved_gpus.h).
  KubeletAttribution(const Clock& clock, KubeletSockets sockets,
                     absl::Duration timeout = kKubeletTimeout, NodeFolders folders = {},
                     std::string own_pod = "", std::vector<IgnoredPods> ignored = {},
                     std::set<std::string> reservation_namespaces = {});

  // Queries the kubelet once. Blocks for at most two timeouts. Logs changes. Returns true if the
  // owners have changed: the next snapshot should be taken now.
  bool Query();

  // Adds pods that the node had before this process started. Their owners' times count from the
  // next Query() on. Thread-safe.
  void AddFormerPods(std::vector<Pod> pods);

  // Fills `attribution`, `pods` and the GPUs' `holders` from the newest answer, without waiting for
  // one. Returns true if the processes on the GPUs have changed: the kubelet should be queried now.
  bool Annotate(NodeSnapshot& snapshot);

 private:
  using PodName = std::pair<std::string, std::string>;  // namespace, name
  // A pod is listed since its kubelet first received it, so that a restarted agent has the same
  // time. The UID, once known, distinguishes pods of the same name.
  struct Listing {
    std::string uid;
    absl::Time since;
    bool was_ready = false;
  };
  using Pods = std::shared_ptr<const std::vector<PodAllocation>>;

  // Returns true if the owners have changed.
  bool HandleList(std::vector<PodDevices> listed, absl::Time queried_at);
  bool SetPods(const std::vector<PodDevices>& listed, absl::Time queried_at);
  Listing ListingOf(const PodName& name, const Pod& pod, absl::Time queried_at) const;
  absl::Time ReceivedSince(const PodName& name, absl::Time queried_at) const;
  void SetError(const std::string& why);
  // Empty: nothing shows that the kubelet lacks its pods.
  std::string WhyPodsAreMissing(bool lists_own_pod, const absl::Status& api) const;
  // Returns true if the last owners stay valid for now. `api_answered`: the Pods API answered this
  // query.
  bool AwaitsConfirmation(absl::Time queried_at, bool api_answered);
  // Returns the same for a list with pods: a kubelet that has just started adds its pods one by
  // one.
  bool AwaitsMissingPods(const std::vector<PodDevices>& listed, absl::Time queried_at,
                         bool api_answered);
  // Updates `reported_`. Before a pod was listed or the Pods API has answered, a list without a pod
  // may come from a kubelet that has not received its pods. It is believed after
  // kEmptyListConfirmation.
  void ConfirmStart(bool none, bool api_answered, absl::Time queried_at);
  bool IsUnconfirmedFor(const NodeSnapshot& snapshot) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasHolders() const;
  bool HasLeft(const Pod& pod) const;  // in the Pods API's newest answer
  bool IsReservation(const PodDevices& pod) const;
  void LogFound(size_t pods) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns UNAVAILABLE also if it lists no pod of the API server: it may not have received its
  // pods yet.
  absl::Status QueryPodsApi(absl::Time queried_at);
  void LogPodsApi(const absl::Status& status, const std::string& socket);
  PodAllocation NodePodOf(const PodDevices& devices) const;

  Attribution State(const NodeSnapshot& snapshot, Pods& pods) const;
  std::string PodOf(int64_t pid, const std::vector<PodAllocation>& pods, absl::Time now);
  void LogState(const Attribution& attribution);
  void LogAmbiguous(const std::vector<AmbiguousDevice>& ambiguous);
  bool ProcessesChanged(const NodeSnapshot& snapshot);

  const Clock& clock_;
  const absl::Duration timeout_;
  EventLoop kubelet_calls_;
  const KubeletSockets sockets_;
  const std::string own_pod_;
  const std::vector<IgnoredPods> ignored_;
  const std::set<std::string> reservation_namespaces_;

  // Only Query() uses these.
  ClaimFiles claim_files_;
  KubeletPodsByName api_pods_;
  absl::Time api_answered_at_ = absl::InfinitePast();
  std::string api_error_;
  bool api_queried_ = false;
  bool reported_ = false;                // pods were listed, or having none was confirmed
  std::map<PodName, Listing> listings_;  // from the newest list that was believed
  OwnerListings owner_listings_;
  bool queried_ = false;

  mutable Mutex mutex_;
  std::vector<Pod> former_pods_ ABSL_GUARDED_BY(mutex_);  // until the next answer
  Pods pods_ ABSL_GUARDED_BY(mutex_);                     // null before the first answer
  absl::Time answered_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // Why the last query was not answered by a kubelet that has its pods; empty: it was.
  std::string error_ ABSL_GUARDED_BY(mutex_);
  // The first of the ambiguous answers without a pod. InfiniteFuture: the newest answer is not
  // ambiguous.
  absl::Time none_listed_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  // When the kubelet last answered again after an error.
  absl::Time found_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // The first unconfirmed answer without a pod since the start. InfinitePast: confirmed, for good.
  // InfiniteFuture: there is none yet.
  absl::Time none_from_start_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();

  // Only Annotate() uses these.
  LostGpus lost_;
  CgroupPods cgroup_pods_;
  PodLogs pod_logs_;
  Attribution last_state_;
  std::set<std::string> logged_unmatched_;
  std::map<std::string, std::set<int64_t>> processes_;  // key: uuid of a GPU with processes
  bool annotated_ = false;
  bool should_query_ = false;
  absl::Time requested_at_ = absl::InfinitePast();
};

}  // namespace gpuscaler
