#include "page/response_memory.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(ResponseMemory, OneTenantGetsAtMostAQuarter) {
  const auto budget = std::make_shared<ResponseMemory>(400);
  MemoryReservation first(budget, "a", 10);
  EXPECT_TRUE(first.Resize(110));
  MemoryReservation second(budget, "a", 10);
  EXPECT_TRUE(second.Resize(10)) << "a small one has its own";
  EXPECT_FALSE(second.Resize(11));
  MemoryReservation other(budget, "b", 10);
  EXPECT_TRUE(other.Resize(110));
}

TEST(ResponseMemory, AllTenantsGetAtMostTheBudget) {
  const auto budget = std::make_shared<ResponseMemory>(400);
  MemoryReservation a(budget, "a", 0), b(budget, "b", 0), c(budget, "c", 0), d(budget, "d", 0),
      e(budget, "e", 0);
  for (MemoryReservation* const body : {&a, &b, &c, &d}) EXPECT_TRUE(body->Resize(100));
  EXPECT_FALSE(e.Resize(1));
  EXPECT_TRUE(d.Resize(99)) << "it needs less by now";
  EXPECT_TRUE(e.Resize(1));
}

TEST(ResponseMemory, FinishedBodyReleasesItsMemory) {
  const auto budget = std::make_shared<ResponseMemory>(400);
  for (int i = 0; i < 10; ++i) {
    MemoryReservation body(budget, "a", 0);
    EXPECT_TRUE(body.Resize(100)) << i;
    EXPECT_FALSE(body.Resize(101)) << i;
  }
}

}  // namespace
}  // namespace gpuscaler
