// A server stream to KEDA about one trigger. If the client reads slowly, only the newest message is
// kept.
#pragma once

#include <google/protobuf/message_lite.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "serve/stream_registry.h"
#include "serve/trigger_cache.h"
#include "wire/server_call.h"

namespace gpuscaler {

// Thread-safe. Lock order: the subclass's push_mutex_, which keeps messages in order, then
// end_mutex_ or the call's mutex. A thread that holds any of these may acquire the mutex of a
// FleetReader, but not that of StreamRegistry.
class ScalerStream : public OpenStream {
 public:
  // Ends with OK at the first refresh from `ends_at` on.
  ScalerStream(std::shared_ptr<ServerCall> call, absl::Time ends_at,
               std::shared_ptr<TriggerEntry> trigger)
      : trigger_(std::move(trigger)), call_(std::move(call)), ends_at_(ends_at) {}

  size_t size_bytes() const { return trigger_->size_bytes(); }

  void Refresh(absl::Time now) final {
    if (now >= ends_at_) return End(absl::OkStatus());
    Evaluate(now);
  }

  // Messages that were pushed before are sent.
  void End(const absl::Status& status) override {
    {
      MutexLock lock(end_mutex_);
      if (end_.has_value()) return;
      end_ = status.code();
    }
    call_->Finish(status);
  }

  // Returns InfiniteFuture after End(), even if the last message is not sent yet.
  absl::Time NextDue() const final {
    {
      MutexLock lock(end_mutex_);
      if (end_.has_value()) return absl::InfiniteFuture();
    }
    return std::min(ends_at_, Due());
  }

  // Returns true also if the client cancelled.
  bool has_ended() const { return call_->is_finished(); }

  // Returns the status of End(), or CANCELLED if the client left before.
  absl::StatusCode code() const {
    MutexLock lock(end_mutex_);
    return end_.value_or(absl::StatusCode::kCancelled);
  }

 protected:
  // Refresh() of a stream that goes on.
  virtual void Evaluate(absl::Time now) = 0;
  // Returns when it must be refreshed before its end, even if no input changes.
  virtual absl::Time Due() const { return absl::InfiniteFuture(); }

  void Push(const google::protobuf::MessageLite& response) {
    call_->WriteNewest(response.SerializeAsString());
  }

  const std::shared_ptr<TriggerEntry> trigger_;

 private:
  const std::shared_ptr<ServerCall> call_;
  const absl::Time ends_at_;
  mutable Mutex end_mutex_;
  std::optional<absl::StatusCode> end_ ABSL_GUARDED_BY(end_mutex_);
};

}  // namespace gpuscaler
