#include "base/periodic_thread.h"

#include <atomic>
#include <future>

#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

TEST(StopAll, ThreadThatHangsIsNamedAndTheOthersEnd) {
  Mutex busy;
  CondVar began;
  bool in_call = false;
  PeriodicThread idle("idle", absl::Hours(1), [] {});
  PeriodicThread hanging("hanging", absl::Hours(1), [&] {
    MutexLock lock(busy);
    in_call = true;
    began.NotifyAll();
    while (in_call) began.Wait(busy);
  });
  {
    MutexLock lock(busy);
    while (!in_call) began.Wait(busy);
  }
  const std::vector<PeriodicThread*> threads = {&hanging, nullptr, &idle};
  EXPECT_THAT(StopAll(threads, absl::Milliseconds(10)), ElementsAre("hanging"));
  {
    MutexLock lock(busy);
    in_call = false;
    began.NotifyAll();
  }
  EXPECT_THAT(StopAll(threads, absl::Minutes(1)), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
