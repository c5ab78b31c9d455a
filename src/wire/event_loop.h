// A thread that waits for sockets and timers, and runs the tasks that other threads post.
#pragma once

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace gpuscaler {

// Priorities of libevent's events.
constexpr int kPriorities = 3;
constexpr int kNormalPriority = kPriorities / 2;   // libevent's own default
constexpr int kLowPriority = kNormalPriority + 1;  // one at a time, when no other event is due

// Frees what libevent creates.
struct FreeEvents {
  void operator()(event_base* base) const { event_base_free(base); }
  void operator()(event* event) const { event_free(event); }
  void operator()(evconnlistener* listener) const { evconnlistener_free(listener); }
  void operator()(bufferevent* connection) const;
};
using OwnedEvent = std::unique_ptr<event, FreeEvents>;

// libevent's loop. Everything that belongs to base() is used on its thread alone.
class EventLoop {
 public:
  EventLoop();
  ~EventLoop();  // Stop()
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs `task` on the loop's thread, after the tasks posted before. On that thread too, the task
  // runs only after Post() has returned. Tasks posted after Stop() are dropped. Thread-safe.
  void Post(std::function<void()> task);

  // Runs the tasks posted before, then ends the thread. Must not be called on that thread.
  void Stop();

  event_base* base() const { return base_.get(); }

 private:
  void RunPosted();

  const std::unique_ptr<event_base, FreeEvents> base_;
  const int woken_;  // an eventfd
  OwnedEvent wake_;
  Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Returns the time for deadlines, which no correction of the system clock changes. Thread-safe.
absl::Time SteadyNow();

// Returns an event that calls (object->*kFunction)() on the loop's thread: when the time of
// SetTimer() has passed, or when the descriptor is ready. `object` outlives it.
template <auto kFunction, typename Object>
OwnedEvent NewEvent(const EventLoop& loop, Object* object, int descriptor = -1, short what = 0) {
  return OwnedEvent(event_new(
      loop.base(), descriptor, what,
      [](int, short, void* data) { (static_cast<Object*>(data)->*kFunction)(); }, object));
}

inline void SetTimer(const OwnedEvent& timer, absl::Duration duration) {
  const timeval later = absl::ToTimeval(std::max(absl::ZeroDuration(), duration));
  event_add(timer.get(), &later);
}

}  // namespace gpuscaler
