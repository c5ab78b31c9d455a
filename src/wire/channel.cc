#include "wire/channel.h"

#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "wire/client_session.h"
#include "wire/connect_attempt.h"
#include "wire/unshared_status.h"

namespace gpuscaler {
namespace {

class OneAnswer : public ClientCall::Listener {
 public:
  void OnMessage(std::string bytes) override {
    ++messages_;
    if (messages_ == 1) answer_.message = std::move(bytes);
  }

  void OnEnd(const CallEnd& end) override {
    MutexLock lock(mutex_);
    answer_.end = end;
    answer_.end.status = Unshared(end.status);
    if (end.status.ok() && messages_ != 1) {
      answer_.end.status = absl::InternalError(
          messages_ == 0 ? "the server has sent no message" : "the server has sent many messages");
    }
    has_ended_ = true;
    ended_.NotifyAll();
  }

  UnaryAnswer Wait() {
    MutexLock lock(mutex_);
    while (!has_ended_) ended_.Wait(mutex_);
    return std::move(answer_);
  }

 private:
  int messages_ = 0;
  UnaryAnswer answer_;  // the loop's thread's until the end
  Mutex mutex_;
  CondVar ended_;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

// Belongs to the loop's thread.
class Channel::Impl {
 public:
  Impl(EventLoop& loop, Target target) : loop_(loop), target_(std::move(target)) {}
  ~Impl() { Close(); }

  void Begin(const std::shared_ptr<ClientCall>& call) {
    if (is_closed_) {
      return call->End({.status = absl::CancelledError("the caller has closed the channel")});
    }
    call->StartTimer();
    if (!sessions_.empty() && sessions_.back()->accepts_calls()) {
      return sessions_.back()->Open(call);
    }
    waiting_.push_back(call);
    if (attempt_ != nullptr) return;
    attempt_ = std::make_unique<ConnectAttempt>(
        loop_, target_, [this](absl::StatusOr<Connection> connection, ConnectFault fault) {
          OnAttempt(std::move(connection), fault);
        });
    attempt_->Start();
  }

  void Close() {
    is_closed_ = true;
    attempt_ = nullptr;
    EndWaiting({.status = absl::CancelledError("the caller has closed the channel")});
    sessions_.clear();
  }

 private:
  using Sessions = std::list<std::unique_ptr<ClientSession>>;

  void OnAttempt(absl::StatusOr<Connection> connection, ConnectFault fault) {
    attempt_ = nullptr;
    if (!connection.ok()) {
      return EndWaiting({.status = connection.status(), .connect_fault = fault});
    }
    const auto place = sessions_.insert(sessions_.end(), nullptr);
    *place = std::make_unique<ClientSession>(*std::move(connection), loop_, target_,
                                             [this, place] { sessions_.erase(place); });
    for (const auto& call : std::exchange(waiting_, {})) {
      if (call->has_ended_) continue;
      if (sessions_.empty() || !sessions_.back()->accepts_calls()) {  // lost meanwhile
        call->End({.status = absl::UnavailableError(
                       absl::StrCat("the connection to ", target_.address, " is lost"))});
      } else {
        sessions_.back()->Open(call);
      }
    }
  }

  void EndWaiting(const CallEnd& end) {
    for (const auto& call : std::exchange(waiting_, {})) call->End(end);
  }

  EventLoop& loop_;
  const Target target_;
  bool is_closed_ = false;
  std::unique_ptr<ConnectAttempt> attempt_;
  std::vector<std::shared_ptr<ClientCall>> waiting_;  // until the attempt ends
  Sessions sessions_;  // all but the last finish the calls that they have
};

Channel::Channel(EventLoop& loop, Target target)
    : loop_(loop),
      address_(target.address),
      impl_(std::make_shared<Impl>(loop, std::move(target))) {}

Channel::~Channel() {
  loop_.Post([impl = std::move(impl_)] { impl->Close(); });
}

std::shared_ptr<ClientCall> Channel::Start(std::string method, CallOptions options,
                                           ClientCall::Listener& listener) {
  auto call = std::make_shared<ClientCall>(loop_, address_, std::move(method), std::move(options),
                                           listener);
  loop_.Post([impl = impl_, call] { impl->Begin(call); });
  return call;
}

UnaryAnswer Channel::CallRaw(std::string method, std::string request, CallOptions options) {
  OneAnswer answer;
  const auto call = Start(std::move(method), std::move(options), answer);
  call->Write(std::move(request));
  call->WritesDone();
  return answer.Wait();
}

}  // namespace gpuscaler
