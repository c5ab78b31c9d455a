// A server stream of KEDA's: sends the newest message alone, however slowly its client reads.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "serve/open_streams.h"
#include "wire/server_call.h"

namespace gpuscaler {

// Thread-safe. Locks: a stream's own show_mutex_, which keeps what it sends in order, then
// end_mutex_ or the call's; OpenStreams' inside neither. A FleetReader's is inside all.
template <typename Response>
class ScalerStream : public OpenStream {
 public:
  explicit ScalerStream(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}

  void Push(const Response& response) { call_->WriteNewest(response.SerializeAsString()); }

  // Sends what was pushed before.
  void End(const absl::Status& status) override {
    {
      MutexLock lock(end_mutex_);
      if (end_.has_value()) return;
      end_ = status.code();
    }
    call_->Finish(status);
  }

  // One that has ended has nothing more to do, even if its last message is not sent yet.
  absl::Time NextDue() const final {
    {
      MutexLock lock(end_mutex_);
      if (end_.has_value()) return absl::InfiniteFuture();
    }
    return Due();
  }

  // Its client may have gone as well.
  bool has_ended() const { return call_->is_finished(); }

  // CANCELLED: its client has gone before the stream has ended.
  absl::StatusCode code() const {
    MutexLock lock(end_mutex_);
    return end_.value_or(absl::StatusCode::kCancelled);
  }

 protected:
  // NextDue() of one that goes on.
  virtual absl::Time Due() const = 0;

  ServerCall& call() { return *call_; }

 private:
  const std::shared_ptr<ServerCall> call_;
  mutable Mutex end_mutex_;
  std::optional<absl::StatusCode> end_ ABSL_GUARDED_BY(end_mutex_);
};

}  // namespace gpuscaler
