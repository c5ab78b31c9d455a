// The demo's inference service: engines that come and go as replicas do, behind a gateway, each
// with a GPU in the file that the scaler reads.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bound_port.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "demo/demo_gateway.h"
#include "demo/demo_gpu_file.h"
#include "demo/demo_replica.h"
#include "demo/demo_scenario.h"

namespace gpuscaler {

// What the name of a headless Service leads to: the addresses of the pods that are ready.
// Thread-safe.
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

// As DemoServiceOptions say, `speed` times as fast. Not thread-safe.
class DemoService {
 public:
  // Without replicas. UNAVAILABLE: no place for the file, no libcurl.
  static absl::StatusOr<std::unique_ptr<DemoService>> Open(const DemoServiceOptions& options,
                                                           int speed);

  // New replicas load on the free GPUs of lowest index; the newest ones end first, once they have
  // answered what they took.
  absl::Status Scale(int replicas);

  // Engines that have loaded serve, those that have answered all are gone, GPUs are shown.
  absl::Status Tick();

  int replicas() const { return static_cast<int>(replicas_.size()); }  // that are to stay
  bool empty() const;                                                  // nor does one still end
  int ready() const;
  EngineGauges Requests() const;  // of all engines; what the gateway holds waits
  const std::vector<GpuShown>& gpus() const { return gpus_; }
  absl::Duration gpu_time() const { return gpu_time_; }  // of all replicas, simulated
  int most_replicas() const { return most_replicas_; }

  DemoGateway& gateway() { return *gateway_; }
  std::string gpu_file() const { return gpu_file_.path(); }

  // Of the engines: all listen on the same one.
  int port() const { return reserved_.port(); }
  std::shared_ptr<const ReadyAddresses> addresses() const { return addresses_; }

 private:
  struct Replica {
    int gpu;
    std::unique_ptr<DemoReplica> engine;
  };

  DemoService(const DemoServiceOptions& options, int speed, DemoGpuFile file,
              std::unique_ptr<HttpSender> http, BoundPort reserved);

  bool Free(int gpu) const;
  absl::Status Add(int gpu);
  void TellWhoIsReady();
  absl::Status ShowGpus();

  const DemoServiceOptions options_;
  const int speed_;
  const SteadyClock clock_;  // real
  const DemoGpuFile gpu_file_;
  const std::unique_ptr<DemoGateway> gateway_;
  const BoundPort reserved_;       // on an address that no engine has
  std::vector<Replica> replicas_;  // oldest first
  std::vector<Replica> ending_;
  std::vector<GpuShown> gpus_;  // as shown last
  absl::Time counted_at_;
  absl::Duration gpu_time_;
  int most_replicas_ = 0;
  const std::shared_ptr<ReadyAddresses> addresses_ = std::make_shared<ReadyAddresses>();
};

}  // namespace gpuscaler
