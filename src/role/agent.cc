#include "role/agent.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/periodic_thread.h"
#include "base/status_macros.h"
#include "base/stop_all.h"
#include "discovery/engine_discovery.h"
#include "discovery/engine_metrics.h"
#include "fleet/engine_log.h"
#include "fleet/peer_addresses.h"
#include "fleet/telemetry_service.h"
#include "role/engine_log_listener.h"
#include "role/node_engines.h"
#include "role/node_sampler.h"
#include "role/node_source.h"
#include "role/reloader.h"
#include "role/side_ports.h"
#include "serve/fleet_metrics.h"
#include "serve/grpc_server.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/probes.h"
#include "store/snapshot_store.h"
#include "trigger/trigger.h"

namespace gpuscaler {
namespace {

// A Watch lasts as long as both processes, so the age of a connection is practically unlimited.
constexpr absl::Duration kConnectionAge = absl::Hours(24 * 14);

// A reader has two streams, and all readers may share an address. Together they can leave less
// unread than `unread_bytes_in_all`.
constexpr SessionLimits kReaderLimits = {.streams = 256,
                                         .streams_per_address = 256,
                                         .streams_in_all = 4'096,
                                         .unread_bytes_in_all = size_t{64} << 20};

// A connection with TLS takes 35 KiB, and 70 KiB during its handshake. This number fits into the
// chart's memory limit of 256 MiB.
constexpr size_t kConnections = 1'024;

// How often aggregators are resolved. A refused reader makes the agent resolve them sooner.
constexpr absl::Duration kResolveAggregators = absl::Minutes(1);

absl::StatusOr<PeersOption> AggregatorsOf(const Config& config) {
  if (config.aggregators.empty()) return PeersOption();
  return ParsePeers(config.aggregators);
}

}  // namespace

// Members are in dependency order, so that users are destroyed before what they use.
class Agent::Impl {
 public:
  Impl(const Config& config, const Clock& clock, std::unique_ptr<GpuSource> source,
       const PeersOption& aggregators)
      : config_(config),
        clock_(clock),
        sampler_(config, clock, std::move(source), metrics_),
        probes_(clock, config.hang_after, {"sampler"}),
        engines_({}, clock, [this] { WakeDiscovery(); }),
        engine_listener_(engines_),
        aggregators_(
            aggregators, [this](const auto& answer) { LogAggregators(answer); },
            kResolveAggregators),
        telemetry_({.horizon = kLongestWindow + config.StaleAfter(),
                    .version = GPUSCALER_VERSION,
                    .read_every = config.ReadEvery(),
                    .engines = DiscoversEngines(config) ? &engines_ : nullptr,
                    .aggregators = &aggregators_,
                    .former_pods = [this](auto pods) { sampler_.AddFormerPods(std::move(pods)); }},
                   clock, sampler_.store(), sampler_.leases(), [this] { sampler_.Wake(); }) {}

  ~Impl() {
    Drain(absl::ZeroDuration());
    sampler_.Join();
  }

  absl::Status Start() {
    if (DiscoversEngines(config_)) {
      discovery_ = std::make_unique<EngineDiscovery>(DiscoveryOptionsOf(config_), clock_,
                                                     sampler_.store(), engine_listener_);
      wakeable_discovery_ = discovery_.get();
    }
    ASSIGN_OR_RETURN(grpc_, GrpcServer::Start({.bind_address = config_.bind_address,
                                               .port = PortToBind(config_.telemetry_port),
                                               .tls = config_.Tls(),
                                               .limits = kReaderLimits,
                                               .connections = kConnections,
                                               .max_connection_age = kConnectionAge},
                                              telemetry_.methods()));
    ASSIGN_OR_RETURN(metrics_server_, OpenMetricsPort(config_, [this] { return Exposition(); }));
    ASSIGN_OR_RETURN(probe_server_, OpenProbePort(config_, probes_));
    // The sampler logs a failed reading, and the store holds its error for readers.
    sampler_.Start([this](const absl::Status& /*read*/) { probes_.Ticked("sampler"); });
    reloading_ = std::make_unique<PeriodicThread>(
        "reloader", kReloadInterval,
        [reloader = std::make_shared<Reloader>(
             ReloadableFiles(config_, *grpc_, metrics_server_.get(), nullptr), metrics_)] {
          reloader->Tick();
        });
    probes_.SetServing();
    return absl::OkStatus();
  }

