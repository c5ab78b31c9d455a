#include "role/standalone.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/periodic_thread.h"
#include "base/status_macros.h"
#include "base/stop_all.h"
#include "config/allowed_namespaces.h"
#include "discovery/engine_discovery.h"
#include "discovery/engine_metrics.h"
#include "role/duplicate_scaler_check.h"
#include "role/node_engines.h"
#include "role/node_sampler.h"
#include "role/node_source.h"
#include "role/reloader.h"
#include "role/side_ports.h"
#include "role/signal_store_listener.h"
#include "serve/fleet_metrics.h"
#include "serve/grpc_server.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/probes.h"
#include "serve/profile_store.h"
#include "serve/scaler_service.h"
#include "serve/signal_metrics.h"
#include "store/snapshot_store.h"
#include "trigger/trigger.h"

namespace gpuscaler {
namespace {

// A duplicate is not urgent, and each check queries the cluster's DNS.
constexpr absl::Duration kDuplicateScalerInterval = absl::Minutes(1);

}  // namespace

// Members are in dependency order, so that users are destroyed before what they use.
class Standalone::Impl {
 public:
  Impl(const Config& config, const Clock& clock, const DemoOverrides& overrides,
       std::unique_ptr<GpuSource> source, AllowedNamespaces allowed)
      : config_(config),
        clock_(clock),
        sampler_(config, clock, std::move(source), metrics_),
        profiles_(config.profiles),
        probes_(clock, config.hang_after, {"sampler", "answers"}),
        signals_(
            config, clock, [this] { WakeDiscovery(); }, overrides),
        engines_(signals_.store(), config.node_name, allowed),
        service_(
            {.stale_after = config.StaleAfter(),
             .allowed_namespaces = std::move(allowed),
             .max_streams_per_peer = config.max_streams_per_peer,
             .on_tick = [this] { probes_.Ticked("answers"); }},
            clock, sampler_.store(), sampler_.leases(), profiles_, metrics_,
            [this] { sampler_.Wake(); }, signals_.access(FindsEngines())) {}

  ~Impl() {
    Drain(absl::ZeroDuration());
    sampler_.Join();
  }

  absl::Status Start() {
    RETURN_IF_ERROR(profiles_.Reload());
    if (FindsEngines()) {
      discovery_ = std::make_unique<EngineDiscovery>(DiscoveryOptionsOf(config_), clock_,
                                                     sampler_.store(), engines_);
      wakeable_discovery_ = discovery_.get();
    }
    ASSIGN_OR_RETURN(grpc_, GrpcServer::Start({.bind_address = config_.bind_address,
                                               .port = PortToBind(config_.port),
                                               .tls = config_.Tls(),
                                               .limits = ScalerLimits(config_.max_streams_per_peer),
                                               .max_connection_age = config_.max_connection_age},
                                              service_.methods()));
    ASSIGN_OR_RETURN(metrics_server_, OpenMetricsPort(config_, [this] { return Exposition(); }));
    ASSIGN_OR_RETURN(probe_server_, OpenProbePort(config_, probes_));
    sampler_.Start([this](const absl::Status& read) {
      probes_.Ticked("sampler");
      grpc_->SetScalerServing(read.ok());
    });
    reloading_ = std::make_unique<PeriodicThread>(
        "reloader", kReloadInterval,
        [reloader = std::make_shared<Reloader>(
             ReloadableFiles(config_, *grpc_, metrics_server_.get(), &profiles_), metrics_)] {
          reloader->Tick();
        });
    if (!config_.service.empty()) {
      duplicates_ = std::make_unique<PeriodicThread>(
          "duplicate check", kDuplicateScalerInterval,
          [duplicates = std::make_shared<DuplicateScalerCheck>(config_.service)] {
            duplicates->Tick();
          });
    }
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
    const auto left = [&] { return std::max(deadline - real.Now(), absl::ZeroDuration()); };
    probes_.SetStopping();
    service_.StopStreams();
    sampler_.store().Close();
    if (grpc_ != nullptr) grpc_->Drain(left());
    wakeable_discovery_ = nullptr;
    std::vector<NamedThread> threads = sampler_.ReleaseThreads();
    threads.push_back({reloading_.get(), "reloader"});
    if (discovery_ != nullptr) threads.push_back(discovery_->Thread());
    threads.push_back({duplicates_.get(), "duplicate check"});
    for (const NamedThread& thread : signals_.Threads()) threads.push_back(thread);
    return StopAll(threads, left());
  }

 private:
  std::string Exposition() const {
    const SnapshotStore::History newest = sampler_.store().Newest();
    return absl::StrCat(metrics_.Page(newest == nullptr ? nullptr : &newest->Newest(), clock_.Now(),
                                      config_.StaleAfter()),
                        SignalMetrics(signals_.counts(), clock_.Now()),
                        discovery_ == nullptr ? "" : EngineMetrics(discovery_->counts()),
                        GrpcMetrics(grpc_->counts()));
  }

  // Without a kubelet no pods are known and there is no Pods API.
  bool FindsEngines() const {
    const bool is_auto = config_.discover_engines == DiscoverEngines::kAuto;
    return DiscoversEngines(config_) && (!is_auto || sampler_.asks_kubelet());
  }

  void WakeDiscovery() {
    if (EngineDiscovery* const discovery = wakeable_discovery_) discovery->Wake();
  }

  const Config config_;
  const Clock& clock_;
  Metrics metrics_;
  NodeSampler sampler_;
  ProfileStore profiles_;
  Probes probes_;
  std::atomic<bool> drained_ = false;
  std::atomic<EngineDiscovery*> wakeable_discovery_ = nullptr;  // null: no engine discovery
  SignalReader signals_;
  SignalStoreListener engines_;
  ScalerService service_;
  // Outlives the page that shows it. Null: no engine discovery.
  std::unique_ptr<EngineDiscovery> discovery_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpServer> metrics_server_;
  std::unique_ptr<HttpServer> probe_server_;
  std::unique_ptr<PeriodicThread> reloading_;
  std::unique_ptr<PeriodicThread> duplicates_;  // null: no --service
};

absl::StatusOr<std::unique_ptr<Standalone>> Standalone::Start(const Config& config,
                                                              const Clock& clock,
                                                              const DemoOverrides& overrides) {
  ASSIGN_OR_RETURN(AllowedNamespaces allowed, ParseAllowedNamespaces(config.allow_namespaces));
  ASSIGN_OR_RETURN(std::unique_ptr<GpuSource> source,
                   OpenNodeSource(config, config.node_name, clock));
  auto impl =
      std::make_unique<Impl>(config, clock, overrides, std::move(source), std::move(allowed));
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Standalone>(new Standalone(std::move(impl)));
}

Standalone::Standalone(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Standalone::~Standalone() = default;
int Standalone::grpc_port() const { return impl_->grpc_port(); }
int Standalone::metrics_port() const { return impl_->metrics_port(); }
int Standalone::probe_port() const { return impl_->probe_port(); }
void Standalone::Reload() { impl_->Reload(); }
std::vector<std::string> Standalone::Drain(absl::Duration timeout) { return impl_->Drain(timeout); }

}  // namespace gpuscaler
