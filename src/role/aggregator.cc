#include "role/aggregator.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "base/periodic_thread.h"
#include "base/status_macros.h"
#include "base/stop_all.h"
#include "config/allowed_namespaces.h"
#include "fleet/engine_watch.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_watch.h"
#include "fleet/peer_addresses.h"
#include "role/agent_tls.h"
#include "role/reloader.h"
#include "role/side_ports.h"
#include "role/signal_reader.h"
#include "serve/fleet_metrics.h"
#include "serve/fleet_viewer.h"
#include "serve/grpc_server.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/probes.h"
#include "serve/profile_store.h"
#include "serve/scaler_service.h"
#include "serve/signal_metrics.h"
#include "signal/found_engines.h"
#include "store/leases.h"
#include "trigger/trigger.h"

namespace gpuscaler {
namespace {

// How often the subscription to costly readings is sent to agents. It lasts twice as long.
constexpr absl::Duration kRenewInterval = absl::Seconds(30);

// How long a new aggregator without any agent stays unready, because older ones in the Service may
// have answers. If all are new, the Service is empty meanwhile: KEDA's channels back off, and KEDA
// gets no reason. So this must be short.
constexpr absl::Duration kReadyWithin = absl::Seconds(10);

// A connection on which no message arrives for this time is dead, however long --grace is.
constexpr absl::Duration kLongestIdleTimeout = absl::Seconds(15);

std::set<std::string> NamespacesOf(const Config& config) {
  return absl::StrSplit(config.namespaces, ',', absl::SkipEmpty());
}

// Returns the namespaces of the pods that ScaledObjects of `served` may see; empty: all.
std::set<std::string> SeenFrom(const std::set<std::string>& served,
                               const AllowedNamespaces& allowed) {
  std::set<std::string> seen = served;
  for (const auto& [from, to] : allowed) {
    if (served.contains(from)) seen.insert(to);
  }
  return seen;
}

}  // namespace

// Members are in dependency order, so that users are destroyed before what they use.
class Aggregator::Impl {
 public:
  Impl(const Config& config, const Clock& clock, PeersOption agents, AllowedNamespaces allowed)
      : config_(config),
        clock_(clock),
        agents_(std::move(agents)),
        seen_namespaces_(SeenFrom(NamespacesOf(config), allowed)),
        fleet_(clock, {.timeouts = {.grace = config.grace,
                                    .forget_after = config.forget_after,
                                    .empty_after = config.empty_after,
                                    .stale_after = config.StaleAfter()},
                       .limits = {.horizon = kLongestWindow + config.StaleAfter(),
                                  .join_within = config.StaleAfter()},
                       .leases = &leases_}),
        profiles_(config.profiles),
        probes_(clock, config.hang_after, {"answers"}),
        signals_(config, clock, [this] { WakeEngines(); }),
        engines_(signals_.store(), allowed),
        service_(
            {.stale_after = config.StaleAfter(),
             .grace = config.grace,
             .forget_after = config.forget_after,
             .allowed_namespaces = std::move(allowed),
             .namespaces = NamespacesOf(config),
             .max_streams_per_peer = config.max_streams_per_peer,
             .on_tick = [this] { probes_.Ticked("answers"); }},
            clock, fleet_, leases_, profiles_, metrics_, [this] { WakeRenewal(); },
            signals_.access(true)),
        viewer_({.staleness = {.stale_after = config.StaleAfter(), .grace = config.grace},
                 .version = GPUSCALER_VERSION,
                 .agents = [this] { return fleet_.Agents(); },
                 .namespaces = seen_namespaces_},
                clock, fleet_) {}

  ~Impl() { Drain(absl::ZeroDuration()); }

  absl::Status Start() {
    if (config_.Tls().Enabled()) RETURN_IF_ERROR(ReadTls(config_.Tls()).status());
    RETURN_IF_ERROR(profiles_.Reload());
    Methods methods = service_.methods();
    methods.merge(viewer_.methods());
    ASSIGN_OR_RETURN(grpc_, GrpcServer::Start({.bind_address = config_.bind_address,
                                               .port = PortToBind(config_.port),
                                               .tls = config_.Tls(),
                                               .limits = ScalerLimits(config_.max_streams_per_peer),
                                               .max_connection_age = config_.max_connection_age},
                                              std::move(methods)));
    const FleetWatchOptions options = WatchOptions();
    watch_ = std::make_unique<FleetWatch>(options, clock_, fleet_);
    engine_watch_ = std::make_unique<EngineWatch>(options.stream, clock_, fleet_, engines_);
    wakeable_engines_ = engine_watch_.get();
    ASSIGN_OR_RETURN(metrics_server_, OpenMetricsPort(config_, [this] { return Exposition(); }));
    ASSIGN_OR_RETURN(probe_server_, OpenProbePort(config_, probes_));
    renewing_ = std::make_unique<PeriodicThread>("wanting", kRenewInterval,
                                                 [this] { RenewSubscription(); });
    wakeable_renewal_ = renewing_.get();
    watching_health_ =
        std::make_unique<PeriodicThread>("health", absl::Seconds(1), [this] { CheckFleet(); });
    reloading_ = std::make_unique<PeriodicThread>(
        "reloader", kReloadInterval,
        [reloader = std::make_shared<Reloader>(
             ReloadableFiles(config_, *grpc_, metrics_server_.get(), &profiles_), metrics_)] {
          reloader->Tick();
        });
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
    fleet_.Close();
    if (grpc_ != nullptr) grpc_->Drain(left());
    wakeable_renewal_ = nullptr;
    wakeable_engines_ = nullptr;
    std::vector<NamedThread> threads = signals_.Threads();
    threads.push_back({renewing_.get(), "wanting"});
    threads.push_back({watching_health_.get(), "health"});
    threads.push_back({reloading_.get(), "reloader"});
    std::vector<std::string> hanging = StopAll(threads, left());
    if (watch_ == nullptr) return hanging;
    if (engine_watch_ != nullptr && !engine_watch_->Stop(left()))
      hanging.emplace_back("agents engines");
    for (std::string& name : watch_->Stop(left())) hanging.push_back(std::move(name));
    return hanging;
  }

