// An agent's end of a stream to one reader: what it has to say is asked for when it can be written.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "rpc/grpc_status.h"

namespace gpuscaler {

// One write is in flight at most, and the next one is made of what there is when that has gone: a
// slow reader costs no memory. Thread-safe. gRPC calls the On... functions; OnDone() is the last.
template <typename Incoming, typename Outgoing>
class OneWriteStream : public grpc::ServerBidiReactor<Incoming, Outgoing> {
 public:
  // Called once, last of all, and may delete the stream.
  using Closed = std::function<void(const OneWriteStream*)>;

  // To be called once it is known to who ends it.
  void Begin() { this->StartRead(&incoming_); }

  // What is in flight is still sent; the first status counts.
  void End(const absl::Status& status) {
    MutexLock lock(mutex_);
    EndLocked(status);
  }

  void OnReadDone(bool ok) override {
    MutexLock lock(mutex_);
    if (!ok) return EndLocked(absl::OkStatus());
    if (const absl::Status taken = Take(incoming_); !taken.ok()) return EndLocked(taken);
    if (!finished_) this->StartRead(&incoming_);
    WriteNext();
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok && !end_) end_ = absl::CancelledError("the reader is gone");
    if (end_) return FinishNow();
    WriteNext();
  }

  void OnCancel() override {
    MutexLock lock(mutex_);
    if (!end_) end_ = absl::CancelledError("the reader is gone");
    FinishNow();
  }

  void OnDone() override {
    {
      MutexLock lock(mutex_);  // gRPC calls it last, by means that ThreadSanitizer does not see
    }
    closed_(this);
  }

 protected:
  explicit OneWriteStream(Closed closed) : closed_(std::move(closed)) {}

  // What the reader wants; an error ends the stream.
  virtual absl::Status Take(const Incoming& incoming) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // Makes the next message of what there is; `message` is as the last one left it. False: there is
  // nothing to say.
  virtual bool Compose(Outgoing& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || end_ || finished_ || !Compose(in_flight_)) return;
    writing_ = true;
    this->StartWrite(&in_flight_);
  }

  Mutex mutex_;

 private:
  void EndLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!end_) end_ = status;
    if (!writing_) FinishNow();
  }

  void FinishNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (finished_) return;
    finished_ = true;
    this->Finish(ToGrpc(*end_));
  }

  const Closed closed_;
  Incoming incoming_;   // gRPC's while a read is under way
  Outgoing in_flight_;  // gRPC's while writing_
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