  int grpc_port() const { return grpc_->port(); }
  int metrics_port() const { return metrics_server_ == nullptr ? 0 : metrics_server_->port(); }
  int probe_port() const { return probe_server_ == nullptr ? 0 : probe_server_->port(); }

  void Reload() { reloading_->Wake(); }

  std::vector<std::string> Drain(absl::Duration timeout) {
    if (drained_.exchange(true)) return {};
    const SteadyClock real;
    const absl::Time deadline = real.Now() + timeout;
    probes_.SetStopping();
    telemetry_.StopStreams();
    sampler_.store().Close();
    if (grpc_ != nullptr) grpc_->Drain(timeout);
    wakeable_discovery_ = nullptr;
    std::vector<NamedThread> threads = sampler_.ReleaseThreads();
    threads.push_back({reloading_.get(), "reloader"});
    if (discovery_ != nullptr) threads.push_back(discovery_->Thread());
    const auto left = [&] { return std::max(deadline - real.Now(), absl::ZeroDuration()); };
    std::vector<std::string> hanging = StopAll(threads, left());
    if (!aggregators_.Stop(left())) hanging.emplace_back("peers dns");
    return hanging;
  }

 private:
  void LogAggregators(const PeerAddresses::Answer& answer) {
    const bool are_known = config_.aggregators.empty() || (answer.ok() && !answer->empty());
    if (std::exchange(are_aggregators_known_, are_known) == are_known) return;
    if (are_known) {
      LogInfo("aggregators_known", {{"count", answer->size()}});
    } else {
      LogWarn("aggregators_unknown",
              {{"why", answer.ok() ? "none is listed" : answer.status().message()}});
    }
  }

  std::string Exposition() const {
    const SnapshotStore::History newest = sampler_.store().Newest();
    return absl::StrCat(metrics_.Page(newest == nullptr ? nullptr : &newest->Newest(), clock_.Now(),
                                      config_.StaleAfter()),
                        TelemetryMetrics(telemetry_.counts()), EngineMetricsOfNode(),
                        GrpcMetrics(grpc_->counts()));
  }

  std::string EngineMetricsOfNode() const {
    if (discovery_ == nullptr) return "";
    return absl::StrCat(EngineMetrics(discovery_->counts()),
                        EngineReaderMetrics(telemetry_.engine_counts()));
  }

  void WakeDiscovery() {
    if (EngineDiscovery* const discovery = wakeable_discovery_) discovery->Wake();
  }

  const Config config_;
  const Clock& clock_;
  Metrics metrics_;
  NodeSampler sampler_;
  Probes probes_;
  std::atomic<bool> drained_ = false;
  std::atomic<EngineDiscovery*> wakeable_discovery_ = nullptr;  // null: no engine discovery
  EngineLog engines_;
  EngineLogListener engine_listener_;
  bool are_aggregators_known_ = true;  // used by the thread of aggregators_ only
  PeerAddresses aggregators_;
  TelemetryService telemetry_;
  // Outlives the page that shows it. Null: no engine discovery.
  std::unique_ptr<EngineDiscovery> discovery_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpServer> metrics_server_;
  std::unique_ptr<HttpServer> probe_server_;
  std::unique_ptr<PeriodicThread> reloading_;
};

absl::StatusOr<std::unique_ptr<Agent>> Agent::Start(const Config& config, const Clock& clock) {
  ASSIGN_OR_RETURN(std::unique_ptr<GpuSource> source,
                   OpenNodeSource(config, config.node_name, clock));
  ASSIGN_OR_RETURN(const PeersOption aggregators, AggregatorsOf(config));
  auto impl = std::make_unique<Impl>(config, clock, std::move(source), aggregators);
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Agent>(new Agent(std::move(impl)));
}

Agent::Agent(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Agent::~Agent() = default;
int Agent::grpc_port() const { return impl_->grpc_port(); }
int Agent::metrics_port() const { return impl_->metrics_port(); }
int Agent::probe_port() const { return impl_->probe_port(); }
void Agent::Reload() { impl_->Reload(); }
std::vector<std::string> Agent::Drain(absl::Duration timeout) { return impl_->Drain(timeout); }

}  // namespace gpuscaler