 private:
  FleetWatchOptions WatchOptions() {
    FleetWatchOptions options{
        .agents = agents_,
        .stream = {.history = kLongestWindow + config_.StaleAfter(),
                   .idle_timeout = std::min(config_.grace, kLongestIdleTimeout),
                   .reader = config_.node_name,
                   .namespaces = seen_namespaces_}};
    if (!config_.Tls().Enabled()) return options;
    options.stream.connection.tls = [this] { return agent_tls_.Context(); };
    options.stream.connection.server_name = agents_.ServerName();
    options.stream.connection.binds_node_name = config_.agent_identity == AgentIdentity::kSan;
    return options;
  }

  std::string Exposition() const {
    const absl::Time now = clock_.Now();
    return absl::StrCat(metrics_.Page(nullptr, now, config_.StaleAfter()),
                        AgentsMetrics({.agents = fleet_.Agents(),
                                       .counts = watch_->CountsOfAgents(),
                                       .listing = fleet_.listing(),
                                       .conflicts = fleet_.conflicts(),
                                       .namespaces = NamespacesOf(config_)},
                                      now),
                        SignalMetrics(signals_.counts(), now),
                        EngineStreamMetrics(engine_watch_->counts()), GrpcMetrics(grpc_->counts()));
  }

  // Returns how long to wait for a usable fleet. With some agents connected, the others are awaited
  // for --empty-after, which begins when DNS lists them.
  absl::Duration ReadyWithin() const {
    const bool has_some = std::ranges::any_of(fleet_.Agents(), [](const AgentStatus& agent) {
      return agent.received_at != absl::InfinitePast();
    });
    return has_some ? config_.empty_after + kReadyWithin : kReadyWithin;
  }

  // Becomes ready once it can answer. After ReadyWithin() it becomes ready in any case, so that
  // KEDA gets the error.
  void CheckFleet() {
    const absl::Status known = fleet_.Check();
    grpc_->SetScalerServing(known.ok());
    if (ready_) return;
    if (!known.ok() && clock_.Now() - started_at_ < ReadyWithin()) return;
    ready_ = true;
    if (!known.ok()) LogWarn("ready_without_fleet", {{"why", known.message()}});
    probes_.SetServing();
  }

  void RenewSubscription() {
    const CostlyReadings subscription = leases_.Subscription(clock_.Now());
    if (subscription != CostlyReadings()) watch_->Subscribe(subscription, 2 * kRenewInterval);
  }

  void WakeRenewal() {
    if (PeriodicThread* const renewing = wakeable_renewal_) renewing->Wake();
  }

  void WakeEngines() {
    if (EngineWatch* const engines = wakeable_engines_) engines->Wake();
  }

  const Config config_;
  const Clock& clock_;
  const absl::Time started_at_ = clock_.Now();
  const PeersOption agents_;
  const std::set<std::string> seen_namespaces_;  // that it gets readings of; empty: all
  Metrics metrics_;
  Leases leases_;
  FleetStore fleet_;
  ProfileStore profiles_;
  Probes probes_;
  std::atomic<bool> drained_ = false;
  std::atomic<PeriodicThread*> wakeable_renewal_ =
      nullptr;                                            // null before Start() and from Drain() on
  std::atomic<EngineWatch*> wakeable_engines_ = nullptr;  // null before Start() and from Drain() on
  SignalReader signals_;
  FoundEngines engines_;
  ScalerService service_;
  FleetViewer viewer_;
  bool ready_ = false;  // used by the thread `health` only
  std::unique_ptr<GrpcServer> grpc_;
  AgentTls agent_tls_{config_.Tls(), clock_};
  std::unique_ptr<FleetWatch> watch_;
  std::unique_ptr<EngineWatch> engine_watch_;
  std::unique_ptr<HttpServer> metrics_server_;
  std::unique_ptr<HttpServer> probe_server_;
  std::unique_ptr<PeriodicThread> renewing_;
  std::unique_ptr<PeriodicThread> watching_health_;
  std::unique_ptr<PeriodicThread> reloading_;
};

absl::StatusOr<std::unique_ptr<Aggregator>> Aggregator::Start(const Config& config,
                                                              const Clock& clock) {
  ASSIGN_OR_RETURN(PeersOption agents, ParsePeers(config.agents));
  ASSIGN_OR_RETURN(AllowedNamespaces allowed, ParseAllowedNamespaces(config.allow_namespaces));
  auto impl = std::make_unique<Impl>(config, clock, std::move(agents), std::move(allowed));
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Aggregator>(new Aggregator(std::move(impl)));
}

Aggregator::Aggregator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Aggregator::~Aggregator() = default;
int Aggregator::grpc_port() const { return impl_->grpc_port(); }
int Aggregator::metrics_port() const { return impl_->metrics_port(); }
int Aggregator::probe_port() const { return impl_->probe_port(); }
void Aggregator::Reload() { impl_->Reload(); }
std::vector<std::string> Aggregator::Drain(absl::Duration timeout) { return impl_->Drain(timeout); }

}  // namespace gpuscaler
