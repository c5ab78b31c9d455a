// A stream to one reader of a node's telemetry.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "fleet/reader_stream.h"
#include "fleet/telemetry_log.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Thread-safe.
class WatchStream : public ReaderStream<telemetry::v1::Subscription, telemetry::v1::Telemetry> {
 public:
  using Subscribed = std::function<void(const telemetry::v1::Subscription&, const WatchStream&)>;

  // `context` and `log` must outlive it. Calls `subscribed` with each subscription, on the loop's
  // thread; it must not block.
  WatchStream(ReaderContext& context, std::shared_ptr<ServerCall> call, Closed closed,
              TelemetryLog& log, Subscribed subscribed);

 private:
  absl::Status Take(const telemetry::v1::Subscription& wanted) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogReader(const telemetry::v1::Subscription& first, int64_t dropped) const override;
  bool Compose(telemetry::v1::Telemetry& message) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  TelemetryLog& log_;
  // Has only the namespaces of the subscription. Null: it has all, and `log_` is used.
  std::shared_ptr<const TelemetryLog> filtered_log_ ABSL_GUARDED_BY(mutex_);
  const Subscribed subscribed_;
  TelemetryLog::Cursor cursor_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
