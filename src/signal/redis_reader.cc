#include "signal/redis_reader.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "base/poll_timeout.h"

namespace gpuscaler {
RedisReader::RedisReader(const Clock& clock, const EndpointRules& rules, const RedisLimits& limits,
                         Sink sink, std::shared_ptr<ResponseMemory> response_memory)
    : clock_(clock),
      sink_(std::move(sink)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      readings_(rules, limits, std::move(response_memory)),
      thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "redis");
}

RedisReader::~RedisReader() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  Wake();
  thread_.join();
  close(wake_fd_);
}

void RedisReader::Replace(std::vector<RedisTarget> targets) {
  {
    MutexLock lock(mutex_);
    replacement_ = std::move(targets);
  }
  Wake();
}

void RedisReader::Wake() const { eventfd_write(wake_fd_, 1); }

void RedisReader::Run() {
  while (TakeTargets()) {
    for (RedisReading& reading : readings_.Advance(real_.Now())) {
      reading.at = clock_.Now();
      sink_(reading);
    }
    Wait();
  }
}

bool RedisReader::TakeTargets() {
  MutexLock lock(mutex_);
  if (replacement_.has_value()) readings_.Replace(*std::exchange(replacement_, std::nullopt));
  return !stopping_;
}

void RedisReader::Wait() {
  std::vector<pollfd> poll_events = readings_.PollEvents();
  poll_events.push_back({.fd = wake_fd_, .events = POLLIN, .revents = 0});
  const absl::Time now = real_.Now();
  poll(poll_events.data(), poll_events.size(), MillisecondsForPoll(readings_.WakeAt(now) - now));
  eventfd_t ignored = 0;
  if (poll_events.back().revents != 0) eventfd_read(wake_fd_, &ignored);
  readings_.Ready(std::span(poll_events).first(poll_events.size() - 1));
}

}  // namespace gpuscaler
