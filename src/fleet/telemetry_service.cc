#include "fleet/telemetry_service.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "base/periodic_thread.h"
#include "fleet/engine_stream.h"
#include "fleet/telemetry_bounds.h"
#include "fleet/telemetry_wire.h"
#include "fleet/watch_stream.h"
#include "store/leases.h"
#include "telemetry.pb.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// How late a heartbeat, or StopStreams(), may be noticed.
constexpr absl::Duration kUpdateCheckInterval = absl::Milliseconds(200);

// Readings of engines at one instant go into one message.
constexpr absl::Duration kBatchWindow = absl::Milliseconds(10);

wire::Node Self(const TelemetryOptions& options) {
  std::random_device random;
  wire::Node self;
  self.set_agent_version(options.version);
  self.set_read_every_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(options.read_every)));
  self.set_instance((uint64_t{random()} << 32) | random());
  return self;
}

ReaderCounts WithMessages(ReaderCounts counts, const ReaderContext& context) {
  counts.messages = context.messages;
  counts.heartbeats = context.heartbeats;
  counts.readings = context.readings;
  counts.bytes = context.bytes;
  return counts;
}

}  // namespace

class TelemetryService::Impl {
 public:
  Impl(const TelemetryOptions& options, const Clock& clock, const SnapshotStore& store,
       Leases& leases, std::function<void()> wake_sampler)
      : clock_(clock),
        store_(store),
        leases_(leases),
        wake_sampler_(std::move(wake_sampler)),
        engine_log_(options.engines),
        former_pods_(options.former_pods),
        log_(options.horizon, Self(options)),
        context_{.clock = clock, .heartbeat = options.heartbeat},
        engine_context_{.clock = clock, .heartbeat = options.heartbeat},
        streams_(options.max_readers, options.aggregators),
        engine_streams_(options.max_readers, options.aggregators) {
    thread_ = std::make_unique<PeriodicThread>("telemetry", absl::ZeroDuration(),
                                               [this] { SendReadings(); });
    if (engine_log_ == nullptr) return;
    engine_thread_ =
        std::make_unique<PeriodicThread>("engine-send", kBatchWindow, [this] { SendEngines(); });
  }

  ~Impl() {
    StopStreams();
    thread_ = nullptr;
    engine_thread_ = nullptr;
    streams_.Wait();
    engine_streams_.Wait();
  }

  Methods methods() {
    return {{"/gpuscaler.telemetry.v1.NodeTelemetry/Watch",
             [this](const std::shared_ptr<ServerCall>& call) { return Watch(call); }},
            {"/gpuscaler.telemetry.v1.NodeTelemetry/WatchEngines",
             [this](const std::shared_ptr<ServerCall>& call) { return WatchEngines(call); }}};
  }

  void StopStreams() {
    thread_->Stop(absl::ZeroDuration());
    streams_.Stop();
    engine_streams_.Stop();
    if (engine_thread_ == nullptr) return;
    engine_thread_->Stop(absl::ZeroDuration());
    engine_log_->WakeWaiters();
  }

  ReaderCounts counts() const { return WithMessages(streams_.counts(), context_); }
  ReaderCounts engine_counts() const {
    return WithMessages(engine_streams_.counts(), engine_context_);
  }

 private:
  std::shared_ptr<WatchStream> Watch(const std::shared_ptr<ServerCall>& call) {
    log_.SetTrouble(Trouble());
    return streams_.Open(std::make_shared<WatchStream>(
        context_, call, [this](const auto* ended) { streams_.Closed(ended); }, log_,
        [this](const wire::Subscription& subscription, const WatchStream& reader) {
          RenewLease(subscription);
          if (streams_.RankOf(reader) > 0) TakeFormerPods(subscription);
        }));
  }

  std::shared_ptr<EngineStream> WatchEngines(const std::shared_ptr<ServerCall>& call) {
    const absl::Status refusal =
        engine_log_ != nullptr ? absl::OkStatus()
                               : absl::FailedPreconditionError(
                                     "its agent looks for no engines (--discover-engines=false)");
    return engine_streams_.Open(
        std::make_shared<EngineStream>(
            engine_context_, call, [this](const auto* ended) { engine_streams_.Closed(ended); },
            engine_log_, log_),
        refusal);
  }

  void SendReadings() {
    const SnapshotStore::History history = store_.WaitForNewer(generation_, kUpdateCheckInterval);
    if (history != nullptr && history->generation > generation_) {
      generation_ = history->generation;
      log_.Add(history->Newest());
    }
    if (engine_log_ != nullptr) log_.SetEngineNamespaces(engine_log_->NamespacesOfRecords());
    log_.SetTrouble(Trouble());
    for (const auto& stream : streams_.Readers()) stream->Refresh();
  }

  void SendEngines() {
    engine_generation_ = engine_log_->WaitForUpdate(engine_generation_, kUpdateCheckInterval);
    for (const auto& stream : engine_streams_.Readers()) stream->Refresh();
  }

  std::string Trouble() const { return std::string(store_.Fresh().status().message()); }

  void RenewLease(const wire::Subscription& subscription) {
    const CostlyReadings readings{.pcie = subscription.pcie()};
    const absl::Duration lease =
        std::min<absl::Duration>(absl::Seconds(subscription.lease_seconds()), kLongestLease);
    const absl::Time now = clock_.Now();
    const bool at_once = !leases_.Subscription(now).Covers(readings);
    leases_.Renew(readings, now + lease);
    if (at_once && wake_sampler_ != nullptr) wake_sampler_();
  }

  void TakeFormerPods(const wire::Subscription& subscription) {
    if (former_pods_ == nullptr || subscription.former_pods().empty()) return;
    const absl::Time now = clock_.Now();
    const WriterClock clock{.offset = now - FromWire(subscription.sent_us()), .latest = now};
    std::vector<Pod> pods;
    for (wire::Pod pod : subscription.former_pods()) {
      if (BoundPod(pod).ok()) pods.push_back(DecodePod(pod, clock));
    }
    former_pods_(std::move(pods));
  }

  const Clock& clock_;
  const SnapshotStore& store_;
  Leases& leases_;
  const std::function<void()> wake_sampler_;
  EngineLog* const engine_log_;  // null: no discovery
  const std::function<void(std::vector<Pod>)> former_pods_;
  TelemetryLog log_;
  ReaderContext context_;
  ReaderContext engine_context_;
  OpenReaders<WatchStream> streams_;
  OpenReaders<EngineStream> engine_streams_;
  int64_t generation_ = 0;         // thread_'s: the newest reading of log_
  int64_t engine_generation_ = 0;  // engine_thread_'s: the last change of engine_log_
  std::unique_ptr<PeriodicThread> thread_;
  std::unique_ptr<PeriodicThread> engine_thread_;  // null: no discovery
};

TelemetryService::TelemetryService(const TelemetryOptions& options, const Clock& clock,
                                   const SnapshotStore& store, Leases& leases,
                                   std::function<void()> wake_sampler)
    : impl_(std::make_unique<Impl>(options, clock, store, leases, std::move(wake_sampler))) {}
TelemetryService::~TelemetryService() = default;
Methods TelemetryService::methods() { return impl_->methods(); }
void TelemetryService::StopStreams() { impl_->StopStreams(); }
ReaderCounts TelemetryService::counts() const { return impl_->counts(); }
ReaderCounts TelemetryService::engine_counts() const { return impl_->engine_counts(); }

}  // namespace gpuscaler
