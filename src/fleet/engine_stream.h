// A stream to one reader of the engines that an agent finds.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "fleet/engine_log.h"
#include "fleet/reader_stream.h"
#include "fleet/telemetry_log.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Thread-safe.
class EngineStream
    : public ReaderStream<telemetry::v1::EngineSubscription, telemetry::v1::EngineTelemetry> {
 public:
  // Returns OpenReaders::RankOf(). Must not block.
  using RankOf = std::function<int(const EngineStream&)>;

  // All references must outlive it. The first message has the node of `telemetry`. `log` null: the
  // call must be ended before the first subscription.
  EngineStream(ReaderContext& context, std::shared_ptr<ServerCall> call, Closed closed,
               EngineLog* log, const TelemetryLog& telemetry, RankOf rank_of);

 private:
  absl::Status Take(const telemetry::v1::EngineSubscription& wanted) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogReader(const telemetry::v1::EngineSubscription& first, int64_t dropped) const override;
  bool Compose(telemetry::v1::EngineTelemetry& message) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  EngineLog* const log_;
  const TelemetryLog& telemetry_;
  const RankOf rank_of_;
  EngineLog::Cursor cursor_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
