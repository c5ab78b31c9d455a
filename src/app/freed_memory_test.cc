#include "app/freed_memory.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(FreedMemory, IsGivenBackOnceHalfOfManyStreamsHaveGone) {
  FreedMemory memory;
  EXPECT_FALSE(memory.Tick(0));
  EXPECT_FALSE(memory.Tick(1000));
  EXPECT_FALSE(memory.Tick(501));
  EXPECT_TRUE(memory.Tick(500));
  EXPECT_FALSE(memory.Tick(499)) << "each is counted once";
  EXPECT_TRUE(memory.Tick(0));
}

TEST(FreedMemory, FewStreamsAreNotWorthIt) {
  FreedMemory memory;
  EXPECT_FALSE(memory.Tick(99));
  EXPECT_FALSE(memory.Tick(0));
}

}  // namespace
}  // namespace gpuscaler
