// A fake of the kubelet's two APIs for the pods of its node, on real unix sockets, for tests and
// the demo. It answers like Kubernetes' own (recorded_answers_test.cc).
#pragma once

#include <google/protobuf/message_lite.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "kubelet/kubelet_pods.h"
#include "kubelet/pod_resources.h"

namespace gpuscaler {

class ServerCall;
class WireServer;

// Thread-safe.
class FakeKubelet {
 public:
  struct Pod {
    PodDevices devices;  // a device with a claim but no id: the claim is not prepared
    KubeletPod of_api;   // its namespace and name are ignored in favour of `devices`
  };

  // Serves PodResources at once. Creates `folder` if need be. Its path must be short enough for the
  // name of a socket.
  explicit FakeKubelet(const std::string& folder);
  ~FakeKubelet();

  std::string pod_resources_socket() const { return folder_ + "/kubelet.sock"; }
  std::string pods_api_socket() const { return folder_ + "/pods-api.sock"; }

  void SetPods(std::vector<Pod> pods);
  void AddPod(const std::string& namespace_name, const std::string& name,
              std::vector<PodDevice> devices);

  // PodResources lists pods that have ended too, as before Kubernetes 1.34.
  void ListEndedPods(bool lists);

  // Makes every call fail from now on. OK: calls succeed again.
  void Fail(absl::Status status);

  // Makes calls of the Pods API fail, as those of a starting kubelet do until it has received its
  // pods.
  void FailPodsApi(absl::Status status);

  // Makes the Pods API list no pod, like a kubelet of 1.36 that has just started.
  void EmptyPodsApi(bool empty);

  // Makes calls hang from now on, until their clients give up.
  void Hang(bool hangs);

  void ServePodsApi(bool serves);

  // Removes the sockets, and creates them again, as at a restart.
  void Stop();
  void Start();

  int lists() const;  // calls of PodResources' List

 private:
  void List(const std::shared_ptr<ServerCall>& call);
  void ListPods(const std::shared_ptr<ServerCall>& call);
  void Answer(const std::shared_ptr<ServerCall>& call, const absl::Status& status,
              const google::protobuf::MessageLite& response) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string folder_;
  mutable Mutex mutex_;
  std::vector<Pod> pods_ ABSL_GUARDED_BY(mutex_);
  bool lists_ended_pods_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  absl::Status api_failure_ ABSL_GUARDED_BY(mutex_);
  bool api_is_empty_ ABSL_GUARDED_BY(mutex_) = false;
  bool hangs_ ABSL_GUARDED_BY(mutex_) = false;
  bool serves_pods_api_ ABSL_GUARDED_BY(mutex_) = false;
  int lists_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<WireServer>> servers_;
};

}  // namespace gpuscaler
