// A real server on loopback in front of a snapshot store that a test fills.
//
//   ServedScaler scaler;
//   scaler.Sample({BusyGpu(0, 60)});
//   scaler.stub().IsActive(...)
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/mutex.h"
#include "explain.grpc.pb.h"
#include "externalscaler.grpc.pb.h"
#include "model/memory_watch.h"
#include "scaling/history_builder.h"
#include "serve/grpc_server.h"
#include "serve/scaler_service.h"
#include "store/snapshot_store.h"

namespace gpuscaler {

// True as soon as `condition` is; false when it is not within 30 s.
template <typename Condition>
bool Eventually(Condition condition) {
  const SteadyClock real;
  const absl::Time deadline = real.Now() + absl::Seconds(30);
  while (!condition()) {
    if (real.Now() >= deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// What was counted, for tests to wait for.
class CountedRequests : public RequestMetrics {
 public:
  void Answered(Rpc rpc, absl::StatusCode code, absl::Duration) override {
    MutexLock lock(mutex_);
    ++answered_[{rpc, code}];
    changed_.NotifyAll();
  }
  void StreamsOpen(Rpc rpc, int count) override {
    MutexLock lock(mutex_);
    open_[rpc] = count;
    changed_.NotifyAll();
  }
  void Decided(Outcome outcome) override {
    std::function<void()> first;
    {
      MutexLock lock(mutex_);
      ++decided_[outcome];
      first = std::exchange(at_decision_, nullptr);
    }
    if (first) first();
  }
  // Done by whoever decides next, before it goes on.
  void AtNextDecision(std::function<void()> what) {
    MutexLock lock(mutex_);
    at_decision_ = std::move(what);
  }

  int answered(Rpc rpc, absl::StatusCode code) {
    MutexLock lock(mutex_);
    return answered_[{rpc, code}];
  }
  int decided(Outcome outcome) {
    MutexLock lock(mutex_);
    return decided_[outcome];
  }
  // False when it does not come to that within 30 s.
  bool WaitForOpen(Rpc rpc, int count) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(30);
    MutexLock lock(mutex_);
    while (open_[rpc] != count && real.Now() < deadline) {
      changed_.WaitFor(mutex_, deadline - real.Now());
    }
    return open_[rpc] == count;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::pair<Rpc, absl::StatusCode>, int> answered_ ABSL_GUARDED_BY(mutex_);
  std::map<Rpc, int> open_ ABSL_GUARDED_BY(mutex_);
  std::map<Outcome, int> decided_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> at_decision_ ABSL_GUARDED_BY(mutex_);
};

class ServedScaler {
 public:
  explicit ServedScaler(const ScalerServiceOptions& options = {},
                        const std::string& profiles_path = "",
                        GrpcServerOptions server_options = {.bind_address = "127.0.0.1"},
                        const SignalAccess& signals = {})
      : profiles(profiles_path),
        store(clock, options.stale_after, absl::Minutes(20)),
        service(std::make_unique<ScalerService>(
            options, clock, store, leases, profiles, counted, [this] { ++sampler_wakes; },
            signals)) {
    server_options.port = 0;
    auto started = GrpcServer::Start(server_options, service->methods());
    if (!started.ok()) throw std::runtime_error(started.status().ToString());
    server = *std::move(started);
    address = server_options.bind_address.find(':') == std::string::npos
                  ? absl::StrCat(server_options.bind_address, ":", server->port())
                  : absl::StrCat("[", server_options.bind_address, "]:", server->port());
    channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    stub = externalscaler::ExternalScaler::NewStub(channel);
    explainer = gpuscaler::v1::Explainer::NewStub(channel);
  }

  ~ServedScaler() { Stop(); }

  void Stop() {
    service->StopStreams();
    server->Drain(absl::Seconds(5));
  }

  // One snapshot, dated now.
  void Sample(std::vector<GpuSample> gpus) {
    NodeSnapshot snapshot;
    snapshot.taken_at = clock.Now();
    snapshot.node = "n";
    snapshot.gpus = std::move(gpus);
    memory.Annotate(snapshot);
    store.Put(std::move(snapshot));
  }

  // The same GPUs every two seconds for `duration`.
  void Hold(absl::Duration duration, const std::vector<GpuSample>& gpus) {
    for (absl::Duration held; held < duration; held += kTick) {
      clock.Advance(kTick);
      Sample(gpus);
    }
  }

  FakeClock clock;
  CountedRequests counted;
  ProfileStore profiles;
  Leases leases;
  SnapshotStore store;
  MemoryWatch memory;
  std::atomic<int> sampler_wakes = 0;
  std::unique_ptr<ScalerService> service;
  std::unique_ptr<GrpcServer> server;
  std::string address;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<externalscaler::ExternalScaler::Stub> stub;
  std::unique_ptr<gpuscaler::v1::Explainer::Stub> explainer;
};

inline externalscaler::ScaledObjectRef RefOf(const std::map<std::string, std::string>& metadata) {
  externalscaler::ScaledObjectRef ref;
  ref.set_name("llm");
  ref.set_namespace_("default");
  for (const auto& [key, value] : metadata) (*ref.mutable_scalermetadata())[key] = value;
  return ref;
}

}  // namespace gpuscaler
