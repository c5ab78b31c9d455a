// A stream to one reader of a node's telemetry.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fleet/reader_stream.h"
#include "fleet/telemetry_log.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Thread-safe.
class WatchStream : public ReaderStream<telemetry::v1::Subscription, telemetry::v1::Telemetry> {
 public:
  using Subscribed = std::function<void(const telemetry::v1::Subscription&, const WatchStream&)>;

  // Returns TelemetryLog::LogOf() for this reader.
  using FindLog = std::function<absl::StatusOr<std::shared_ptr<const TelemetryLog>>(
      const std::set<std::string>& namespaces, const WatchStream&)>;

  // `context` and `log` must outlive it. Calls `find_log` if the reader subscribes to some
  // namespaces, and `subscribed` with each subscription, on the loop's thread; they must not block.
  WatchStream(ReaderContext& context, std::shared_ptr<ServerCall> call, Closed closed,
              const TelemetryLog& log, FindLog find_log, Subscribed subscribed);

 private:
  absl::Status Take(const telemetry::v1::Subscription& wanted) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogReader(const telemetry::v1::Subscription& first, int64_t dropped) const override;
  bool Compose(telemetry::v1::Telemetry& message) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TelemetryLog& log_;
  const FindLog find_log_;
  // Has only the namespaces of the subscription. Null: it has all, and `log_` is used.
  std::shared_ptr<const TelemetryLog> filtered_log_ ABSL_GUARDED_BY(mutex_);
  const Subscribed subscribed_;
  TelemetryLog::Cursor cursor_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
