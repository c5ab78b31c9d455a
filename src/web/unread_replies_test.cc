#include "web/unread_replies.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr size_t kBodyBytes = 10'000;

UnreadReplies::Body BodyOf(size_t bytes) {
  return std::make_shared<const std::string>(std::string(bytes, 'x'));
}

TEST(UnreadReplies, BodyThatHasNoRoomIsRefusedUntilThereIs) {
  UnreadReplies unread(2 * kBodyBytes);
  auto first = unread.Add(BodyOf(kBodyBytes));
  const auto second = unread.Add(BodyOf(kBodyBytes));
  ASSERT_NE(second, nullptr) << "the limit itself is allowed";
  EXPECT_EQ(unread.bytes(), 2 * kBodyBytes);
  EXPECT_EQ(unread.Add(BodyOf(kBodyBytes)), nullptr);
  EXPECT_EQ(unread.refused(), 1);
  EXPECT_EQ(unread.bytes(), 2 * kBodyBytes);
  const auto copy = first;
  first = nullptr;
  EXPECT_EQ(unread.bytes(), 2 * kBodyBytes) << "its copy is left";
}

TEST(UnreadReplies, BodyCountsUntilItIsGone) {
  UnreadReplies unread(kBodyBytes);
  const auto body = BodyOf(kBodyBytes);
  auto held = unread.Add(body);
  EXPECT_EQ(held.get(), body.get()) << "nothing is copied";
  held = nullptr;
  EXPECT_EQ(unread.bytes(), 0u);
  EXPECT_NE(unread.Add(BodyOf(kBodyBytes)), nullptr);
  EXPECT_EQ(unread.refused(), 0);
}

TEST(UnreadReplies, SharedBodyCountsOnce) {
  UnreadReplies unread(kBodyBytes);
  const auto shared = BodyOf(kBodyBytes);
  auto first = unread.Add(shared);
  auto second = unread.Add(shared);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(unread.bytes(), kBodyBytes);
  first = nullptr;
  EXPECT_EQ(unread.bytes(), kBodyBytes) << "the other client still has it";
  EXPECT_EQ(unread.Add(BodyOf(kBodyBytes)), nullptr) << "equal bytes are other bytes";
  second = nullptr;
  EXPECT_EQ(unread.bytes(), 0u);
}

TEST(UnreadReplies, SmallBodyIsNeverRefused) {
  UnreadReplies unread(0);
  EXPECT_NE(unread.Add(BodyOf(UnreadReplies::kLeastBytes - 1)), nullptr);
  EXPECT_EQ(unread.bytes(), 0u);
  EXPECT_EQ(unread.Add(BodyOf(UnreadReplies::kLeastBytes)), nullptr);
}

}  // namespace
}  // namespace gpuscaler
