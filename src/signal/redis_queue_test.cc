#include "signal/redis_queue.h"

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

// A group in the format of Redis 7.0.
RedisReply GroupReply(const std::string& name, const RedisReply& lag, int64_t pending = 0,
                      const RedisReply& entries_read = NumberReply(2),
                      const std::string& last = "17-3") {
  return ListOf({WordReply("name"), WordReply(name), WordReply("consumers"), NumberReply(2),
                 WordReply("pending"), NumberReply(pending), WordReply("last-delivered-id"),
                 WordReply(last), WordReply("entries-read"), entries_read, WordReply("lag"), lag});
}

// A group without a lag.
RedisReply GroupWithoutLag(int64_t pending = 0, const std::string& last = "17-3") {
  return GroupReply("workers", {}, pending, {}, last);
}

RedisReply EntryReply(const std::string& id, size_t bytes = 5) {
  return ListOf({WordReply(id), ListOf({WordReply("prompt"), WordReply(std::string(bytes, 'x'))})});
}

RedisReply EntriesReply(int entries) {
  return ListOf(std::vector<RedisReply>(static_cast<size_t>(entries), EntryReply("18-0")));
}

RedisReply StreamReply(int64_t added, const std::string& end, const RedisReply& last) {
  return ListOf({WordReply("length"), NumberReply(3), WordReply("last-generated-id"),
                 WordReply(end), WordReply("entries-added"), NumberReply(added),
                 WordReply("first-entry"), EntryReply("1-0"), WordReply("last-entry"), last});
}
RedisReply StreamReply(int64_t added, const std::string& end = "99-0") {
  return StreamReply(added, end, EntryReply(end));
}

// Passes the replies round by round, as NextStep() requests them.
absl::StatusOr<double> LengthAfter(QueueLength length, const std::vector<RedisReply>& replies,
                                   RedisReadMarks& marks) {
  std::vector<RedisReply> received;
  RedisLag lag;
  RedisStep step = NextStep(Jobs(length), received, lag, marks);
  size_t next = 0;
  while (!step.commands.empty()) {
    for (size_t i = 0; i < step.commands.size(); ++i) received.push_back(replies.at(next++));
    step = NextStep(Jobs(length), received, lag, marks);
  }
  EXPECT_EQ(next, replies.size()) << "no more commands";
  return step.length;
}

absl::StatusOr<double> LengthAfter(QueueLength length, const std::vector<RedisReply>& replies) {
  RedisReadMarks marks;
  return LengthAfter(length, replies, marks);
}

std::vector<RedisCommand> CommandsAfter(const std::vector<std::vector<RedisReply>>& rounds) {
  std::vector<RedisReply> received;
  RedisLag lag;
  RedisReadMarks marks;
  RedisStep step = NextStep(Jobs(QueueLength::kLag), received, lag, marks);
  for (const std::vector<RedisReply>& round : rounds) {
    received.insert(received.end(), round.begin(), round.end());
    step = NextStep(Jobs(QueueLength::kLag), received, lag, marks);
  }
  return step.commands;
}

absl::StatusOr<double> LagAfter(const std::vector<RedisReply>& replies) {
  return LengthAfter(QueueLength::kLag, replies);
}

TEST(RedisQueueStep, FirstCommandsDependOnTheLength) {
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
    RedisLag lag;
    RedisReadMarks marks;
    EXPECT_EQ(NextStep(Jobs(each.length), none, lag, marks).commands, each.want) << each.want[0][0];
  }
}

TEST(RedisQueueStep, RepliesYieldTheLength) {
  const RedisReply pending =
      ListOf({NumberReply(3), WordReply("1-0"), WordReply("9-0"), ListOf({})});
  EXPECT_EQ(*LengthAfter(QueueLength::kStream, {NumberReply(47)}), 47);
  EXPECT_EQ(*LengthAfter(QueueLength::kList, {NumberReply(0)}), 0);
  EXPECT_EQ(*LengthAfter(QueueLength::kPending, {pending}), 3);
  EXPECT_EQ(*LagAfter({NumberReply(47), ListOf({GroupReply("others", NumberReply(9)),
                                                GroupReply("workers", NumberReply(5))})}),
            5);
}

TEST(RedisQueueStep, MissingStreamIsEmpty) {
  EXPECT_EQ(*LagAfter({NumberReply(0), ErrorReply("ERR no such key")}), 0);
  EXPECT_EQ(*LengthAfter(QueueLength::kPending, {ErrorReply("NOGROUP No such key 'jobs'")}), 0);
}

TEST(RedisQueueStep, AllEntriesWaitForAMissingGroup) {
  EXPECT_EQ(*LagAfter({NumberReply(47), ListOf({GroupReply("others", NumberReply(9))})}), 47);
}

