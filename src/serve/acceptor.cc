#include "serve/acceptor.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rate_limit.h"

namespace gpuscaler {
namespace {

// Connections that end free descriptors; a tenth of a second more in the backlog is not felt.
constexpr int kPauseMilliseconds = 100;

// The client went away, or nothing was there after all.
bool IsPassing(int error) {
  return error == EAGAIN || error == EINTR || error == ECONNABORTED || error == EPROTO;
}

}  // namespace

class Acceptor::Impl {
 public:
  Impl(int listening, std::function<void(int)> take)
      : listening_(listening),
        stopping_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        take_(std::move(take)),
        thread_([this] { Run(); }) {
    pthread_setname_np(thread_.native_handle(), "grpc accept");
  }

  ~Impl() {
    stopping_ = true;
    if (stopping_event_ >= 0) eventfd_write(stopping_event_, 1);
    thread_.join();
    if (stopping_event_ >= 0) close(stopping_event_);
    close(listening_);
  }

 private:
  void Run() {
    while (!stopping_) {
      std::array<pollfd, 2> asked = {{{.fd = stopping_event_, .events = POLLIN, .revents = 0},
                                      {.fd = listening_, .events = POLLIN, .revents = 0}}};
      // Nothing tells of the end where there was no descriptor for that: it is looked for.
      poll(asked.data(), asked.size(), stopping_event_ < 0 ? kPauseMilliseconds : -1);
      if (!stopping_ && asked[1].revents != 0) Accept();
    }
  }

  void Accept() {
    const int connection = accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection >= 0) return take_(connection);
    const int error = errno;
    if (IsPassing(error)) return;
    if (const auto dropped = observed_.Pass()) {
      LogWarn("accept_failed", {{"why", std::strerror(error)},
                                {"consequence", "new connections wait"},
                                {"dropped", *dropped}});
    }
    pollfd stop = {.fd = stopping_event_, .events = POLLIN, .revents = 0};
    poll(&stop, 1, kPauseMilliseconds);
  }

  const int listening_;
  const int stopping_event_;  // -1: there was no descriptor left
  const std::function<void(int)> take_;
  const SteadyClock clock_;
  RateLimit observed_{clock_, 1, absl::Minutes(1)};
  std::atomic<bool> stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

Acceptor::Acceptor(int listening, std::function<void(int)> take)
    : impl_(std::make_unique<Impl>(listening, std::move(take))) {}
Acceptor::~Acceptor() = default;

}  // namespace gpuscaler
