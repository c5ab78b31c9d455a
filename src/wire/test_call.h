// A call, step by step, for tests.
//
//   TestCall<HealthCheckRequest, HealthCheckResponse> watch(channel,
//   "/grpc.health.v1.Health/Watch"); watch.Send(request);
//   EXPECT_EQ(watch.WaitForMessages(1).at(0).status(), HealthCheckResponse::SERVING);
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "wire/channel.h"
#include "wire/unshared_status.h"

namespace gpuscaler {

// Messages are protobuf's, or std::string for bytes. All functions that wait give up after 30 s.
// Thread-safe.
template <typename Request, typename Response>
class TestCall : private ClientCall::Listener {
 public:
  // kOne, kNever: further messages are read after StartReading() alone.
  enum class Reads { kAll, kOne, kNever };

  // The channel's loop outlives the call.
  TestCall(Channel& channel, const std::string& method, const CallOptions& options = {},
           Reads reads = Reads::kAll)
      : reads_(reads) {
    MutexLock lock(mutex_);  // its functions are called at once
    call_ = channel.Start(method, options, *this);
  }
  ~TestCall() override {
    call_->Cancel();
    MutexLock lock(mutex_);
    while (!end_) changed_.Wait(mutex_);
  }
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  void Write(const Request& request) { call_->Write(Encoded(request)); }
  void WriteNewest(const Request& request) { call_->WriteNewest(Encoded(request)); }
  void WritesDone() { call_->WritesDone(); }
  // The request of a method that takes one.
  void Send(const Request& request) {
    Write(request);
    WritesDone();
  }
  void StartReading() {
    {
      MutexLock lock(mutex_);
      reads_ = Reads::kAll;
    }
    call_->ResumeReading();
  }
  void Cancel() { call_->Cancel(); }

  bool WaitForHeaders() {
    return WaitUntil([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return headers_.has_value(); });
  }

  // Returns all messages so far, once they are `count` or the call has ended.
  std::vector<Response> WaitForMessages(size_t count) {
    WaitUntil([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return messages_.size() >= count || end_.has_value();
    });
    MutexLock lock(mutex_);
    return messages_;
  }
  std::vector<Response> messages() { return WaitForMessages(0); }

  // Empty: the call has not ended.
  std::optional<absl::Status> WaitForEnd() {
    WaitUntil([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return end_.has_value(); });
    MutexLock lock(mutex_);
    if (!end_.has_value()) return std::nullopt;
    return end_->status;
  }
  bool HasEnded() {
    MutexLock lock(mutex_);
    return end_.has_value();
  }

  // The metadata that have come.
  CallMetadata headers() {
    MutexLock lock(mutex_);
    return headers_.value_or(CallMetadata());
  }
  CallMetadata trailers() {
    MutexLock lock(mutex_);
    return end_.value_or(CallEnd()).trailers;
  }

 private:
  static std::string Encoded(const Request& request) {
    if constexpr (std::is_same_v<Request, std::string>)
      return request;
    else
      return request.SerializeAsString();
  }
  static Response Decoded(std::string bytes) {
    if constexpr (std::is_same_v<Response, std::string>) {
      return bytes;
    } else {
      Response message;
      EXPECT_TRUE(message.ParseFromString(bytes));
      return message;
    }
  }

  void OnHeaders(const CallMetadata& headers) override {
    MutexLock lock(mutex_);
    EXPECT_FALSE(headers_.has_value());
    headers_ = headers;
    if (reads_ == Reads::kNever) call_->PauseReading();
    changed_.NotifyAll();
  }
  void OnMessage(std::string bytes) override {
    MutexLock lock(mutex_);
    messages_.push_back(Decoded(std::move(bytes)));
    if (reads_ == Reads::kOne) call_->PauseReading();
    changed_.NotifyAll();
  }
  void OnEnd(const CallEnd& end) override {
    MutexLock lock(mutex_);
    EXPECT_FALSE(end_.has_value());
    end_ = end;
    end_->status = Unshared(end.status);
    changed_.NotifyAll();
  }

  template <typename Condition>
  bool WaitUntil(Condition condition) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(30);
    MutexLock lock(mutex_);
    while (!condition() && real.Now() < deadline) changed_.WaitFor(mutex_, deadline - real.Now());
    return condition();
  }

  Mutex mutex_;
  CondVar changed_;
  Reads reads_ ABSL_GUARDED_BY(mutex_);
  std::optional<CallMetadata> headers_ ABSL_GUARDED_BY(mutex_);
  std::vector<Response> messages_ ABSL_GUARDED_BY(mutex_);
  std::optional<CallEnd> end_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ClientCall> call_;  // not changed after the constructor
};

using BytesCall = TestCall<std::string, std::string>;

}  // namespace gpuscaler
