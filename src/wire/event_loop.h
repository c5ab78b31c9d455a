// A thread that waits for sockets and timers, and runs what other threads hand over.
#pragma once

#include <event2/event.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace gpuscaler {

// Priorities of libevent's events.
constexpr int kPriorities = 3;
constexpr int kNormalPriority = kPriorities / 2;   // libevent's own default
constexpr int kLowPriority = kNormalPriority + 1;  // one at a time, when no other event is due

// libevent's loop. Everything that belongs to base() is used on its thread alone.
class EventLoop {
 public:
  EventLoop();
  ~EventLoop();  // Stop()
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs `task` on the loop's thread, after those handed over before. After Stop() it is dropped.
  // Thread-safe; never runs it before it returns.
  void Post(std::function<void()> task);

  // Runs what was posted before, then ends the thread. Must not be called on it.
  void Stop();

  event_base* base() const { return base_.get(); }

 private:
  struct Free {
    void operator()(event_base* base) const { event_base_free(base); }
    void operator()(event* event) const { event_free(event); }
  };

  void RunPosted();

  const std::unique_ptr<event_base, Free> base_;
  const int woken_;  // an eventfd
  std::unique_ptr<event, Free> wake_;
  Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace gpuscaler
