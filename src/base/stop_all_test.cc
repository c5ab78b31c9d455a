#include "base/stop_all.h"

#include "base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
  const std::vector<NamedThread> threads = {
      {&hanging, "hanging"}, {nullptr, "none"}, {&idle, "idle"}};
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
