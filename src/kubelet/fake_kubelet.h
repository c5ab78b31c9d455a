// The two APIs of a kubelet for the pods of its node, on real unix sockets. It answers like
// Kubernetes' own (recorded_answers_test.cc).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kubelet/kubelet_pods.h"
#include "kubelet/pod_resources.h"

namespace gpuscaler {

// Thread-safe.
class FakeKubelet {
 public:
  struct Pod {
    PodDevices devices;  // one with a claim and without an id: the claim is not prepared
    KubeletPod of_api;   // namespace and name are those of `devices`
  };

  // Serves PodResources from the start; `folder` is made if need be, and is short enough for a
  // socket's name.
  explicit FakeKubelet(const std::string& folder);
  ~FakeKubelet();

  std::string pod_resources_socket() const;
  std::string pods_api_socket() const;

  void SetPods(std::vector<Pod> pods);
  void AddPod(const std::string& namespace_name, const std::string& name,
              std::vector<PodDevice> devices);

  // PodResources lists pods that have ended too, as before Kubernetes 1.34.
  void ListEndedPods(bool lists);

  // Every call fails so from now on; OK: they are answered again.
  void Fail(absl::Status status);

  // The Pods API alone fails so, as until a starting kubelet has heard of its pods.
  void FailPodsApi(absl::Status status);

  // The Pods API alone lists no pod, as a kubelet of 1.36 that has just started.
  void EmptyPodsApi(bool empty);

  // Calls hang from now on, as long as their clients wait.
  void Hang(bool hangs);

  void ServePodsApi(bool serves);

  // The sockets go, and come back anew, as at a restart.
  void Stop();
  void Start();

  int lists() const;  // calls of PodResources' List so far

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
