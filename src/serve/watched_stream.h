// A client's end of a server stream, for tests: keeps what was said and how it ended.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <functional>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace gpuscaler {

// Reads on its own until the stream ends; with kNever, not before StartReading(). Ends with the
// test.
template <typename Response>
class WatchedStream : public grpc::ClientReadReactor<Response> {
 public:
  enum class Reads { kAll, kNever };
  using Open =
      std::function<void(grpc::ClientContext*, grpc::ClientReadReactor<Response>* reactor)>;

  explicit WatchedStream(const Open& open, Reads reads = Reads::kAll) : reads_(reads) {
    open(&context_, this);
    // The test may end while nothing is being read.
    this->AddHold();
    if (reads_ == Reads::kAll) this->StartRead(&incoming_);
    this->StartCall();
  }
  ~WatchedStream() override {
    context_.TryCancel();
    Release();
    MutexLock lock(mutex_);
    while (!end_) changed_.Wait(mutex_);
  }

  void Cancel() { context_.TryCancel(); }

  // Once, of a stream with kNever.
  void StartReading() { this->StartRead(&incoming_); }

  // True as soon as the server has sent headers; false after 30 s without.
  bool WaitForHeaders() {
    WaitUntil([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return has_headers_; });
    MutexLock lock(mutex_);
    return has_headers_;
  }

  // What was said, as soon as it is `count` messages; what there is after 30 s.
  std::vector<Response> WaitForMessages(size_t count) {
    WaitUntil([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return observed_.size() >= count; });
    MutexLock lock(mutex_);
    return observed_;
  }

  // How it ended; nothing when it has not after 30 s.
  std::optional<grpc::Status> WaitForEnd() {
    Release();
    WaitUntil([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return end_.has_value(); });
    MutexLock lock(mutex_);
    return end_;
  }

  std::vector<Response> Observed() { return WaitForMessages(0); }

  bool HasEnded() {
    MutexLock lock(mutex_);
    return end_.has_value();
  }

 private:
  void OnReadInitialMetadataDone(bool ok) override {
    MutexLock lock(mutex_);
    has_headers_ = ok;
    changed_.NotifyAll();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      MutexLock lock(mutex_);
      observed_.push_back(incoming_);
      changed_.NotifyAll();
    }
    this->StartRead(&incoming_);
  }

  void OnDone(const grpc::Status& status) override {
    MutexLock lock(mutex_);
    end_ = status;
    changed_.NotifyAll();
  }

  void Release() {
    {
      MutexLock lock(mutex_);
      if (released_) return;
      released_ = true;
    }
    this->RemoveHold();
  }

  template <typename Condition>
  void WaitUntil(Condition condition) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(30);
    MutexLock lock(mutex_);
    while (!condition() && real.Now() < deadline) changed_.WaitFor(mutex_, deadline - real.Now());
  }

  const Reads reads_;
  grpc::ClientContext context_;
  Response incoming_;
  Mutex mutex_;
  CondVar changed_;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_headers_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Response> observed_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
