// A stream to one reader of the engines that an agent finds.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/rate_limit.h"
#include "fleet/engine_log.h"
#include "fleet/one_write_stream.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Shared by all streams of a service.
struct EngineStreamContext {
  const Clock& clock;
  EngineLog& log;
  const absl::Duration heartbeat;
  const std::function<telemetry::v1::Node()> self;
  std::atomic<int64_t> messages = 0;
  std::atomic<int64_t> readings = 0;
  std::atomic<int64_t> bytes = 0;
  RateLimit lines{clock, kReadersLogged, absl::Minutes(1)};
};

class EngineStream
    : public OneWriteStream<telemetry::v1::EngineSubscription, telemetry::v1::EngineTelemetry> {
 public:
  // `context` must outlive it.
  EngineStream(EngineStreamContext& context, std::shared_ptr<ServerCall> call, Closed closed);

  // Sends what is new, or a heartbeat if it is due.
  void Refresh();

 private:
  absl::Status Take(const telemetry::v1::EngineSubscription& wanted) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Compose(telemetry::v1::EngineTelemetry& message) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void LogReader(const std::string& name);

  EngineStreamContext& context_;
  std::optional<EngineSubscription> subscription_
      ABSL_GUARDED_BY(mutex_);  // empty: no subscription yet
  EngineLog::Cursor cursor_ ABSL_GUARDED_BY(mutex_);
  absl::Time sent_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace gpuscaler
