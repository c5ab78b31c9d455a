// A server stream that says only the newest thing, however slowly its client reads.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "rpc/grpc_status.h"
#include "serve/open_streams.h"

namespace gpuscaler {

// One write is in flight at most; of those that wait behind it the newest wins. Thread-safe.
// gRPC calls the On... functions; OnDone() is the last one, and closes the stream.
//
// Locks: a stream's own show_mutex_, which keeps what it says in order, then write_mutex_, in which
// only gRPC is called; that of OpenStreams inside neither. A FleetReader's is inside all.
template <typename Response>
class StreamReactor : public grpc::ServerWriteReactor<Response>, public OpenStream {
 public:
  explicit StreamReactor(OpenStreams& streams) : streams_(streams) {}

  void Push(const Response& response) {
    MutexLock lock(write_mutex_);
    if (finished_ || end_) return;
    next_ = response;
    if (!writing_) WriteNext();
  }

  // What was pushed before is still sent.
  void End(const absl::Status& status) override {
    MutexLock lock(write_mutex_);
    if (!end_) end_ = status;
    if (!writing_) Finish();
  }

  // One that has ended has nothing more to do, be it that its last write is still in flight.
  absl::Time NextDue() const final {
    {
      MutexLock lock(write_mutex_);
      if (end_) return absl::InfiniteFuture();
    }
    return Due();
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(write_mutex_);
    writing_ = false;
    if (!ok && !end_) end_ = absl::CancelledError("the client is gone");
    if (ok && next_) {
      WriteNext();
    } else if (end_) {
      Finish();
    }
  }

  // At once, whatever is still in flight: nobody reads it.
  void OnCancel() override {
    MutexLock lock(write_mutex_);
    if (!end_) end_ = absl::CancelledError("the client is gone");
    Finish();
  }

  void OnDone() override {
    absl::StatusCode code;
    {
      MutexLock lock(write_mutex_);
      code = end_->code();
    }
    streams_.Closed(this, code);
  }

 protected:
  // NextDue() of one that goes on.
  virtual absl::Time Due() const = 0;

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    if (finished_) return;
    in_flight_ = *std::exchange(next_, std::nullopt);
    writing_ = true;
    this->StartWrite(&in_flight_);
  }

  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    if (finished_) return;
    finished_ = true;
    grpc::ServerWriteReactor<Response>::Finish(ToGrpc(*end_));
  }

  OpenStreams& streams_;
  mutable Mutex write_mutex_;
  Response in_flight_;  // gRPC's while writing_
  std::optional<Response> next_ ABSL_GUARDED_BY(write_mutex_);
  bool writing_ ABSL_GUARDED_BY(write_mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(write_mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(write_mutex_);
};

}  // namespace gpuscaler
