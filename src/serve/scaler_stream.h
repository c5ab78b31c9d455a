// A server stream to KEDA. If the client reads slowly, only the newest message is kept.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "serve/stream_registry.h"
#include "wire/server_call.h"

namespace gpuscaler {

// Thread-safe. Lock order: the subclass's push_mutex_, which keeps messages in order, then
// end_mutex_ or the call's mutex. StreamRegistry's mutex is acquired inside none of them, a
// FleetReader's mutex inside any.
template <typename Response>
class ScalerStream : public OpenStream {
 public:
  explicit ScalerStream(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}

  void Push(const Response& response) { call_->WriteNewest(response.SerializeAsString()); }

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
    return Due();
  }

  // Returns true also if the client cancelled.
  bool has_ended() const { return call_->is_finished(); }

  // Returns the status of End(), or CANCELLED if the client left before.
  absl::StatusCode code() const {
    MutexLock lock(end_mutex_);
    return end_.value_or(absl::StatusCode::kCancelled);
  }

 protected:
  // Returns NextDue() of a stream that has not ended.
  virtual absl::Time Due() const = 0;

  ServerCall& call() { return *call_; }

 private:
  const std::shared_ptr<ServerCall> call_;
  mutable Mutex end_mutex_;
  std::optional<absl::StatusCode> end_ ABSL_GUARDED_BY(end_mutex_);
};

}  // namespace gpuscaler
