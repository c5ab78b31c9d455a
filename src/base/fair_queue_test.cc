#include "base/fair_queue.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;

std::vector<std::string> TurnsOf(FairQueue<int>& queue) {
  std::vector<std::string> tenants;
  while (auto turn = queue.Next()) tenants.push_back(turn->tenant);
  return tenants;
}

TEST(FairQueue, SchedulesTenantsRoundRobin) {
  FairQueue<int> queue(10);
  for (int i = 0; i < 3; ++i) queue.Push("a", i);
  queue.Push("b", 0);
  queue.Push("c", 0);
  EXPECT_THAT(TurnsOf(queue), ElementsAre("a", "b", "c", "a", "a"));
}

TEST(FairQueue, TasksOfOneTenantKeepTheirOrder) {
  FairQueue<int> queue(10);
  for (int i = 0; i < 3; ++i) queue.Push("a", i);
  std::vector<int> tasks;
  while (auto turn = queue.Next()) tasks.push_back(turn->task);
  EXPECT_THAT(tasks, ElementsAre(0, 1, 2));
}

TEST(FairQueue, NoTenantRunsMoreTasksThanItsLimit) {
  FairQueue<int> queue(2);
  for (int i = 0; i < 4; ++i) queue.Push("a", i);
  EXPECT_THAT(TurnsOf(queue), ElementsAre("a", "a"));
  EXPECT_FALSE(queue.HasNext());
  queue.Push("b", 0);
  EXPECT_THAT(TurnsOf(queue), ElementsAre("b"));
  queue.Done("a");
  EXPECT_TRUE(queue.HasNext());
  EXPECT_THAT(TurnsOf(queue), ElementsAre("a"));
}

}  // namespace
}  // namespace gpuscaler
