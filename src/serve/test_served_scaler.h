// A real server on loopback, with a snapshot store that a test fills.
//
//   ServedScaler scaler;
//   scaler.Sample({BusyGpu(0, 60)});
//   scaler.client.IsActive(RefOf({}))
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/mutex.h"
#include "base/test_eventually.h"
#include "model/memory_watch.h"
#include "model/snapshot_store.h"
#include "scaling/test_history_builder.h"
#include "serve/grpc_server.h"
#include "serve/scaler_service.h"
#include "serve/test_scaler_client.h"

namespace gpuscaler {

// Counts requests and decisions. Thread-safe.
class CountedRequests : public RequestMetrics {
 public:
  void Answered(Rpc rpc, absl::StatusCode code, absl::Duration) override {
    std::function<void()> first;
    {
      MutexLock lock(mutex_);
      ++answered_[{rpc, code}];
      changed_.NotifyAll();
      if (rpc == Rpc::kExplain) first = std::exchange(at_explanation_, nullptr);
    }
    if (first) first();
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
  // The thread of the next decision calls `action` before it goes on.
  void AtNextDecision(std::function<void()> action) {
    MutexLock lock(mutex_);
    at_decision_ = std::move(action);
  }
  // The next answer to Explain calls `action` before it is sent.
  void AtNextExplanation(std::function<void()> action) {
    MutexLock lock(mutex_);
    at_explanation_ = std::move(action);
  }

  int answered(Rpc rpc, absl::StatusCode code) {
    MutexLock lock(mutex_);
    return answered_[{rpc, code}];
  }
  int decided(Outcome outcome) {
    MutexLock lock(mutex_);
    return decided_[outcome];
  }
  // Blocks until `count` streams are open. Returns false after 30 s.
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
  std::function<void()> at_explanation_ ABSL_GUARDED_BY(mutex_);
};

// Blocks one thread from Pass() until Open().
class Barrier {
 public:
  void Pass() {
    arrived_.set_value();
    opened_.get_future().wait();
  }
  bool WaitForArrival() {
    return arrived_.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  }
  void Open() { opened_.set_value(); }

 private:
  std::promise<void> arrived_, opened_;
};

class ServedScaler {
 public:
  explicit ServedScaler(const ScalerServiceOptions& options = {},
                        const std::string& profiles_path = "",
                        const WireServerOptions& server_options = {.bind_address = "127.0.0.1"},
                        const SignalAccess& signals = {}, const TlsFiles& tls = {})
      : profiles(profiles_path),
        store(clock, options.stale_after, absl::Minutes(20)),
        service(std::make_unique<ScalerService>(
            options, clock, store, leases, profiles, counted, [this] { ++sampler_wakes; },
            signals)),
        server(Serve(server_options, tls, service->methods())),
        address(absl::StrCat(absl::StrContains(server_options.bind_address, ':')
                                 ? absl::StrCat("[", server_options.bind_address, "]")
                                 : server_options.bind_address,
                             ":", server->port())),
        client({.address = address}) {}

  ~ServedScaler() { Stop(); }

  void Stop() {
    service->StopStreams();
    server->Drain(absl::Seconds(5));
  }

  // Stores a snapshot taken now.
  void Sample(std::vector<GpuSample> gpus) {
    NodeSnapshot snapshot;
    snapshot.taken_at = clock.Now();
    snapshot.node = "n";
    snapshot.gpus = std::move(gpus);
    memory.Annotate(snapshot);
    store.Put(std::move(snapshot));
  }

  // Stores the same GPUs every two seconds for `duration`.
  void RepeatFor(absl::Duration duration, const std::vector<GpuSample>& gpus) {
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
  const std::string address;
  TestScalerClient client;  // in plain text

 private:
  // On any free port.
  static std::unique_ptr<GrpcServer> Serve(const WireServerOptions& options, const TlsFiles& tls,
                                           Methods methods) {
    auto started = GrpcServer::Start(options, tls, std::move(methods));
    if (!started.ok()) throw std::runtime_error(started.status().ToString());
    return *std::move(started);
  }
};

}  // namespace gpuscaler
