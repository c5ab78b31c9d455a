#include "redis/redis_reader.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "base/poll_timeout.h"

namespace gpuscaler {
RedisReader::RedisReader(const Clock& clock, const EndpointRules& rules, const RedisLimits& limits,
                         Sink sink, std::shared_ptr<LargeBodies> large_bodies)
    : clock_(clock),
      sink_(std::move(sink)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      readings_(rules, limits, std::move(large_bodies)),
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
    wanted_ = std::move(targets);
  }
  Wake();
}

void RedisReader::Wake() const { eventfd_write(wake_fd_, 1); }

void RedisReader::Run() {
  while (TakeSubscription()) {
    for (RedisResult& result : readings_.Advance(real_.Now())) {
      sink_({.source = std::move(result.source),
             .at = clock_.Now(),
             .length = std::move(result.length),
             .note = std::move(result.note)});
    }
    Wait();
  }
}

bool RedisReader::TakeSubscription() {
  MutexLock lock(mutex_);
  if (wanted_.has_value()) readings_.Replace(*std::exchange(wanted_, std::nullopt));
  return !stopping_;
}

void RedisReader::Wait() {
  std::vector<pollfd> waits_for = readings_.WaitsFor();
  waits_for.push_back({.fd = wake_fd_, .events = POLLIN, .revents = 0});
  const absl::Time now = real_.Now();
  poll(waits_for.data(), waits_for.size(), MillisecondsForPoll(readings_.WakeAt(now) - now));
  eventfd_t ignored = 0;
  if (waits_for.back().revents != 0) eventfd_read(wake_fd_, &ignored);
  readings_.Ready(std::span(waits_for).first(waits_for.size() - 1));
}

}  // namespace gpuscaler
