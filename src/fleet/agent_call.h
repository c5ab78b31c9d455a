// An aggregator's end of a stream to one agent: what is wanted goes down, what it tells comes up.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "telemetry.grpc.pb.h"

namespace gpuscaler {

// Of a message. A reading of a busy node is 253 bytes, one of all that there is to say of it 2.6
// KB.
inline constexpr size_t kKeptBytes = 4096;

// One call. Thread-safe. gRPC calls the On... functions; OnDone() is the last one, and its end.
template <typename Subscription, typename Reported>
class AgentCall : public grpc::ClientBidiReactor<Subscription, Reported> {
 public:
  void Begin(Subscription first) {
    MutexLock lock(mutex_);
    Open(*stub_, context_);
    this->AddHold();  // Want() comes from outside
    in_flight_ = std::move(first);
    writing_ = true;
    this->StartWrite(&in_flight_);
    this->StartRead(&incoming_);
    this->StartCall();
  }

  // Of what waits behind a write the newest alone is sent.
  void Want(Subscription wanted) {
    MutexLock lock(mutex_);
    next_ = std::move(wanted);
    WriteNext();
  }

  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (ok) {
      if (fault_.ok()) fault_ = Take(incoming_);
      if (!fault_.ok()) context_.TryCancel();
      // Protobuf keeps what a message was made of for the next one: of the past 1,000 agents' are
      // 200 MiB, of long lists as much.
      if (incoming_.readings_size() > 1 || incoming_.ByteSizeLong() > kKeptBytes) {
        incoming_ = Reported();
      }
      return this->StartRead(&incoming_);
    }
    {
      MutexLock lock(mutex_);
      over_ = true;
    }
    this->RemoveHold();
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    writing_ = false;
    if (ok) WriteNext();
  }

  void OnDone(const grpc::Status& status) override { Ended(status, fault_); }

 protected:
  using Stub = telemetry::v1::NodeTelemetry::Stub;

  explicit AgentCall(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(telemetry::v1::NodeTelemetry::NewStub(channel)) {}

  // Begins this call as the method that it is of.
  virtual void Open(Stub& stub, grpc::ClientContext& context) = 0;

  // What came up; an error ends the call.
  virtual absl::Status Take(Reported& reported) = 0;

  // Last of all: `fault` is the error of Take(), if it was one that ended the call.
  virtual void Ended(const grpc::Status& status, const absl::Status& fault) = 0;

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || over_ || !next_) return;
    in_flight_ = *std::exchange(next_, std::nullopt);
    writing_ = true;
    this->StartWrite(&in_flight_);
  }

  const std::unique_ptr<Stub> stub_;
  grpc::ClientContext context_;
  Reported incoming_;   // gRPC's while a read is under way
  absl::Status fault_;  // of what was read
  Mutex mutex_;
  Subscription in_flight_;  // gRPC's while writing_
  std::optional<Subscription> next_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
