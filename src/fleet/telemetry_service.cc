#include "fleet/telemetry_service.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/mutex.h"
#include "fleet/watch_stream.h"
#include "telemetry.grpc.pb.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// How late a heartbeat, or StopStreams(), may be noticed.
constexpr absl::Duration kLook = absl::Milliseconds(200);

// DESIGN 3: the longest that a lease lasts.
constexpr absl::Duration kLongestLease = absl::Hours(3);

wire::Node Self(const TelemetryOptions& options) {
  std::random_device random;
  wire::Node self;
  self.set_agent_version(options.version);
  self.set_read_every_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(options.read_every)));
  self.set_instance((uint64_t{random()} << 32) | random());
  return self;
}

}  // namespace

class TelemetryService::Impl : public wire::NodeTelemetry::CallbackService {
 public:
  Impl(const TelemetryOptions& options, const Clock& clock, const SnapshotStore& store,
       Leases& leases, std::function<void()> wake_sampler)
      : max_readers_(options.max_readers),
        clock_(clock),
        store_(store),
        leases_(leases),
        wake_sampler_(std::move(wake_sampler)),
        log_(options.horizon, Self(options)),
        room_{.clock = clock,
              .log = log_,
              .heartbeat = options.heartbeat,
              .wanted = [this](const wire::Wanted& wanted) { Want(wanted); }},
        thread_([this] { Run(); }) {
    pthread_setname_np(thread_.native_handle(), "telemetry");
  }

  ~Impl() override {
    StopStreams();
    thread_.join();
    MutexLock lock(mutex_);
    while (!streams_.empty()) closed_.Wait(mutex_);
  }

  grpc::ServerBidiReactor<wire::Wanted, wire::Telemetry>* Watch(
      grpc::CallbackServerContext* context) override {
    auto stream = std::make_shared<WatchStream>(
        room_, context->peer(), Trouble(), [this](const WatchStream* ended) { Closed(ended); });
    WatchStream* const raw = stream.get();
    const absl::Status status = Open(std::move(stream));
    if (status.ok()) {
      raw->Begin();
    } else {
      raw->End(status);
    }
    return raw;
  }

  void StopStreams() {
    stopping_ = true;
    for (const auto& stream : All()) stream->End(absl::OkStatus());
  }

  Counts counts() const {
    MutexLock lock(mutex_);
    return {.readers = readers_,
            .messages = room_.messages,
            .heartbeats = room_.heartbeats,
            .bytes = room_.bytes,
            .refused_as_too_many = refused_as_too_many_,
            .refused_as_stopping = refused_as_stopping_};
  }

 private:
  void Run() {
    int64_t generation = 0;
    while (!stopping_) {
      const SnapshotStore::History history = store_.WaitForNewer(generation, kLook);
      if (history != nullptr && history->generation > generation) {
        generation = history->generation;
        log_.Add(history->Newest());
      }
      const std::string trouble = Trouble();
      for (const auto& stream : All()) stream->Refresh(trouble);
    }
  }

  std::string Trouble() const { return std::string(store_.Fresh().status().message()); }

  // Those that are refused are kept until they have ended, and not counted.
  absl::Status Open(std::shared_ptr<WatchStream> stream) {
    MutexLock lock(mutex_);
    absl::Status status;
    if (stopping_) {
      status = absl::UnavailableError("the agent is stopping");
      ++refused_as_stopping_;
    } else if (readers_ >= max_readers_) {
      status = absl::ResourceExhaustedError(
          absl::StrCat(readers_, " readers are told already, at most ", max_readers_));
      ++refused_as_too_many_;
    }
    readers_ += status.ok() ? 1 : 0;
    const WatchStream* const key = stream.get();
    streams_[key] = {.stream = std::move(stream), .counted = status.ok()};
    return status;
  }

  void Closed(const WatchStream* stream) {
    Record record;  // destroyed without the lock
    MutexLock lock(mutex_);
    const auto found = streams_.find(stream);
    record = std::move(found->second);
    streams_.erase(found);
    readers_ -= record.counted ? 1 : 0;
    if (streams_.empty()) closed_.NotifyAll();
  }

  void Want(const wire::Wanted& wanted) {
    const CostlyReadings readings{.pcie = wanted.pcie()};
    const absl::Duration lease =
        std::min<absl::Duration>(absl::Seconds(wanted.lease_seconds()), kLongestLease);
    const absl::Time now = clock_.Now();
    const bool at_once = !leases_.Wanted(now).Covers(readings);
    leases_.Renew(readings, now + lease);
    if (at_once && wake_sampler_ != nullptr) wake_sampler_();
  }

  std::vector<std::shared_ptr<WatchStream>> All() const {
    MutexLock lock(mutex_);
    std::vector<std::shared_ptr<WatchStream>> all;
    for (const auto& entry : streams_) all.push_back(entry.second.stream);
    return all;
  }

  struct Record {
    std::shared_ptr<WatchStream> stream;
    bool counted = false;
  };

  const int max_readers_;
  const Clock& clock_;
  const SnapshotStore& store_;
  Leases& leases_;
  const std::function<void()> wake_sampler_;
  TelemetryLog log_;
  WatchRoom room_;
  std::atomic<bool> stopping_ = false;
  mutable Mutex mutex_;
  CondVar closed_;
  absl::flat_hash_map<const WatchStream*, Record> streams_ ABSL_GUARDED_BY(mutex_);
  int readers_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t refused_as_too_many_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t refused_as_stopping_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

TelemetryService::TelemetryService(const TelemetryOptions& options, const Clock& clock,
                                   const SnapshotStore& store, Leases& leases,
                                   std::function<void()> wake_sampler)
    : impl_(std::make_unique<Impl>(options, clock, store, leases, std::move(wake_sampler))) {}
TelemetryService::~TelemetryService() = default;
grpc::Service* TelemetryService::Service() { return impl_.get(); }
void TelemetryService::StopStreams() { impl_->StopStreams(); }
TelemetryService::Counts TelemetryService::counts() const { return impl_->counts(); }

}  // namespace gpuscaler
