#include "fleet/telemetry_service.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <utility>

#include "fleet/open_readers.h"
#include "fleet/telemetry_bounds.h"
#include "fleet/telemetry_wire.h"
#include "fleet/watch_stream.h"
#include "store/lease_bounds.h"
#include "telemetry.pb.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// How late a heartbeat, or StopStreams(), may be noticed.
constexpr absl::Duration kUpdateCheckInterval = absl::Milliseconds(200);

wire::Node Self(const TelemetryOptions& options) {
  std::random_device random;
  wire::Node self;
  self.set_agent_version(options.version);
  self.set_read_every_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(options.read_every)));
  self.set_instance((uint64_t{random()} << 32) | random());
  return self;
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
        context_{.clock = clock,
                 .log = log_,
                 .heartbeat = options.heartbeat,
                 .wanted =
                     [this](const wire::Subscription& subscription, const WatchStream& reader) {
                       RenewLease(subscription);
                       if (streams_.RankOf(reader) > 0) TakeFormerPods(subscription);
                     }},
        streams_(options.max_readers, options.aggregators),
        engines_({.heartbeat = options.heartbeat,
                  .max_readers = options.max_readers,
                  .aggregators = options.aggregators,
                  .self = [this] { return log_.node(); }},
                 clock, options.engines),
        thread_([this] { Run(); }) {
    pthread_setname_np(thread_.native_handle(), "telemetry");
  }

  ~Impl() {
    StopStreams();
    thread_.join();
    streams_.Wait();
  }

  Methods methods() {
    return {
        {"/gpuscaler.telemetry.v1.NodeTelemetry/Watch",
         [this](const std::shared_ptr<ServerCall>& call) {
           return streams_.Open(std::make_shared<WatchStream>(
               context_, call, Trouble(), [this](const auto* ended) { streams_.Closed(ended); }));
         }},
        {"/gpuscaler.telemetry.v1.NodeTelemetry/WatchEngines",
         [this](const std::shared_ptr<ServerCall>& call) { return engines_.Watch(call); }}};
  }
  EngineService::Counts engine_counts() const { return engines_.counts(); }

  void StopStreams() {
    stopping_ = true;
    engines_.StopStreams();
    streams_.Stop();
  }

  Counts counts() const {
    const auto readers = streams_.counts();
    return {.readers = readers.open,
            .messages = context_.messages,
            .heartbeats = context_.heartbeats,
            .bytes = context_.bytes,
            .refused_as_too_many = readers.refused_as_too_many,
            .refused_as_stopping = readers.refused_as_stopping};
  }

 private:
  void Run() {
    int64_t generation = 0;
    while (!stopping_) {
      const SnapshotStore::History history = store_.WaitForNewer(generation, kUpdateCheckInterval);
      if (history != nullptr && history->generation > generation) {
        generation = history->generation;
        log_.Add(history->Newest());
      }
      if (engine_log_ != nullptr) log_.SetEngineNamespaces(engine_log_->NamespacesOfRecords());
      const std::string trouble = Trouble();
      for (const auto& stream : streams_.Readers()) stream->Refresh(trouble);
    }
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
  WatchStreamContext context_;
  OpenReaders<WatchStream, WatchStream::OneWriteStream> streams_;
  EngineService engines_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

TelemetryService::TelemetryService(const TelemetryOptions& options, const Clock& clock,
                                   const SnapshotStore& store, Leases& leases,
                                   std::function<void()> wake_sampler)
    : impl_(std::make_unique<Impl>(options, clock, store, leases, std::move(wake_sampler))) {}
TelemetryService::~TelemetryService() = default;
Methods TelemetryService::methods() { return impl_->methods(); }
void TelemetryService::StopStreams() { impl_->StopStreams(); }
TelemetryService::Counts TelemetryService::counts() const { return impl_->counts(); }
EngineService::Counts TelemetryService::engine_counts() const { return impl_->engine_counts(); }

}  // namespace gpuscaler
