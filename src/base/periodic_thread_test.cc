#include "base/periodic_thread.h"

#include <atomic>
#include <future>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kNever = absl::Hours(1);

TEST(PeriodicThread, TicksAtOnceAndThenEveryInterval) {
  std::promise<void> third;
  std::atomic<int> ticks = 0;
  PeriodicThread thread("test", absl::Milliseconds(1), [&] {
    if (++ticks == 3) third.set_value();
  });
  third.get_future().wait();
}

TEST(PeriodicThread, WakeTicksBeforeTheIntervalEnds) {
  std::promise<void> first, second;
  std::atomic<int> ticks = 0;
  PeriodicThread thread("test", kNever, [&] { (++ticks == 1 ? first : second).set_value(); });
  first.get_future().wait();
  thread.Wake();
  second.get_future().wait();
}

TEST(PeriodicThread, WakeInTicksNoSoonerThanThat) {
  const SteadyClock clock;
  std::promise<absl::Time> first, second;
  std::atomic<int> ticks = 0;
  PeriodicThread thread("test", kNever,
                        [&] { (++ticks == 1 ? first : second).set_value(clock.Now()); });
  first.get_future().wait();
  const absl::Time start = clock.Now();
  thread.WakeIn(kNever);
  thread.WakeIn(absl::Milliseconds(20));
  EXPECT_GE(second.get_future().get() - start, absl::Milliseconds(20));
}

TEST(PeriodicThread, StopReturnsFalseWhileATickHangs) {
  std::promise<void> started, release;
  std::shared_future<void> released = release.get_future().share();
  PeriodicThread thread("test", kNever, [&, released] {
    started.set_value();
    released.wait();
  });
  started.get_future().wait();
  EXPECT_FALSE(thread.Stop(absl::Milliseconds(1)));
  release.set_value();
  EXPECT_TRUE(thread.Stop(absl::Minutes(1)));
}

}  // namespace
}  // namespace gpuscaler