std::string NoteAfter(QueueLength length, std::vector<RedisReply> replies) {
  RedisLag lag;
  RedisReadMarks marks;
  return NextStep(Jobs(length), replies, lag, marks).note;
}

TEST(RedisQueueStep, MissingGroupIsReportedWithTheExistingOnes) {
  const auto lag = [](const std::vector<std::string>& names) {
    std::vector<RedisReply> groups;
    for (const std::string& name : names) groups.push_back(GroupReply(name, NumberReply(9)));
    return NoteAfter(QueueLength::kLag, {NumberReply(47), ListOf(groups)});
  };
  EXPECT_EQ(lag({"a", "workers"}), "");
  EXPECT_EQ(lag({}), "stream jobs has no group workers, nor any other: all its entries wait");
  EXPECT_EQ(lag({"wrokers", "b"}),
            "stream jobs has no group workers, but wrokers, b: all its entries wait");
  EXPECT_EQ(lag({"1", "2", "3", "4", "5", "6", "7"}),
            "stream jobs has no group workers, but 1, 2, 3, 4, 5 and 2 more: all its entries wait");
  EXPECT_EQ(lag({"\x1b[2J", std::string(100'000, 'x')}).find('\x1b'), std::string::npos);
  EXPECT_LT(lag(std::vector<std::string>(20, std::string(100'000, 'x'))).size(), 500U);
  EXPECT_EQ(NoteAfter(QueueLength::kPending, {ErrorReply("NOGROUP No such key 'jobs'")}),
            "stream jobs has no group workers: none of its entries is pending");
}

TEST(RedisQueueStep, LagIsAtMostTheStreamLength) {
  EXPECT_EQ(*LagAfter({NumberReply(4), ListOf({GroupReply("workers", NumberReply(9))})}), 4);
}

TEST(RedisQueueStep, EntriesAfterTheLastReadAreCountedIfLagIsNil) {
  const std::vector<RedisReply> first = {NumberReply(40), ListOf({GroupWithoutLag(6)})};
  EXPECT_EQ(CommandsAfter({first}), (std::vector<RedisCommand>{{"XINFO", "STREAM", "jobs"}}));
  EXPECT_EQ(CommandsAfter({first, {StreamReply(50)}}),
            (std::vector<RedisCommand>{{"XRANGE", "jobs", "(17-3", "+", "COUNT", "100"}}));
  EXPECT_EQ(*LagAfter({first[0], first[1], StreamReply(50), EntriesReply(2)}), 2);
  EXPECT_EQ(*LagAfter({first[0], first[1], StreamReply(50), EntriesReply(0)}), 0);
}

TEST(RedisQueueStep, LongLagWithACancelledEntryIsAtMostWhatWasAdded) {
  // 10,000 done and kept, 150 new ones, one of those deleted.
  const RedisReply group = GroupReply("workers", {}, 0, NumberReply(10'000));
  EXPECT_EQ(*LagAfter({NumberReply(10'149), ListOf({group}), StreamReply(10'150)}), 150);
}

TEST(RedisQueueStep, ShortLagWithCancelledEntriesIsCounted) {
  const RedisReply group = GroupReply("workers", {}, 0, NumberReply(20));
  EXPECT_EQ(*LagAfter({NumberReply(28), ListOf({group}), StreamReply(30), EntriesReply(8)}), 8);
}

TEST(RedisQueueStep, LagIsZeroIfTheLastEntryWasRead) {
  const RedisReply group = GroupReply("workers", {}, 0, NumberReply(20));
  for (const RedisReply& last : {EntryReply("17-3"), RedisReply()}) {
    EXPECT_EQ(*LagAfter({NumberReply(20), ListOf({group}), StreamReply(500, "99-0", last)}), 0);
  }
}

TEST(RedisQueueStep, EarlierReadingsBoundAnUnreportedLag) {
  RedisReadMarks marks;
  const auto lag = [&](const std::vector<RedisReply>& replies) {
    return *LengthAfter(QueueLength::kLag, replies, marks);
  };
  const RedisReply before = GroupReply("workers", NumberReply(150), 0, NumberReply(10'000));
  EXPECT_EQ(lag({NumberReply(10'150), ListOf({before})}), 150);
  EXPECT_EQ(lag({NumberReply(10'149), ListOf({GroupWithoutLag()}), StreamReply(10'150)}), 150);
  EXPECT_EQ(lag({NumberReply(10'249), ListOf({GroupWithoutLag()}), StreamReply(10'250)}), 250);
  const RedisReply read_on = ListOf({GroupWithoutLag(0, "18-0")});
  const RedisReply full = EntriesReply(kMaxRangeEntries);
  EXPECT_EQ(lag({NumberReply(10'249), read_on, StreamReply(10'250), full}), 250) << "at most";
  EXPECT_EQ(lag({NumberReply(10'249), read_on, StreamReply(10'250), EntriesReply(88)}), 88);
}

TEST(RedisQueueStep, GroupCreatedAtTheEndHasReadTheStream) {
  RedisReadMarks marks;
  const auto lag = [&](const std::vector<RedisReply>& replies) {
    return *LengthAfter(QueueLength::kLag, replies, marks);
  };
  const RedisReply made = GroupReply("workers", NumberReply(0), 0, {});
  EXPECT_EQ(lag({NumberReply(10'000), ListOf({made}), StreamReply(10'000, "17-3")}), 0);
  EXPECT_EQ(lag({NumberReply(10'000), ListOf({made})}), 0) << "once is enough";
  EXPECT_EQ(lag({NumberReply(10'150), ListOf({GroupWithoutLag()}), StreamReply(10'150)}), 150);
}

TEST(RedisQueueStep, LongUnboundedLagIsWhatIsNotPending) {
  const RedisReply full = EntriesReply(kMaxRangeEntries);
  EXPECT_EQ(*LagAfter({NumberReply(5000), ListOf({GroupWithoutLag(6)}), StreamReply(9000), full}),
            4994);
  EXPECT_EQ(*LagAfter({NumberReply(110), ListOf({GroupWithoutLag(60)}), StreamReply(9000), full}),
            100);
}

TEST(RedisQueueStep, FewerLargeEntriesAreListedAtOnce) {
  const RedisReply large = StreamReply(50, "99-0", EntryReply("99-0", 100'000));
  const std::vector<RedisReply> first = {NumberReply(40), ListOf({GroupWithoutLag(6)})};
  EXPECT_EQ(CommandsAfter({first, {large}}).at(0).back(), "10") << "1 MiB of them";
  const RedisReply huge = StreamReply(50, "99-0", EntryReply("99-0", 3'000'000));
  EXPECT_EQ(CommandsAfter({first, {huge}}).at(0).back(), "1");
  EXPECT_EQ(*LagAfter({first[0], first[1], huge, EntriesReply(1)}), 34);
}

TEST(RedisQueueStep, OneEntryIsCountedIfTwoExceedAReply) {
  RedisReadMarks marks;
  RecordUnreadable(1, marks);
  EXPECT_FALSE(marks.is_stream_info_too_large()) << "XINFO GROUPS was too large";
  RecordUnreadable(2, marks);
  const auto lag = [&](const std::vector<RedisReply>& replies) {
    return *LengthAfter(QueueLength::kLag, replies, marks);
  };
  EXPECT_EQ(lag({NumberReply(40), ListOf({GroupWithoutLag(6)}), EntriesReply(0)}), 0);
  EXPECT_EQ(lag({NumberReply(40), ListOf({GroupWithoutLag(6)}), EntriesReply(1)}), 34);
  EXPECT_EQ(lag({NumberReply(40), ListOf({GroupReply("workers", NumberReply(0), 0, {})})}), 0);
}

TEST(RedisQueueStep, StreamWithoutEntriesAddedIsCounted) {
  const RedisReply group = GroupReply("workers", {}, 6, NumberReply(20));
  EXPECT_EQ(*LagAfter({NumberReply(40), ListOf({group}), ListOf({}), EntriesReply(3)}), 3);
}

TEST(RedisQueueStep, LagNeedsRedis7) {
  const RedisReply old =
      ListOf({WordReply("name"), WordReply("workers"), WordReply("pending"), NumberReply(1)});
  const absl::Status status = LagAfter({NumberReply(4), ListOf({old})}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "Redis 7")) << status;
}

TEST(RedisQueueStep, ErrorsAreReturnedAndNotZero) {
  const RedisReply wrong = ErrorReply("WRONGTYPE Operation against a key");
  const std::vector<std::vector<RedisReply>> replies = {
      {wrong, wrong},
      {NumberReply(3), wrong},
      {NumberReply(3), NumberReply(3)},
      {RedisReply(), RedisReply()},
      {NumberReply(-1), ListOf({})},
      {NumberReply(3), ListOf({GroupWithoutLag()}), wrong},
      {NumberReply(3), ListOf({GroupWithoutLag()}), NumberReply(3)},
      {NumberReply(3), ListOf({GroupWithoutLag()}), StreamReply(9), wrong},
      {NumberReply(3), ListOf({GroupWithoutLag()}), StreamReply(9), NumberReply(1)}};
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
