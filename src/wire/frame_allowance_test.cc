#include "wire/frame_allowance.h"

#include <string>

#include "gtest/gtest.h"
#include "wire/test_frames.h"

namespace gpuscaler {
namespace {

void Read(FrameAllowance& allowance, const std::string& bytes) {
  allowance.Read(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

// Returns how many frames are left.
int Left(FrameAllowance allowance) {
  int left = 0;
  for (; !allowance.is_spent(); ++left) allowance.Spend();
  return left - 1;
}

TEST(FrameAllowance, SpendsOneForEachFrame) {
  FrameAllowance allowance(10, kPreface.size());
  Read(allowance, absl::StrCat(kPreface, Encode({.type = FrameType::kSettings})));
  EXPECT_EQ(Left(allowance), 9);
  Read(allowance, DataFrame(1, std::string(1'000, 'x')) + Encode({}) + Encode({}));
  EXPECT_EQ(Left(allowance), 6);
}

TEST(FrameAllowance, SpendsTheSameForFramesInPieces) {
  FrameAllowance allowance(10, 0);
  for (const char byte : DataFrame(1, std::string(1'000, 'x')) + Encode({}) + Encode({})) {
    Read(allowance, std::string(1, byte));
  }
  EXPECT_EQ(Left(allowance), 7);
}

TEST(FrameAllowance, EarnsMoreThanAtFirstWithinABound) {
  FrameAllowance allowance(10, 0);
  allowance.Earn(5);
  EXPECT_EQ(Left(allowance), 15);
  allowance.Refill();
  EXPECT_EQ(Left(allowance), 15);
  allowance.Earn(100'000);
  EXPECT_EQ(Left(allowance), 1'000);
}

TEST(FrameAllowance, RecoversWithTime) {
  FrameAllowance allowance(2, 0);
  allowance.Spend();
  for (int i = 0; i < 3; ++i) allowance.Recover();
  EXPECT_EQ(Left(allowance), 2);
}

TEST(FrameAllowance, IsFullAgain) {
  FrameAllowance allowance(2, 0);
  for (int i = 0; i < 3; ++i) allowance.Spend();
  EXPECT_TRUE(allowance.is_spent());
  allowance.Refill();
  EXPECT_EQ(Left(allowance), 2);
}

}  // namespace
}  // namespace gpuscaler
