// A running scaler: the parts of its role, and its ports.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "model/allowed_namespaces.h"
#include "role/agent_connections.h"
#include "role/config.h"
#include "role/cost_recorder.h"
#include "role/fleet_prices.h"
#include "role/node_sampler.h"
#include "role/signal_reader.h"
#include "role/telemetry_sender.h"
#include "serve/grpc_server.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/probes.h"
#include "signal/engine_discovery.h"
#include "web/web_port.h"

namespace gpuscaler {

// Reads and serves from Start() to Drain(). Thread-safe.
//
//   const SteadyClock clock;
//   ASSIGN_OR_RETURN(const auto running, RunningRole::Start(config, clock));
//   termination.Wait();
//   running->Drain(absl::Seconds(5));
class RunningRole {
 public:
  // Starts the role of `config`, and serves when it returns; the first reading may still be
  // running. `clock` timestamps the readings and may run faster than real time; it must outlive the
  // result. Returns INVALID_ARGUMENT if the TLS files, profiles or GPU source are unusable, and
  // UNAVAILABLE if an address cannot be bound.
  static absl::StatusOr<std::unique_ptr<RunningRole>> Start(const Config& config,
                                                            const Clock& clock,
                                                            const DemoOverrides& overrides = {});
  ~RunningRole();
  RunningRole(const RunningRole&) = delete;
  RunningRole& operator=(const RunningRole&) = delete;

  int grpc_port() const;     // an agent serves telemetry
  int metrics_port() const;  // 0: off
  int probe_port() const;    // 0: off
  int web_port() const;      // 0: off, as in an agent

  // Reloads certificates and profiles at once, on another thread. The files must be complete. Never
  // blocks.
  void Reload();

  // Becomes unready, ends streams with OK, waits for RPCs and stops reading. Only the first call
  // has an effect. Returns the names of the threads that still run after `timeout`, for example
  // "sampler" (in the driver), "reloader" (in a file system), "kubelet" or "duplicate check" (in a
  // network call). The destructor would then block for ever, and only the end of the process helps.
  std::vector<std::string> Drain(absl::Duration timeout);

 private:
  struct Fleet;
  struct Answers;

  RunningRole(const Config& config, const Clock& clock);

  // Makes the parts of the role, opens the ports and starts the threads.
  absl::Status Open(const DemoOverrides& overrides);
  absl::Status MakeAnswers(const DemoOverrides& overrides, const AllowedNamespaces& allowed);
  absl::Status OpenGrpcPort();
  absl::Status Connect(const AllowedNamespaces& allowed);
  // Must precede the metrics port, which exports the prices.
  absl::Status ReadPrices();
  absl::Status OpenWebPort();
  void StartThreads(const DemoOverrides& overrides);

  bool FindsEngines() const;
  // Looks at once for the engines that triggers or aggregators need now.
  void WakeEngines();
  // Gets the readings at once that triggers need now.
  void WakeReadings();
  std::string Exposition() const;
  // The readings that the role has. Requires one that answers KEDA.
  const FleetReader& Readings() const;

  const Config config_;
  const Clock& clock_;
  Metrics metrics_;
  Probes probes_;
  std::atomic<bool> drained_ = false;
  std::atomic<bool> is_reload_requested_ = false;
  Mutex mutex_;
  // Null before they start, and from Drain() on.
  EngineDiscovery* wakeable_discovery_ ABSL_GUARDED_BY(mutex_) = nullptr;
  AgentConnections* wakeable_connections_ ABSL_GUARDED_BY(mutex_) = nullptr;

  // A part is null if the role, or its configuration, has none. In dependency order, so that users
  // are destroyed before what they use.
  std::unique_ptr<NodeSampler> node_;                // reads this node's GPUs; not in an aggregator
  std::unique_ptr<Fleet> fleet_;                     // the readings of all agents; in an aggregator
  std::unique_ptr<Answers> answers_;                 // answers KEDA; not in an agent
  std::unique_ptr<TelemetrySender> telemetry_;       // in an agent
  std::unique_ptr<EngineSubscriber> found_engines_;  // in a standalone scaler
  std::unique_ptr<EngineDiscovery> discovery_;  // reads this node's engines; not in an aggregator
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<AgentConnections> connections_;  // fill `fleet_`; in an aggregator
  std::unique_ptr<FleetPrices> prices_;            // not in an agent
  std::unique_ptr<CostRecorder> costs_;            // only with `web_`
  std::unique_ptr<WebPort> web_;                   // not in an agent
  std::unique_ptr<HttpServer> metrics_server_;
  std::unique_ptr<HttpServer> probe_server_;
  std::unique_ptr<PeriodicThread> reloading_;
  std::unique_ptr<PeriodicThread> duplicates_;
  std::unique_ptr<PeriodicThread> recording_;
  std::unique_ptr<PeriodicThread> counting_costs_;
};

}  // namespace gpuscaler
