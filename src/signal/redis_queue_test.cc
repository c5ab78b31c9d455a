#include "signal/redis_queue.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using Kind = RedisReply::Kind;
using Length = RedisQueue::Length;

RedisReply Number(int64_t number) { return {.kind = Kind::kInteger, .integer = number}; }
RedisReply Word(const std::string& word) { return {.kind = Kind::kText, .text = word}; }
RedisReply Error(const std::string& words) { return {.kind = Kind::kError, .text = words}; }
RedisReply ListOf(std::vector<RedisReply> replies) {
  return {.kind = Kind::kList, .list = std::move(replies)};
}

RedisQueue Jobs(Length length) {
  return {.address = "redis:6379", .length = length, .key = "jobs", .group = "workers"};
}

// As Redis 7.0 lists a group.
RedisReply Group(const std::string& name, const RedisReply& lag, int64_t pending = 0) {
  return ListOf({Word("name"), Word(name), Word("consumers"), Number(2), Word("pending"),
                 Number(pending), Word("last-delivered-id"), Word("17-3"), Word("entries-read"),
                 Number(2), Word("lag"), lag});
}

// Replies come as they do in life: the second round's after the step that asks for it.
absl::StatusOr<double> LengthAfter(Length length, const std::vector<RedisReply>& replies) {
  std::vector<RedisReply> told;
  RedisStep step = NextStep(Jobs(length), told);
  size_t next = 0;
  while (!step.ask.empty()) {
    for (size_t i = 0; i < step.ask.size(); ++i) told.push_back(replies.at(next++));
    step = NextStep(Jobs(length), told);
  }
  return step.length;
}

absl::StatusOr<double> LagAfter(const std::vector<RedisReply>& replies) {
  return LengthAfter(Length::kLag, replies);
}

TEST(RedisQueueStep, AsksWhatTheLengthTakes) {
  struct Case {
    Length length;
    std::vector<RedisCommand> want;
  };
  const Case cases[] = {
      {Length::kStream, {{"XLEN", "jobs"}}},
      {Length::kLag, {{"XLEN", "jobs"}, {"XINFO", "GROUPS", "jobs"}}},
      {Length::kPending, {{"XPENDING", "jobs", "workers"}}},
      {Length::kList, {{"LLEN", "jobs"}}},
  };
  for (const Case& each : cases) {
    std::vector<RedisReply> none;
    EXPECT_EQ(NextStep(Jobs(each.length), none).ask, each.want) << each.want[0][0];
  }
}

TEST(RedisQueueStep, RepliesTellTheLength) {
  const RedisReply pending = ListOf({Number(3), Word("1-0"), Word("9-0"), ListOf({})});
  EXPECT_EQ(*LengthAfter(Length::kStream, {Number(47)}), 47);
  EXPECT_EQ(*LengthAfter(Length::kList, {Number(0)}), 0);
  EXPECT_EQ(*LengthAfter(Length::kPending, {pending}), 3);
  EXPECT_EQ(
      *LagAfter({Number(47), ListOf({Group("others", Number(9)), Group("workers", Number(5))})}),
      5);
}

TEST(RedisQueueStep, StreamThatNobodyWroteToIsEmpty) {
  EXPECT_EQ(*LagAfter({Number(0), Error("ERR no such key")}), 0);
  EXPECT_EQ(*LengthAfter(Length::kPending, {Error("NOGROUP No such key 'jobs'")}), 0);
}

TEST(RedisQueueStep, EveryEntryWaitsForAGroupThatIsNotMadeYet) {
  EXPECT_EQ(*LagAfter({Number(47), ListOf({Group("others", Number(9))})}), 47);
}

TEST(RedisQueueStep, LagIsNeverMoreThanTheStreamHolds) {
  EXPECT_EQ(*LagAfter({Number(4), ListOf({Group("workers", Number(9))})}), 4);
}

TEST(RedisQueueStep, EntriesBehindTheLastOneReadAreCountedWhereLagIsNil) {
  const std::vector<RedisReply> replies = {Number(40), ListOf({Group("workers", {}, 6)})};
  std::vector<RedisReply> told = replies;
  const RedisStep step = NextStep(Jobs(Length::kLag), told);
  EXPECT_EQ(step.ask,
            (std::vector<RedisCommand>{{"XRANGE", "jobs", "(17-3", "+", "COUNT", "100"}}));
  const RedisReply entry = ListOf({Word("18-0"), ListOf({})});
  EXPECT_EQ(*LagAfter({replies[0], replies[1], ListOf({entry, entry})}), 2);
  EXPECT_EQ(*LagAfter({replies[0], replies[1], ListOf({})}), 0);
}

TEST(RedisQueueStep, LongQueueWithoutLagIsWhatNoWorkerHolds) {
  const RedisReply full = ListOf(std::vector<RedisReply>(kMostCounted));
  EXPECT_EQ(*LagAfter({Number(5000), ListOf({Group("workers", {}, 6)}), full}), 4994);
  EXPECT_EQ(*LagAfter({Number(110), ListOf({Group("workers", {}, 60)}), full}), 100);
}

TEST(RedisQueueStep, LagTakesRedis7) {
  const RedisReply old = ListOf({Word("name"), Word("workers"), Word("pending"), Number(1)});
  const absl::Status status = LagAfter({Number(4), ListOf({old})}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "Redis 7")) << status;
}

TEST(RedisQueueStep, ErrorsAreHandedOnAndNothingIsTakenForZero) {
  const RedisReply wrong = Error("WRONGTYPE Operation against a key");
  const std::vector<std::vector<RedisReply>> replies = {
      {wrong, wrong},           {Number(3), wrong},
      {Number(3), Number(3)},   {RedisReply(), RedisReply()},
      {Number(-1), ListOf({})}, {Number(3), ListOf({Group("workers", {})}), wrong}};
  for (const auto& each : replies) {
    EXPECT_EQ(LagAfter(each).status().code(), absl::StatusCode::kFailedPrecondition)
        << &each - &replies[0] << LagAfter(each).status();
  }
  for (const Length length : {Length::kStream, Length::kPending, Length::kList}) {
    for (const RedisReply& reply : {wrong, RedisReply(), Word("3"), ListOf({})}) {
      EXPECT_FALSE(LengthAfter(length, {reply}).ok());
    }
  }
}

}  // namespace
}  // namespace gpuscaler
