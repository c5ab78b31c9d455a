// One reader of a node's telemetry.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fleet/telemetry_log.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// What all streams of a service have in common.
struct WatchRoom {
  const Clock& clock;
  const TelemetryLog& log;
  const absl::Duration heartbeat;
  const std::function<void(const telemetry::v1::Wanted&)> wanted;
  std::atomic<int64_t> messages = 0;
  std::atomic<int64_t> heartbeats = 0;  // of them, those without a reading
  std::atomic<int64_t> bytes = 0;
};

// One write is in flight at most, and the next one is made of what there is when that has gone: a
// slow reader costs no memory. Thread-safe. gRPC calls the On... functions; OnDone() is the last.
class WatchStream
    : public grpc::ServerBidiReactor<telemetry::v1::Wanted, telemetry::v1::Telemetry> {
 public:
  // `room` outlives it; `closed` is called once, last of all, and may delete it. `trouble`: as of
  // Refresh().
  WatchStream(WatchRoom& room, std::string peer, std::string trouble,
              std::function<void(const WatchStream*)> closed);

  // To be called once it is known to who ends it.
  void Begin() { StartRead(&incoming_); }

  // Sends what is new; without news, `trouble` at once when it is another than before, and a
  // heartbeat when it is due.
  void Refresh(const std::string& trouble);

  // What is in flight is still sent.
  void End(const absl::Status& status);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void Take(const telemetry::v1::Wanted& wanted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WatchRoom& room_;
  const std::string peer_;
  const std::function<void(const WatchStream*)> closed_;
  telemetry::v1::Wanted incoming_;      // gRPC's while a read is under way
  telemetry::v1::Telemetry in_flight_;  // gRPC's while writing_
  Mutex mutex_;
  std::optional<TelemetryLog::Place> place_ ABSL_GUARDED_BY(mutex_);  // empty: has not asked yet
  std::string trouble_ ABSL_GUARDED_BY(mutex_);
  std::string said_trouble_ ABSL_GUARDED_BY(mutex_);
  absl::Time spoke_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
