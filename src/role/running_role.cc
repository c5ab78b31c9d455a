#include "role/running_role.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fleet/fleet_store.h"
#include "fleet/peer_addresses.h"
#include "model/leases.h"
#include "page/metric_family.h"
#include "role/allowed_namespaces.h"
#include "role/duplicate_scaler_check.h"
#include "role/node_source.h"
#include "role/reloader.h"
#include "role/side_ports.h"
#include "role/signal_store_listener.h"
#include "serve/fleet_metrics.h"
#include "serve/fleet_viewer.h"
#include "serve/gpu_time_metrics.h"
#include "serve/profile_store.h"
#include "serve/scaler_service.h"
#include "serve/signal_metrics.h"
#include "signal/engine_metrics.h"
#include "trigger/trigger.h"
#include "web/history_recorder.h"
#include "web/trigger_history.h"

namespace gpuscaler {
namespace {

// A duplicate is not urgent, and each check queries the cluster's DNS.
constexpr absl::Duration kDuplicateScalerInterval = absl::Minutes(1);

// The triggers of a step of the history are spread over its ticks. A demo's clock is faster, and no
// thread wakes more often than the shortest interval.
constexpr absl::Duration kRecordingInterval = absl::Seconds(1);
constexpr absl::Duration kShortestRecordingInterval = absl::Milliseconds(20);

// A demo queries its kubelet more often as well, because kAttributionGrace is a time of the clock.
constexpr absl::Duration kShortestKubeletInterval = absl::Milliseconds(10);

// A Watch lasts as long as both processes, so the age of a connection is practically unlimited.
constexpr absl::Duration kReaderConnectionAge = absl::Hours(24 * 14);

// A reader has two streams, and all readers may share an address. Together they can leave less
// unread than `unread_bytes_in_all`.
constexpr SessionLimits kReaderLimits = {.streams = 256,
                                         .streams_per_address = 256,
                                         .streams_in_all = 4'096,
                                         .unread_bytes_in_all = size_t{64} << 20};

// A connection with TLS takes 35 KiB, and 70 KiB during its handshake. This number fits into the
// chart's memory limit of 256 MiB.
constexpr size_t kReaderConnections = 1'024;

// The role cannot answer without these threads.
std::vector<std::string> ProbedThreads(Role role) {
  switch (role) {
    case Role::kAgent:
      return {"sampler"};
    case Role::kAggregator:
      return {"answers"};
    case Role::kStandalone:
      break;
  }
  return {"sampler", "answers"};
}

}  // namespace

// The readings of all agents.
struct RunningRole::Fleet {
  Fleet(const Config& config, const Clock& clock, const AllowedNamespaces& allowed)
      : store(clock, {.timeouts = {.grace = config.grace,
                                   .forget_after = config.forget_after,
                                   .empty_after = config.empty_after,
                                   .stale_after = config.StaleAfter()},
                      .limits = {.horizon = kLongestWindow + config.StaleAfter(),
                                 .join_within = config.StaleAfter()},
                      .leases = &leases}),
        viewer({.staleness = {.stale_after = config.StaleAfter(), .grace = config.grace},
                .version = GPUSCALER_VERSION,
                .agents = [this] { return store.Agents(); },
                .namespaces = SeenNamespaces(config, allowed)},
               clock, store) {}

  Leases leases;
  FleetStore store;
  FleetViewer viewer;
};

// The parts that answer KEDA.
struct RunningRole::Answers {
  Answers(RunningRole& running, const DemoOverrides& overrides, const ScalerServiceOptions& options,
          const FleetReader& readings, Leases& leases, bool finds_engines)
      : profiles(running.config_.profiles),
        signals(
            running.config_, running.clock_, [&running] { running.WakeEngines(); }, overrides),
        service(
            options, running.clock_, readings, leases, profiles, running.metrics_,
            [&running] { running.WakeReadings(); }, signals.access(finds_engines)) {
    if (running.config_.history == absl::ZeroDuration()) return;
    history = std::make_unique<TriggerHistory>(
        TriggerHistory::Options{.keep = running.config_.history}, running.clock_.Now());
  }

