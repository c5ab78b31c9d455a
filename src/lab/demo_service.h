// The demo's inference service: engines that start and stop like replicas, behind a gateway, each
// with a pod, and a GPU in the file that the scaler reads.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bound_port.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "kubelet/fake_kubelet.h"
#include "lab/demo_gateway.h"
#include "lab/demo_gpu_file.h"
#include "lab/demo_replica.h"
#include "lab/demo_scenario.h"

namespace gpuscaler {

// The addresses that a headless Service resolves to: those of ready pods. Thread-safe.
class ReadyAddresses {
 public:
  void Set(std::vector<std::string> addresses) {
    MutexLock lock(mutex_);
    addresses_ = std::move(addresses);
  }
  std::vector<std::string> Get() const {
    MutexLock lock(mutex_);
    return addresses_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> addresses_ ABSL_GUARDED_BY(mutex_);
};

// A service with DemoServiceOptions, `speed` times as fast. Not thread-safe.
class DemoService {
 public:
  // Has no replicas yet. Returns UNAVAILABLE without libcurl or a folder for the file and sockets.
  static absl::StatusOr<std::unique_ptr<DemoService>> Open(const DemoServiceOptions& options,
                                                           int speed);

  // New replicas load on the free GPUs of lowest index. The newest replicas are removed first; they
  // end once their requests are answered.
  absl::Status Scale(int replicas);

  // Starts engines that have loaded, removes those that have answered everything, and writes the
  // GPUs and the pods.
  absl::Status Tick();

  int replicas() const { return static_cast<int>(replicas_.size()); }  // without those that end
  bool empty() const;                                                  // includes those that end
  int ready() const;
  EngineGauges Requests() const;  // all engines; held requests count as waiting
  const std::vector<GpuReport>& gpus() const { return gpus_; }
  absl::Duration gpu_time() const { return gpu_time_; }  // all replicas, simulated time
  int most_replicas() const { return most_replicas_; }

  DemoGateway& gateway() { return *gateway_; }
  std::string gpu_file() const { return gpu_file_.path(); }
  const FakeKubelet& kubelet() const { return kubelet_; }

  // The port that all engines listen on.
  int port() const { return reserved_.port(); }
  std::shared_ptr<const ReadyAddresses> addresses() const { return addresses_; }

 private:
  using Replicas = std::vector<std::unique_ptr<DemoReplica>>;

  DemoService(const DemoServiceOptions& options, int speed, DemoGpuFile file,
              std::unique_ptr<HttpSender> http, BoundPort reserved);

  bool Free(int gpu) const;
  absl::Status Add(int gpu);
  void SetReadyEngines();
  void PublishAddresses();
  void PublishPods();
  absl::Status WriteGpus();

  const DemoServiceOptions options_;
  const int speed_;
  const SteadyClock clock_;  // real time
  const DemoGpuFile gpu_file_;
  FakeKubelet kubelet_;  // its sockets are beside the file
  const std::unique_ptr<DemoGateway> gateway_;
  const BoundPort reserved_;  // on an address without an engine
  Replicas replicas_;         // oldest first
  Replicas ending_;
  std::vector<GpuReport> gpus_;  // as written last
  absl::Time counted_at_;
  absl::Duration gpu_time_;
  int most_replicas_ = 0;
  int started_ = 0;  // replicas so far
  const std::shared_ptr<ReadyAddresses> addresses_ = std::make_shared<ReadyAddresses>();
};

}  // namespace gpuscaler
