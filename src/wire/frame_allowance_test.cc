#include "wire/frame_allowance.h"

#include <string>

#include "gtest/gtest.h"
#include "wire/test_frames.h"

namespace gpuscaler {
namespace {

void Read(FrameAllowance& allowance, const std::string& bytes) {
  allowance.Read(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

int Left(FrameAllowance allowance) {
  int left = 0;
  for (; !allowance.is_spent(); ++left) allowance.Spend();
  return left - 1;
}

TEST(FrameAllowance, SpendsOneForEachFrame) {
  FrameAllowance allowance(10, kPreface.size());
  Read(allowance, absl::StrCat(kPreface, Encode({.type = FrameType::kSettings})));
  EXPECT_EQ(Left(allowance), 9);
  const std::string ping = Encode({FrameType::kPing, 0, 0, std::string(8, 'x')});
  Read(allowance, ping + ping + Encode({}));
  EXPECT_EQ(Left(allowance), 6);
}

TEST(FrameAllowance, SpendsNothingForDataThatMayHaveAMessage) {
  FrameAllowance allowance(10, 0);
  Read(allowance, DataFrame(1, "") + DataFrame(1, "x"));
  EXPECT_EQ(Left(allowance), 10);
  Read(allowance, Encode({FrameType::kData, 0, 1, "1234"}) +
                      Encode({FrameType::kData, kPadded, 1, std::string(8, '\x7')}));
  EXPECT_EQ(Left(allowance), 8);
}

TEST(FrameAllowance, EarnsFramesThatServeACall) {
  struct Case {
    const char* name;
    Frame frame;
    size_t padding;
    bool serves;
  };
  for (const Case& each :
       {Case{"HEADERS", {FrameType::kHeaders, kEndHeaders, 1, "x"}, 0, true},
        Case{"a message", {FrameType::kData, 0, 1, "12345"}, 0, true},
        Case{"less than a message", {FrameType::kData, 0, 1, "1234"}, 0, false},
        Case{"the last DATA", {FrameType::kData, kEndStream, 1, ""}, 0, true},
        Case{"a padded message", {FrameType::kData, kPadded, 1, std::string(8, '\x2')}, 3, true},
        Case{"padding", {FrameType::kData, kPadded, 1, std::string(8, '\x7')}, 8, false},
        Case{"PING", {FrameType::kPing, 0, 0, std::string(8, 'x')}, 0, false}}) {
    SCOPED_TRACE(each.name);
    FrameAllowance allowance(10, 0);
    Read(allowance, Encode(each.frame));
    nghttp2_frame frame = {};
    frame.hd = {.length = each.frame.payload.size(),
                .stream_id = 1,
                .type = static_cast<uint8_t>(each.frame.type),
                .flags = each.frame.flags,
                .reserved = 0};
    frame.data.padlen = each.padding;
    EXPECT_EQ(allowance.Accept(frame), each.serves);
    EXPECT_EQ(Left(allowance), each.serves ? 10 : 9);
  }
}

TEST(FrameAllowance, SpendsTheSameForFramesInPieces) {
  FrameAllowance allowance(10, 0);
  for (const char byte : DataFrame(1, std::string(1'000, 'x')) + Encode({}) + Encode({})) {
    Read(allowance, std::string(1, byte));
  }
  EXPECT_EQ(Left(allowance), 8);
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

TEST(FrameAllowance, RefillsAfterItIsSpent) {
  FrameAllowance allowance(2, 0);
  for (int i = 0; i < 3; ++i) allowance.Spend();
  EXPECT_TRUE(allowance.is_spent());
  allowance.Refill();
  EXPECT_EQ(Left(allowance), 2);
}

}  // namespace
}  // namespace gpuscaler
