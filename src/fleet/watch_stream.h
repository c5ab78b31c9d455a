// A stream to one reader of a node's telemetry.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/rate_limit.h"
#include "fleet/one_write_stream.h"
#include "fleet/telemetry_log.h"
#include "telemetry.pb.h"

namespace gpuscaler {

class WatchStream;

// Shared by all streams of a service.
struct WatchStreamContext {
  const Clock& clock;
  const TelemetryLog& log;
  const absl::Duration heartbeat;
  const std::function<void(const telemetry::v1::Subscription&, const WatchStream&)> wanted;
  std::atomic<int64_t> messages = 0;
  std::atomic<int64_t> heartbeats = 0;  // messages without a reading
  std::atomic<int64_t> bytes = 0;
  RateLimit lines{clock, kReadersLogged, absl::Minutes(1)};
};

class WatchStream : public OneWriteStream<telemetry::v1::Subscription, telemetry::v1::Telemetry> {
 public:
  // `context` must outlive it. `trouble` as for Refresh().
  WatchStream(WatchStreamContext& context, std::shared_ptr<ServerCall> call, std::string trouble,
              Closed closed);

  // Sends what is new. Otherwise sends `trouble` if it has changed, or a heartbeat if it is due.
  void Refresh(const std::string& trouble);

 private:
  absl::Status Take(const telemetry::v1::Subscription& wanted) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Compose(telemetry::v1::Telemetry& message) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WatchStreamContext& context_;
  std::optional<TelemetryLog::Cursor> cursor_
      ABSL_GUARDED_BY(mutex_);  // empty: no subscription yet
  std::string trouble_ ABSL_GUARDED_BY(mutex_);
  std::string logged_trouble_ ABSL_GUARDED_BY(mutex_);
  absl::Time sent_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace gpuscaler
