#include "redis/redis_queue.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using Kind = RedisReply::Kind;
using QueueLength = RedisQueue::Length;

RedisReply NumberReply(int64_t number) { return {.kind = Kind::kInteger, .integer = number}; }
RedisReply WordReply(const std::string& word) { return {.kind = Kind::kText, .text = word}; }
RedisReply ErrorReply(const std::string& words) { return {.kind = Kind::kError, .text = words}; }
RedisReply ListOf(std::vector<RedisReply> replies) {
  return {.kind = Kind::kList, .list = std::move(replies)};
}

RedisQueue Jobs(QueueLength length) {
  return {.address = "redis:6379", .length = length, .key = "jobs", .group = "workers"};
}

// As Redis 7.0 lists a group.
RedisReply GroupReply(const std::string& name, const RedisReply& lag, int64_t pending = 0) {
  return ListOf({WordReply("name"), WordReply(name), WordReply("consumers"), NumberReply(2),
                 WordReply("pending"), NumberReply(pending), WordReply("last-delivered-id"),
                 WordReply("17-3"), WordReply("entries-read"), NumberReply(2), WordReply("lag"),
                 lag});
}

// Replies come as they do in life: the second round's after the step that asks for it.
absl::StatusOr<double> LengthAfter(QueueLength length, const std::vector<RedisReply>& replies) {
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
  return LengthAfter(QueueLength::kLag, replies);
}

TEST(RedisQueueStep, AsksWhatTheLengthTakes) {
  struct Case {
    QueueLength length;
    std::vector<RedisCommand> want;
  };
  const Case cases[] = {
      {QueueLength::kStream, {{"XLEN", "jobs"}}},
      {QueueLength::kLag, {{"XLEN", "jobs"}, {"XINFO", "GROUPS", "jobs"}}},
      {QueueLength::kPending, {{"XPENDING", "jobs", "workers"}}},
      {QueueLength::kList, {{"LLEN", "jobs"}}},
  };
  for (const Case& each : cases) {
    std::vector<RedisReply> none;
    EXPECT_EQ(NextStep(Jobs(each.length), none).ask, each.want) << each.want[0][0];
  }
}

TEST(RedisQueueStep, RepliesTellTheLength) {
  const RedisReply pending =
      ListOf({NumberReply(3), WordReply("1-0"), WordReply("9-0"), ListOf({})});
  EXPECT_EQ(*LengthAfter(QueueLength::kStream, {NumberReply(47)}), 47);
  EXPECT_EQ(*LengthAfter(QueueLength::kList, {NumberReply(0)}), 0);
  EXPECT_EQ(*LengthAfter(QueueLength::kPending, {pending}), 3);
  EXPECT_EQ(*LagAfter({NumberReply(47), ListOf({GroupReply("others", NumberReply(9)),
                                                GroupReply("workers", NumberReply(5))})}),
            5);
}

TEST(RedisQueueStep, StreamThatNobodyWroteToIsEmpty) {
  EXPECT_EQ(*LagAfter({NumberReply(0), ErrorReply("ERR no such key")}), 0);
  EXPECT_EQ(*LengthAfter(QueueLength::kPending, {ErrorReply("NOGROUP No such key 'jobs'")}), 0);
}

TEST(RedisQueueStep, EveryEntryWaitsForAGroupThatIsNotMadeYet) {
  EXPECT_EQ(*LagAfter({NumberReply(47), ListOf({GroupReply("others", NumberReply(9))})}), 47);
}

TEST(RedisQueueStep, LagIsNeverMoreThanTheStreamHolds) {
  EXPECT_EQ(*LagAfter({NumberReply(4), ListOf({GroupReply("workers", NumberReply(9))})}), 4);
}

TEST(RedisQueueStep, EntriesBehindTheLastOneReadAreCountedWhereLagIsNil) {
  const std::vector<RedisReply> replies = {NumberReply(40), ListOf({GroupReply("workers", {}, 6)})};
  std::vector<RedisReply> told = replies;
  const RedisStep step = NextStep(Jobs(QueueLength::kLag), told);
  EXPECT_EQ(step.ask,
            (std::vector<RedisCommand>{{"XRANGE", "jobs", "(17-3", "+", "COUNT", "100"}}));
  const RedisReply entry = ListOf({WordReply("18-0"), ListOf({})});
  EXPECT_EQ(*LagAfter({replies[0], replies[1], ListOf({entry, entry})}), 2);
  EXPECT_EQ(*LagAfter({replies[0], replies[1], ListOf({})}), 0);
}

TEST(RedisQueueStep, LongQueueWithoutLagIsWhatNoWorkerHolds) {
  const RedisReply full = ListOf(std::vector<RedisReply>(kMostCounted));
  EXPECT_EQ(*LagAfter({NumberReply(5000), ListOf({GroupReply("workers", {}, 6)}), full}), 4994);
  EXPECT_EQ(*LagAfter({NumberReply(110), ListOf({GroupReply("workers", {}, 60)}), full}), 100);
}

TEST(RedisQueueStep, LagTakesRedis7) {
  const RedisReply old =
      ListOf({WordReply("name"), WordReply("workers"), WordReply("pending"), NumberReply(1)});
  const absl::Status status = LagAfter({NumberReply(4), ListOf({old})}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "Redis 7")) << status;
}

TEST(RedisQueueStep, ErrorsAreHandedOnAndNothingIsTakenForZero) {
  const RedisReply wrong = ErrorReply("WRONGTYPE Operation against a key");
  const std::vector<std::vector<RedisReply>> replies = {
      {wrong, wrong},
      {NumberReply(3), wrong},
      {NumberReply(3), NumberReply(3)},
      {RedisReply(), RedisReply()},
      {NumberReply(-1), ListOf({})},
      {NumberReply(3), ListOf({GroupReply("workers", {})}), wrong}};
  for (const auto& each : replies) {
    EXPECT_EQ(LagAfter(each).status().code(), absl::StatusCode::kFailedPrecondition)
        << &each - &replies[0] << LagAfter(each).status();
  }
  for (const QueueLength length :
       {QueueLength::kStream, QueueLength::kPending, QueueLength::kList}) {
    for (const RedisReply& reply : {wrong, RedisReply(), WordReply("3"), ListOf({})}) {
      EXPECT_FALSE(LengthAfter(length, {reply}).ok());
    }
  }
}

}  // namespace
}  // namespace gpuscaler
