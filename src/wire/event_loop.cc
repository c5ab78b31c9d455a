#include "wire/event_loop.h"

#include <event2/bufferevent_ssl.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace gpuscaler {

namespace {

event_base* NewBase() {
  event_config* const config = event_config_new();
  event_config_set_max_dispatch_interval(config, nullptr, 1, kLowPriority);
  event_base* const base = event_base_new_with_config(config);
  event_config_free(config);
  event_base_priority_init(base, kPriorities);
  return base;
}

}  // namespace

void FreeEvents::operator()(bufferevent* connection) const {
  // libevent reads once more from a connection with a deferred callback that is due. The object of
  // its message callback may be gone by then.
  SSL* const tls = bufferevent_openssl_get_ssl(connection);
  if (tls != nullptr) SSL_set_msg_callback(tls, nullptr);
  bufferevent_free(connection);
}

EventLoop::EventLoop() : base_(NewBase()), woken_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  wake_ = NewEvent<&EventLoop::RunPosted>(*this, this, woken_, EV_READ | EV_PERSIST);
  event_add(wake_.get(), nullptr);
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "grpc");
    // libevent writes to sockets that a client may have closed.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    event_base_loop(base_.get(), EVLOOP_NO_EXIT_ON_EMPTY);
    // Connections that were closed last are freed by a callback of their own.
    event_base_loop(base_.get(), EVLOOP_NONBLOCK);
  });
}

EventLoop::~EventLoop() {
  Stop();
  wake_ = nullptr;
  close(woken_);
}

void EventLoop::Post(std::function<void()> task) {
  bool is_first = false;
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    is_first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  if (is_first) eventfd_write(woken_, 1);
}

void EventLoop::Stop() {
  if (!thread_.joinable()) return;
  Post([this] { event_base_loopbreak(base_.get()); });
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  thread_.join();
}

void EventLoop::RunPosted() {
  eventfd_t count = 0;
  eventfd_read(woken_, &count);
  std::vector<std::function<void()>> tasks;
  {
    MutexLock lock(mutex_);
    tasks.swap(posted_);
  }
  for (const std::function<void()>& task : tasks) task();
}

absl::Time SteadyNow() {
  static const SteadyClock& clock = *new SteadyClock;
  return clock.Now();
}

}  // namespace gpuscaler
