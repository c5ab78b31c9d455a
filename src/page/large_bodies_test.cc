#include "page/large_bodies.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(LargeBodies, OneTenantGetsAtMostAQuarter) {
  const auto all = std::make_shared<LargeBodies>(400);
  LargeBody first(all, "a", 10);
  EXPECT_TRUE(first.Resize(110));
  LargeBody second(all, "a", 10);
  EXPECT_TRUE(second.Resize(10)) << "a small one has its own";
  EXPECT_FALSE(second.Resize(11));
  LargeBody other(all, "b", 10);
  EXPECT_TRUE(other.Resize(110));
}

TEST(LargeBodies, AllTenantsGetAtMostTheBudget) {
  const auto all = std::make_shared<LargeBodies>(400);
  LargeBody a(all, "a", 0), b(all, "b", 0), c(all, "c", 0), d(all, "d", 0), e(all, "e", 0);
  for (LargeBody* const body : {&a, &b, &c, &d}) EXPECT_TRUE(body->Resize(100));
  EXPECT_FALSE(e.Resize(1));
  EXPECT_TRUE(d.Resize(99)) << "it needs less by now";
  EXPECT_TRUE(e.Resize(1));
}

TEST(LargeBodies, FinishedBodyReleasesItsMemory) {
  const auto all = std::make_shared<LargeBodies>(400);
  for (int i = 0; i < 10; ++i) {
    LargeBody body(all, "a", 0);
    EXPECT_TRUE(body.Resize(100)) << i;
    EXPECT_FALSE(body.Resize(101)) << i;
  }
}

}  // namespace
}  // namespace gpuscaler
