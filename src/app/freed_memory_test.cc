#include "app/freed_memory.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

size_t Nothing() { return 0; }

TEST(FreedMemory, IsGivenBackOnceHalfOfManyStreamsHaveGone) {
  FreedMemory memory(Nothing);
  EXPECT_FALSE(memory.Tick(0));
  EXPECT_FALSE(memory.Tick(1000));
  EXPECT_FALSE(memory.Tick(501));
  EXPECT_TRUE(memory.Tick(500));
  EXPECT_FALSE(memory.Tick(499)) << "each is counted once";
  EXPECT_TRUE(memory.Tick(0));
}

TEST(FreedMemory, FewStreamsAreNotWorthIt) {
  FreedMemory memory(Nothing);
  EXPECT_FALSE(memory.Tick(99));
  EXPECT_FALSE(memory.Tick(0));
}

TEST(FreedMemory, IsGivenBackOnceMuchMoreIsFreeThanItLeft) {
  size_t free_mib = 31;
  FreedMemory memory([&free_mib] { return free_mib << 20; });
  EXPECT_FALSE(memory.Tick(0));
  free_mib = 70;
  EXPECT_TRUE(memory.Tick(0));
  EXPECT_FALSE(memory.Tick(0)) << "the system has it";
  free_mib = 20;
  EXPECT_FALSE(memory.Tick(0)) << "used again";
  free_mib = 51;
  EXPECT_FALSE(memory.Tick(0));
  free_mib = 52;
  EXPECT_TRUE(memory.Tick(0));
}

}  // namespace
}  // namespace gpuscaler
