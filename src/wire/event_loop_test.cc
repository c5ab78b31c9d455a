#include "wire/event_loop.h"

#include <event2/event.h>

#include <functional>
#include <future>
#include <string>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

struct Event {
  int priority;
  std::function<void()> run;
  event* self = nullptr;

  void MakeDue() const { event_active(self, EV_TIMEOUT, 0); }
};

TEST(EventLoopTest, EventsOfTheLastPriorityRunOneAtATimeBetweenTheOthers) {
  std::string ran;
  std::promise<void> is_done;
  EventLoop loop;
  Event usual{kNormalPriority, [&] { ran += "usual "; }};
  Event first{kLowPriority, [&] {
                ran += "first ";
                usual.MakeDue();
              }};
  Event second{kLowPriority, [&] {
                 ran += "second ";
                 is_done.set_value();
               }};
  loop.Post([&] {
    for (Event* each : {&usual, &first, &second}) {
      each->self = event_new(
          loop.base(), -1, 0, [](int, short, void* due) { static_cast<Event*>(due)->run(); }, each);
      event_priority_set(each->self, each->priority);
    }
    first.MakeDue();
    second.MakeDue();
  });
  is_done.get_future().wait();
  loop.Stop();
  EXPECT_EQ(ran, "first usual second ");
  for (const Event* each : {&usual, &first, &second}) event_free(each->self);
}

}  // namespace
}  // namespace gpuscaler
