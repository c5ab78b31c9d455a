#include "fleet/telemetry_service.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "fleet/telemetry_bounds.h"
#include "fleet/telemetry_wire.h"

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

TelemetryService::TelemetryService(const TelemetryOptions& options, const Clock& clock,
                                   const SnapshotStore& store, Leases& leases,
                                   std::function<void()> wake_sampler)
    : clock_(clock),
      store_(store),
      leases_(leases),
      wake_sampler_(std::move(wake_sampler)),
      engine_log_(options.engines),
      aggregators_(options.aggregators),
      former_pods_(options.former_pods),
      log_(options.horizon, Self(options)),
      context_{.clock = clock, .heartbeat = options.heartbeat},
      engine_context_{.clock = clock, .heartbeat = options.heartbeat},
      streams_(clock, options.max_readers, options.aggregators),
      engine_streams_(clock, options.max_readers, options.aggregators) {
  thread_ = std::make_unique<PeriodicThread>("telemetry", absl::ZeroDuration(),
                                             [this] { SendReadings(); });
  if (engine_log_ == nullptr) return;
  engine_thread_ =
      std::make_unique<PeriodicThread>("engine-send", kBatchWindow, [this] { SendEngines(); });
}

TelemetryService::~TelemetryService() {
  StopStreams();
  thread_ = nullptr;
  engine_thread_ = nullptr;
  streams_.Wait();
  engine_streams_.Wait();
}

Methods TelemetryService::methods() {
  return {{"/gpuscaler.telemetry.v1.NodeTelemetry/Watch",
           [this](const std::shared_ptr<ServerCall>& call) { return Watch(call); }},
          {"/gpuscaler.telemetry.v1.NodeTelemetry/WatchEngines",
           [this](const std::shared_ptr<ServerCall>& call) { return WatchEngines(call); }}};
}

void TelemetryService::StopStreams() {
  thread_->Stop(absl::ZeroDuration());
  streams_.Stop();
  engine_streams_.Stop();
  if (engine_thread_ == nullptr) return;
  engine_thread_->Stop(absl::ZeroDuration());
  engine_log_->WakeWaiters();
}

ReaderCounts TelemetryService::counts() const { return WithMessages(streams_.counts(), context_); }

ReaderCounts TelemetryService::engine_counts() const {
  return WithMessages(engine_streams_.counts(), engine_context_);
}

std::shared_ptr<WatchStream> TelemetryService::Watch(const std::shared_ptr<ServerCall>& call) {
  log_.SetTrouble(Trouble());
  return streams_.Open(std::make_shared<WatchStream>(
      context_, call, [this](const auto* ended) { streams_.Closed(ended); }, log_,
      [this](const std::set<std::string>& namespaces, const WatchStream& reader) {
        return LogOf(namespaces, reader);
      },
      [this](const wire::Subscription& subscription, const WatchStream& reader) {
        RenewLease(subscription);
        if (streams_.RankOf(reader) > 0) TakeFormerPods(subscription);
      }));
}

absl::StatusOr<std::shared_ptr<const TelemetryLog>> TelemetryService::LogOf(
    const std::set<std::string>& namespaces, const WatchStream& reader) {
  auto log = log_.LogOf(namespaces, streams_.RankOf(reader) > 0);
  // A new aggregator may not be listed yet, and tries again.
  if (!log.ok() && aggregators_ != nullptr) aggregators_->ResolveSoon();
  return log;
}

std::shared_ptr<EngineStream> TelemetryService::WatchEngines(
    const std::shared_ptr<ServerCall>& call) {
  const absl::Status refusal =
      engine_log_ != nullptr ? absl::OkStatus()
                             : absl::FailedPreconditionError(
                                   "its agent looks for no engines (--discover-engines=false)");
  return engine_streams_.Open(
      std::make_shared<EngineStream>(
          engine_context_, call, [this](const auto* ended) { engine_streams_.Closed(ended); },
          engine_log_, log_,
          [this](const EngineStream& reader) { return engine_streams_.RankOf(reader); }),
      refusal);
}

void TelemetryService::SendReadings() {
  const SnapshotStore::History history = store_.WaitForNewer(generation_, kUpdateCheckInterval);
  if (history != nullptr && history->generation > generation_) {
    generation_ = history->generation;
    log_.Add(history->Newest());
  }
  log_.FillParts();
  if (engine_log_ != nullptr) log_.SetEngineNamespaces(engine_log_->NamespacesOfRecords());
  log_.SetTrouble(Trouble());
  for (const auto& stream : streams_.Readers()) stream->Refresh();
}

void TelemetryService::SendEngines() {
  engine_generation_ = engine_log_->WaitForUpdate(engine_generation_, kUpdateCheckInterval);
  for (const auto& stream : engine_streams_.Readers()) stream->Refresh();
}

std::string TelemetryService::Trouble() const {
  return std::string(store_.Fresh().status().message());
}

void TelemetryService::RenewLease(const wire::Subscription& subscription) {
  const CostlyReadings readings{.pcie = subscription.pcie(), .activity = subscription.activity()};
  const absl::Duration lease =
      std::min<absl::Duration>(absl::Seconds(subscription.lease_seconds()), kLongestLease);
  const absl::Time now = clock_.Now();
  const bool at_once = !leases_.Subscription(now).Covers(readings);
  leases_.Renew(readings, now + lease);
  if (at_once && wake_sampler_ != nullptr) wake_sampler_();
}

void TelemetryService::TakeFormerPods(const wire::Subscription& subscription) {
  if (former_pods_ == nullptr || subscription.former_pods().empty()) return;
  const absl::Time now = clock_.Now();
  const WriterClock clock{.offset = now - FromWire(subscription.sent_us()), .latest = now};
  std::vector<Pod> pods;
  for (wire::Pod pod : subscription.former_pods()) {
    if (BoundPod(pod).ok()) pods.push_back(DecodePod(pod, clock));
  }
  former_pods_(std::move(pods));
}

}  // namespace gpuscaler