  ProfileStore profiles;
  SignalReader signals;
  ScalerService service;
  std::unique_ptr<TriggerHistory> history;  // null: turned off
};

absl::StatusOr<std::unique_ptr<RunningRole>> RunningRole::Start(const Config& config,
                                                                const Clock& clock,
                                                                const DemoOverrides& overrides) {
  std::unique_ptr<RunningRole> running(new RunningRole(config, clock));
  RETURN_IF_ERROR(running->Open(overrides));
  return running;
}

RunningRole::RunningRole(const Config& config, const Clock& clock)
    : config_(config),
      clock_(clock),
      probes_(clock, config.hang_after, ProbedThreads(config.role)) {}

RunningRole::~RunningRole() {
  Drain(absl::ZeroDuration());
  if (node_ != nullptr) node_->Join();
}

absl::Status RunningRole::Open(const DemoOverrides& overrides) {
  ASSIGN_OR_RETURN(const AllowedNamespaces allowed,
                   ParseAllowedNamespaces(config_.allow_namespaces));
  if (config_.role == Role::kAggregator) {
    fleet_ = std::make_unique<Fleet>(config_, clock_, allowed);
  } else {
    ASSIGN_OR_RETURN(std::unique_ptr<GpuSource> source,
                     OpenNodeSource(config_, config_.node_name, clock_));
    node_ = std::make_unique<NodeSampler>(config_, clock_, std::move(source), metrics_);
  }
  if (config_.role == Role::kAgent) {
    PeersOption aggregators;
    if (!config_.aggregators.empty()) {
      ASSIGN_OR_RETURN(aggregators, ParsePeers(config_.aggregators));
    }
    telemetry_ = std::make_unique<TelemetrySender>(config_, clock_, aggregators, *node_,
                                                   [this] { WakeEngines(); });
  } else {
    RETURN_IF_ERROR(MakeAnswers(overrides, allowed));
  }
  if (FindsEngines()) {
    EngineSubscriber& subscriber = telemetry_ != nullptr ? *telemetry_ : *found_engines_;
    const EngineDiscovery::Options options{
        .interval = config_.engine_interval,
        .folders = {},
        .needs_pods_api = config_.discover_engines == DiscoverEngines::kAuto};
    discovery_ = std::make_unique<EngineDiscovery>(options, clock_, node_->store(), subscriber);
    MutexLock lock(mutex_);
    wakeable_discovery_ = discovery_.get();
  }
  RETURN_IF_ERROR(OpenGrpcPort());
  if (fleet_ != nullptr) RETURN_IF_ERROR(Connect(allowed));
  if (answers_ != nullptr) RETURN_IF_ERROR(ReadPrices());
  if (answers_ != nullptr && config_.web_port != 0) RETURN_IF_ERROR(OpenWebPort());
  ASSIGN_OR_RETURN(metrics_server_, OpenMetricsPort(config_, [this] { return Exposition(); }));
  ASSIGN_OR_RETURN(probe_server_, OpenProbePort(config_, probes_));
  StartThreads(overrides);
  if (node_ != nullptr) probes_.SetServing();
  return absl::OkStatus();
}

absl::Status RunningRole::MakeAnswers(const DemoOverrides& overrides,
                                      const AllowedNamespaces& allowed) {
  ScalerServiceOptions options{.stale_after = config_.StaleAfter(),
                               .allowed_namespaces = allowed,
                               .max_streams_per_peer = config_.max_streams_per_peer,
                               .on_tick = [this] { probes_.Ticked("answers"); }};
  if (fleet_ != nullptr) {
    options.grace = config_.grace;
    options.forget_after = config_.forget_after;
    options.namespaces = ServedNamespaces(config_);
    // KEDA's calls take turns, so all calls for a trigger may go to one aggregator until KEDA
    // connects anew.
    options.expected_gap = config_.max_connection_age;
    answers_ = std::make_unique<Answers>(*this, overrides, options, fleet_->store, fleet_->leases,
                                         /*finds_engines=*/true);
  } else {
    answers_ = std::make_unique<Answers>(*this, overrides, options, node_->store(), node_->leases(),
                                         FindsEngines());
    found_engines_ = std::make_unique<SignalStoreListener>(answers_->signals.store(),
                                                           config_.node_name, allowed);
  }
  return answers_->profiles.Reload();
}

absl::Status RunningRole::OpenGrpcPort() {
  WireServerOptions options{.bind_address = config_.bind_address};
  Methods methods;
  if (telemetry_ != nullptr) {
    options.port = PortToBind(config_.telemetry_port);
    options.session = kReaderLimits;
    options.connections = kReaderConnections;
    options.connection_age = kReaderConnectionAge;
    methods = telemetry_->methods();
  } else {
    options.port = PortToBind(config_.port);
    options.session = ScalerLimits(config_.max_streams_per_peer);
    options.connection_age = config_.max_connection_age;
    methods = answers_->service.methods();
  }
  if (fleet_ != nullptr) methods.merge(fleet_->viewer.methods());
  ASSIGN_OR_RETURN(grpc_, GrpcServer::Start(options, config_.Tls(), std::move(methods)));
  return absl::OkStatus();
}

absl::Status RunningRole::Connect(const AllowedNamespaces& allowed) {
  ASSIGN_OR_RETURN(const PeersOption agents, ParsePeers(config_.agents));
  const AgentConnections::Options options{
      .config = config_,
      .allowed = allowed,
      .agents = agents,
      .checked = [this](const absl::Status& known, bool is_ready) {
        grpc_->SetScalerServing(known.ok());
        if (is_ready) probes_.SetServing();
      }};
  connections_ = std::make_unique<AgentConnections>(options, clock_, fleet_->store, fleet_->leases,
                                                    answers_->signals.store());
  MutexLock lock(mutex_);
  wakeable_connections_ = connections_.get();
  return absl::OkStatus();
}

absl::Status RunningRole::ReadPrices() {
  if (config_.prices.empty()) return absl::OkStatus();
  prices_ = std::make_unique<FleetPrices>(Readings(), config_.prices);
  return prices_->Reload();
}

absl::Status RunningRole::OpenWebPort() {
  costs_ = std::make_unique<CostRecorder>(
      clock_, Readings(),
      GpuTimeLimits{.idle_after = config_.idle_after, .stale_after = config_.StaleAfter()},
      prices_.get());
  const ScalerService& service = answers_->service;
  WebSources sources;
  sources.workloads = {
      .live_triggers = [&service] { return service.LiveTriggers(); },
      .live_triggers_of =
          [&service](const std::string& namespace_name, const std::string& scaled_object) {
            return service.LiveTriggersOf(namespace_name, scaled_object);
          },
      .evaluate = [&service](const LiveTrigger& live) { return service.Evaluate(live); },
      .explanation_of =
          [&service](const LiveTrigger& live, const WorkloadSource::DecisionOr& decision) {
            return service.ExplanationOf(live, decision);
          }};
  sources.history = answers_->history.get();
  sources.cost = {.report = [this](int hours, GroupBy by) { return costs_->Report(hours, by); },
                  .has_prices = prices_ != nullptr,
                  .currency = config_.currency};
  ASSIGN_OR_RETURN(web_, gpuscaler::OpenWebPort(config_, clock_, Readings(), std::move(sources)));
  return absl::OkStatus();
}

void RunningRole::StartThreads(const DemoOverrides& overrides) {
  if (node_ != nullptr) {
    node_->Start(
        [this](const absl::Status& read) {
          probes_.Ticked("sampler");
          // A failed reading does not end telemetry: the store has its error for readers.
          if (answers_ != nullptr) grpc_->SetScalerServing(read.ok());
        },
        std::max(kKubeletInterval / overrides.clock_speed, kShortestKubeletInterval));
  }
  ProfileStore* const profiles = answers_ == nullptr ? nullptr : &answers_->profiles;
  reloading_ = std::make_unique<PeriodicThread>(
      "reloader", kReloadInterval,
      [this, reloader = std::make_shared<Reloader>(
                 ReloadableFiles(config_, {.grpc = *grpc_,
                                           .metrics_server = metrics_server_.get(),
                                           .profiles = profiles,
                                           .web = web_.get(),
                                           .prices = prices_.get()}),
                 metrics_)] {
        // Two reads in a row make a change of certificates count (TlsFileReader).
        if (is_reload_requested_.exchange(false)) reloader->Tick();
        reloader->Tick();
      });
  if (config_.role == Role::kStandalone && !config_.service.empty()) {
    duplicates_ = std::make_unique<PeriodicThread>(
        "duplicate check", kDuplicateScalerInterval,
        [duplicates = std::make_shared<DuplicateScalerCheck>(config_.service)] {
          duplicates->Tick();
        });
  }
  if (web_ != nullptr) {
    counting_costs_ = std::make_unique<PeriodicThread>(
        "costs",
        std::max(CostHistory::kRecordEvery / overrides.clock_speed, kShortestRecordingInterval),
        [this] { costs_->Tick(); });
  }
  if (answers_ != nullptr && answers_->history != nullptr) {
    recording_ = std::make_unique<PeriodicThread>(
        "history", std::max(kRecordingInterval / overrides.clock_speed, kShortestRecordingInterval),
        [recorder = std::make_shared<HistoryRecorder>(clock_, answers_->service,
                                                      *answers_->history)] { recorder->Tick(); });
  }
}

int RunningRole::grpc_port() const { return grpc_->port(); }
int RunningRole::metrics_port() const {
  return metrics_server_ == nullptr ? 0 : metrics_server_->port();
}
int RunningRole::web_port() const { return web_ == nullptr ? 0 : web_->port(); }
int RunningRole::probe_port() const { return probe_server_ == nullptr ? 0 : probe_server_->port(); }

void RunningRole::Reload() {
  is_reload_requested_ = true;
  reloading_->Wake();
}

std::vector<std::string> RunningRole::Drain(absl::Duration timeout) {
  if (drained_.exchange(true)) return {};
  const SteadyClock real;
  const absl::Time deadline = real.Now() + timeout;
  const auto left = [&] { return std::max(deadline - real.Now(), absl::ZeroDuration()); };
  probes_.SetStopping();
  if (answers_ != nullptr) answers_->service.StopStreams();
  if (telemetry_ != nullptr) telemetry_->StopStreams();
  if (node_ != nullptr) node_->store().Close();
  if (fleet_ != nullptr) fleet_->store.Close();
  if (grpc_ != nullptr) grpc_->Drain(left());
  {
    MutexLock lock(mutex_);
    wakeable_discovery_ = nullptr;
    wakeable_connections_ = nullptr;
  }
  std::vector<PeriodicThread*> threads = {reloading_.get(), duplicates_.get(), recording_.get(),
                                          counting_costs_.get()};
  const auto add = [&threads](const std::vector<PeriodicThread*>& more) {
    threads.insert(threads.end(), more.begin(), more.end());
  };
  if (node_ != nullptr) add(node_->ReleaseThreads());
  if (discovery_ != nullptr) add({&discovery_->thread()});
  if (answers_ != nullptr) add(answers_->signals.ReleaseThreads());
  if (connections_ != nullptr) add(connections_->Threads());
  if (telemetry_ != nullptr) add({telemetry_->thread()});
  return StopAll(threads, left());
}

bool RunningRole::FindsEngines() const {
  if (node_ == nullptr || config_.discover_engines == DiscoverEngines::kFalse) return false;
  // Without a kubelet no pods are known and there is no Pods API. An agent's aggregators get that
  // as the reason why it finds none.
  const bool is_auto = config_.discover_engines == DiscoverEngines::kAuto;
  return telemetry_ != nullptr || !is_auto || node_->asks_kubelet();
}

void RunningRole::WakeEngines() {
  MutexLock lock(mutex_);
  if (wakeable_discovery_ != nullptr) wakeable_discovery_->Wake();
  if (wakeable_connections_ != nullptr) wakeable_connections_->WakeEngines();
}

void RunningRole::WakeReadings() {
  if (node_ != nullptr) node_->Wake();
  MutexLock lock(mutex_);
  if (wakeable_connections_ != nullptr) wakeable_connections_->WakeRenewal();
}

const FleetReader& RunningRole::Readings() const {
  if (fleet_ != nullptr) return fleet_->store;
  return node_->store();
}

std::string RunningRole::Exposition() const {
  const absl::Time now = clock_.Now();
  const SnapshotStore::History newest = node_ == nullptr ? nullptr : node_->store().Newest();
  std::string page =
      metrics_.Page(newest == nullptr ? nullptr : &newest->Newest(), now, config_.StaleAfter());
  if (node_ != nullptr) absl::StrAppend(&page, MetricsText(node_->gpu_time().Families(now)));
  if (prices_ != nullptr) {
    absl::StrAppend(&page, GpuPriceMetrics(prices_->ModelPrices(), config_.currency));
  }
  if (connections_ != nullptr) absl::StrAppend(&page, connections_->Exposition(now));
  if (telemetry_ != nullptr) absl::StrAppend(&page, telemetry_->Exposition());
  if (answers_ != nullptr) absl::StrAppend(&page, SignalMetrics(answers_->signals.counts(), now));
  if (discovery_ != nullptr) absl::StrAppend(&page, EngineMetrics(discovery_->counts()));
  absl::StrAppend(&page, GrpcMetrics(grpc_->counts()));
  if (web_ != nullptr) absl::StrAppend(&page, WebMetrics(web_->refused_replies()));
  return page;
}

}  // namespace gpuscaler
