// Who holds the GPUs of this node: asks the kubelet, keeps its newest answer, and writes the owners
// into each snapshot.
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
#include "kubelet/kubelet_sockets.h"
#include "kubelet/pod_resources.h"
#include "model/ignored_pods.h"
#include "model/node_snapshot.h"
#include "wire/event_loop.h"
#include "workload/cgroup_pod.h"
#include "workload/claim_files.h"
#include "workload/gpu_holders.h"
#include "workload/node_folders.h"
#include "workload/owner_listings.h"
#include "workload/pod_logs.h"
#include "workload/reserved_gpus.h"
#include "workload/uncounted_gpus.h"

namespace gpuscaler {

// How often the kubelet is asked besides changes of the GPU processes: it answers 100 calls a
// second to all its clients.
inline constexpr absl::Duration kKubeletInterval = absl::Seconds(5);

// A kubelet that takes longer is taken for silent.
inline constexpr absl::Duration kKubeletTimeout = absl::Seconds(2);

// The last owners stand so long for a kubelet that is silent, or does not know its pods yet: longer
// than one takes to restart.
inline constexpr absl::Duration kAttributionGrace = absl::Seconds(60);

// That nobody holds anything (any more) is believed once the kubelet has said so for this long, or
// its Pods API does too: one that has just started may say so where nothing shows that it does not
// know its pods. A list that lacks some pods is not believed for as long after the kubelet was
// found again, unless its Pods API lacks them too.
inline constexpr absl::Duration kEmptyListConfirmation = absl::Seconds(15);

// A kubelet that has not heard of its pods from the API server since its start knows static ones
// alone, however long that takes. It is as one that does not answer: while its Pods API says so, or
// its list lacks the pod that asks. Ask() belongs to a thread of its own, Annotate() to the
// sampler's.
class KubeletAttribution {
 public:
  // `own_pod` is the one that this runs in, "namespace/name"; empty: none, or it is not known.
  // `ignored` hold nothing; they are logged once. Pods of `reservation_namespaces` reserve their
  // GPUs for others (workload/reserved_gpus.h).
  KubeletAttribution(const Clock& clock, KubeletSockets sockets,
                     absl::Duration timeout = kKubeletTimeout, NodeFolders folders = {},
                     std::string own_pod = "", std::vector<IgnoredPods> ignored = {},
                     std::set<std::string> reservation_namespaces = {});

  // One question; blocks for two timeouts at most. Logs changes. True where the owners are others
  // than before: the next snapshot should be taken now.
  bool Ask();

  // Adds pods of the node before this process began. Their owners' times count from the next
  // Ask() on. Thread-safe.
  void AddFormerPods(std::vector<Pod> pods);

  // Fills `attribution`, `pods` and the GPUs' `holders` from the newest answer, and never waits for
  // one. True when other processes are on the GPUs than before: the kubelet should be asked now.
  bool Annotate(NodeSnapshot& snapshot);

 private:
  using PodName = std::pair<std::string, std::string>;  // namespace, name
  // Since when a pod is listed: when its kubelet first knew it, so that an agent that begins anew
  // knows it too. Its UID, once it is known, distinguishes it from others of its name.
  struct Listing {
    std::string uid;
    absl::Time since;
    bool was_ready = false;
  };
  using Pods = std::shared_ptr<const std::vector<NodePod>>;

  // True: the owners are others than before.
  bool Listed(std::vector<PodDevices> listed, absl::Time asked_at);
  bool Answered(const std::vector<PodDevices>& listed, absl::Time asked_at);
  Listing ListingOf(const PodName& name, const Pod& pod, absl::Time asked_at) const;
  absl::Time KnownSince(const PodName& name, absl::Time asked_at) const;
  void NotAnswered(const std::string& why);
  // Why the kubelet does not know its pods yet; empty: nothing says so.
  std::string WhyNotKnowing(bool lists_own_pod, const absl::Status& api) const;
  // True: the last owners stand for it. `api_answered`: the Pods API has, to this question.
  bool AwaitsConfirmation(absl::Time asked_at, bool api_answered);
  // The same of a list with pods: a kubelet that has just started adds its pods one by one.
  bool AwaitsMore(const std::vector<PodDevices>& listed, absl::Time asked_at, bool api_answered);
  // Whether an answer without a pod may be that of a kubelet which knows none of its pods yet:
  // none was ever listed, and none was said to be there by who knows.
  void ConfirmStart(bool none, bool api_answered, absl::Time asked_at);
  bool IsUnconfirmedFor(const NodeSnapshot& snapshot) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HoldsAny() const;
  bool HasLeft(const Pod& pod) const;  // by the Pods API's newest answer
  bool IsReservation(const PodDevices& pod) const;
  void LogFound(size_t pods) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // UNAVAILABLE also if it lists no pod of the API server: it may not know its pods yet.
  absl::Status AskPodsApi(absl::Time asked_at);
  void LogPodsApi(const absl::Status& status, const std::string& socket);
  NodePod NodePodOf(const PodDevices& devices) const;

  Attribution State(const NodeSnapshot& snapshot, Pods& pods) const;
  std::string PodOf(int64_t pid, const std::vector<NodePod>& pods, absl::Time now);
  void LogState(const Attribution& attribution);
  void LogUnplaced(const std::vector<UnplacedDevice>& unplaced);
  bool ProcessesChanged(const NodeSnapshot& snapshot);

  const Clock& clock_;
  const absl::Duration timeout_;
  EventLoop kubelet_calls_;
  const PodResources pod_resources_;
  const std::vector<KubeletPods> pods_apis_;
  const std::string own_pod_;
  const std::vector<IgnoredPods> ignored_;
  const std::set<std::string> reservation_namespaces_;

  // Ask()'s.
  ClaimFiles claim_files_;
  KubeletPodsByName api_pods_;
  absl::Time api_answered_at_ = absl::InfinitePast();
  std::string api_error_;
  bool api_asked_ = false;
  bool reported_ = false;                // of pods, or by who knows that there is none
  std::map<PodName, Listing> listings_;  // by the newest list that is believed
  OwnerListings owner_listings_;
  bool asked_ = false;

  mutable Mutex mutex_;
  std::vector<Pod> former_pods_ ABSL_GUARDED_BY(mutex_);  // until the next answer
  Pods pods_ ABSL_GUARDED_BY(mutex_);                     // null before the first answer
  absl::Time answered_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // Why the last question was not answered by a kubelet that knows its pods; empty: it was.
  std::string error_ ABSL_GUARDED_BY(mutex_);
  // The first of the answers without a pod that are ambiguous; InfiniteFuture: the newest is not.
  absl::Time none_listed_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  absl::Time found_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // after it was lost
  // The first of the answers without a pod since the start, which nobody has confirmed.
  // InfinitePast: it is not ambiguous, nor will be; InfiniteFuture: there is none yet.
  absl::Time none_from_start_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();

  // Annotate()'s.
  UncountedGpus uncounted_;
  CgroupPods cgroup_pods_;
  PodLogs pod_logs_;
  Attribution last_state_;
  std::set<std::string> logged_unplaced_;
  std::map<std::string, std::set<int64_t>> processes_;  // by uuid of the GPU, those that have some
  bool annotated_ = false;
  bool should_ask_ = false;
  absl::Time asked_for_at_ = absl::InfinitePast();
};

}  // namespace gpuscaler
