#include "signal/redis_read_marks.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

StreamId IdAt(uint64_t milliseconds) { return {.milliseconds = milliseconds}; }

TEST(RedisReadMarks, IdsAreTwoNumbersInOrder) {
  EXPECT_EQ(ParseStreamId("17-3"), (StreamId{.milliseconds = 17, .sequence = 3}));
  EXPECT_LT(*ParseStreamId("9-8"), *ParseStreamId("10-0"));
  EXPECT_LT(*ParseStreamId("9-9"), *ParseStreamId("9-10"));
  EXPECT_TRUE(ParseStreamId("18446744073709551615-18446744073709551615").has_value());
  for (const char* const none :
       {"", "-", "17", "17-", "-3", "17-3-1", "x-1", "1-x", "18446744073709551616-0"}) {
    EXPECT_FALSE(ParseStreamId(none).has_value()) << none;
  }
}

TEST(RedisReadMarks, LastMarkUpToTheIdCounts) {
  RedisReadMarks marks;
  marks.Record(IdAt(10), 100);
  marks.Record(IdAt(20), 200);
  marks.Record(IdAt(30), 300);
  EXPECT_EQ(marks.AddedUpTo(IdAt(9)), std::nullopt);
  EXPECT_EQ(marks.AddedUpTo(IdAt(10)), 100);
  EXPECT_EQ(marks.AddedUpTo(IdAt(29)), 200);
  EXPECT_EQ(marks.AddedUpTo(IdAt(1000)), 300);
  EXPECT_EQ(marks.size(), 1U) << "groups read on";
}

TEST(RedisReadMarks, RecreatedStreamDropsOldMarks) {
  RedisReadMarks marks;
  marks.Record(IdAt(10), 100);
  marks.Record(IdAt(20), 5);
  EXPECT_EQ(marks.AddedUpTo(IdAt(15)), std::nullopt);
  EXPECT_EQ(marks.AddedUpTo(IdAt(20)), 5);
  marks.Record(IdAt(1), 9);
  EXPECT_EQ(marks.AddedUpTo(IdAt(20)), 9) << "ids of its own begin anew, too";
}

TEST(RedisReadMarks, EveryOtherMarkIsKeptAtTheLimit) {
  RedisReadMarks marks;
  for (int i = 0; i < 100'000; ++i) marks.Record(IdAt(static_cast<uint64_t>(i)), i);
  EXPECT_LE(marks.size(), 256U);
  const std::optional<int64_t> added = marks.AddedUpTo(IdAt(99'999));
  ASSERT_TRUE(added.has_value());
  EXPECT_GT(*added, 99'000);
  EXPECT_LE(*added, 99'999);
}

}  // namespace
}  // namespace gpuscaler
