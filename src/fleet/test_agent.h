// An agent with simulated GPUs, for tests: a real service on a port of its own.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/fake_clock.h"
#include "fleet/telemetry_service.h"
#include "fleet/test_readings.h"
#include "model/leases.h"
#include "model/memory_watch.h"
#include "model/snapshot_store.h"
#include "wire/wire_server.h"

namespace gpuscaler {

// Reads when the test calls Read(), one second after the last time.
class TestAgent {
 public:
  explicit TestAgent(int port = 0, std::string node = "gpu-7",
                     const std::optional<TlsPems>& tls = std::nullopt)
      : node_(std::move(node)) {
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    while (!Serve(port, tls)) {
      if (absl::Now() > deadline)
        throw std::runtime_error(absl::StrCat("port ", port, " is taken"));
      absl::SleepFor(absl::Milliseconds(20));
    }
  }
  ~TestAgent() {
    service_.StopStreams();
    server_ = nullptr;
  }

  void Read(double utilization_percent, int gpus = 2) {
    clock_.Advance(absl::Seconds(1));
    NodeSnapshot snapshot = SnapshotOf(gpus, clock_.Now(), node_);
    snapshot.gpus[0].utilization_percent = utilization_percent;
    Put(snapshot);
  }
  // Reads GPUs that are each held by a pod.
  void ReadPods() {
    clock_.Advance(absl::Seconds(1));
    NodeSnapshot snapshot = SnapshotOf(2, clock_.Now(), node_);
    AddPods(snapshot);
    Put(snapshot);
  }

  int port() const { return server_->port(); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port()); }
  FakeClock& clock() { return clock_; }
  Leases& leases() { return leases_; }
  std::vector<Pod> former_pods() const {
    MutexLock lock(mutex_);
    return former_pods_;
  }

 private:
  void Put(NodeSnapshot& snapshot) {
    memory_.Annotate(snapshot);
    store_.Put(snapshot);
  }
  // False while another process, such as the former agent, has the port.
  bool Serve(int port, const std::optional<TlsPems>& tls) {
    auto server = WireServer::Start({.bind_address = "127.0.0.1", .port = port, .tls = tls},
                                    service_.methods());
    if (!server.ok()) return false;
    server_ = *std::move(server);
    return true;
  }

  const std::string node_;
  FakeClock clock_;
  MemoryWatch memory_;
  SnapshotStore store_{clock_, absl::Seconds(5), absl::Minutes(2)};
  Leases leases_;
  PeerAddresses aggregators_{{.addresses = {"127.0.0.1:6000"}},
                             [](const PeerAddresses::Answer&) {}};
  mutable Mutex mutex_;
  std::vector<Pod> former_pods_ ABSL_GUARDED_BY(mutex_);
  TelemetryService service_{{.horizon = absl::Minutes(2),
                             .aggregators = &aggregators_,
                             .former_pods =
                                 [this](std::vector<Pod> pods) {
                                   MutexLock lock(mutex_);
                                   former_pods_ = std::move(pods);
                                 }},
                            clock_,
                            store_,
                            leases_,
                            nullptr};
  std::unique_ptr<WireServer> server_;
};

}  // namespace gpuscaler
