#include "signal/redis_reader.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "signal/test_redis_reading.h"

namespace gpuscaler {
namespace {

// Adds `jobs` entries and returns their ids.
std::vector<std::string> FillStream(const TestRedis& redis, int jobs) {
  std::vector<std::string> ids;
  for (int i = 0; i < jobs; ++i) {
    ids.push_back(redis.Do({"XADD", "jobs", "*", "prompt", "hello"}).text);
  }
  return ids;
}

void ReadAs(const TestRedis& redis, const std::string& worker, int jobs) {
  redis.Do({"XREADGROUP", "GROUP", "workers", worker, "COUNT", absl::StrCat(jobs), "STREAMS",
            "jobs", ">"});
}

// Waits for the first reading.
TestReading::Length LengthOf(const TestRedis& redis, QueueLength length) {
  TestReading reading;
  const RedisTarget target = TargetOf(redis, length);
  reading.reader().Replace({target});
  return reading.Next(target.source);
}

TEST(RedisReader, ReadsLengthsOfEveryKind) {
  const TestRedis redis;
  FillStream(redis, 47);
  redis.Do({"XGROUP", "CREATE", "jobs", "workers", "0"});
  ReadAs(redis, "one", 5);
  redis.Do({"LPUSH", "list", "a", "b", "c"});
  TestReading reading;
  const std::vector<RedisTarget> targets = {
      TargetOf(redis, QueueLength::kStream), TargetOf(redis, QueueLength::kLag),
      TargetOf(redis, QueueLength::kPending), TargetOf(redis, QueueLength::kList, "list")};
  reading.reader().Replace(targets);
  const double want[] = {47, 42, 5, 3};
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto length = reading.AwaitLength(targets[i].source, want[i]);
    ASSERT_TRUE(length.ok()) << i << length.status();
    EXPECT_EQ(*length, want[i]) << i;
  }
}

TEST(RedisReader, MissingKeyIsEmpty) {
  const TestRedis redis;
  for (const QueueLength length :
       {QueueLength::kStream, QueueLength::kLag, QueueLength::kPending, QueueLength::kList}) {
    const auto read = LengthOf(redis, length);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, 0);
  }
}

TEST(RedisReader, AllEntriesWaitForAGroupCreatedByItsWorkers) {
  const TestRedis redis;
  FillStream(redis, 47);
  EXPECT_EQ(*LengthOf(redis, QueueLength::kLag), 47);
  EXPECT_EQ(*LengthOf(redis, QueueLength::kPending), 0);
}

TEST(RedisReader, MissingGroupIsReported) {
  const TestRedis redis;
  FillStream(redis, 3);
  redis.Do({"XGROUP", "CREATE", "jobs", "worker", "0"});
  TestReading reading;
  const RedisTarget lag = TargetOf(redis, QueueLength::kLag);
  reading.reader().Replace({lag});
  EXPECT_EQ(*reading.Next(lag.source), 3);
  EXPECT_EQ(reading.NoteOf(lag.source),
            "stream jobs has no group workers, but worker: all its entries wait");
  redis.Do({"XGROUP", "CREATE", "jobs", "workers", "$"});
  EXPECT_EQ(*reading.AwaitLength(lag.source, 0), 0);
  EXPECT_EQ(reading.NoteOf(lag.source), "");
}

TEST(RedisReader, LagFallsOnReadAndPendingOnAcknowledge) {
  const TestRedis redis;
  const std::vector<std::string> ids = FillStream(redis, 10);
  redis.Do({"XGROUP", "CREATE", "jobs", "workers", "0"});
  ReadAs(redis, "one", 4);
  EXPECT_EQ(*LengthOf(redis, QueueLength::kStream), 10);
  EXPECT_EQ(*LengthOf(redis, QueueLength::kLag), 6);
  EXPECT_EQ(*LengthOf(redis, QueueLength::kPending), 4);
  redis.Do({"XACK", "jobs", "workers", ids[0], ids[1], ids[2]});
  EXPECT_EQ(*LengthOf(redis, QueueLength::kLag), 6);
  EXPECT_EQ(*LengthOf(redis, QueueLength::kPending), 1);
}

TEST(RedisReader, LagIsKnownAfterDeletesOutOfOrder) {
  const TestRedis redis;
  const std::vector<std::string> ids = FillStream(redis, 10);
  redis.Do({"XGROUP", "CREATE", "jobs", "workers", "0"});
  ReadAs(redis, "slow", 1);
  ReadAs(redis, "quick", 1);
  redis.Do({"XACK", "jobs", "workers", ids[1]});
  redis.Do({"XDEL", "jobs", ids[1]});
  const RedisReply group = redis.Do({"XINFO", "GROUPS", "jobs"}).list.at(0);
  ASSERT_EQ(group.list.back().kind, RedisReply::Kind::kNil) << "Redis reports the lag again";
  EXPECT_EQ(*LengthOf(redis, QueueLength::kLag), 8);
  redis.Do({"XDEL", "jobs", ids[5]});  // a job that was cancelled
  EXPECT_EQ(*LengthOf(redis, QueueLength::kLag), 7);
}

TEST(RedisReader, LongQueueWithUnknownLagIsWhatIsNotPending) {
  const TestRedis redis;
  const std::vector<std::string> ids = FillStream(redis, 500);
  redis.Do({"XGROUP", "CREATE", "jobs", "workers", "0"});
  ReadAs(redis, "slow", 1);
  ReadAs(redis, "quick", 1);
  redis.Do({"XACK", "jobs", "workers", ids[1]});
  redis.Do({"XDEL", "jobs", ids[1]});
  EXPECT_EQ(*LengthOf(redis, QueueLength::kLag), 498);
}

// The lag of a stream that keeps finished entries, after one entry was cancelled.
TEST(RedisReader, CancelledEntryDoesNotCountFinishedOnes) {
  const TestRedis redis;
  FillStream(redis, 500);
  redis.Do({"XGROUP", "CREATE", "jobs", "workers", "0"});
  ReadAs(redis, "one", 500);
  const std::vector<std::string> ids = FillStream(redis, 150);
  TestReading reading;
  const RedisTarget target = TargetOf(redis, QueueLength::kLag);
  reading.reader().Replace({target});
  EXPECT_EQ(*reading.Next(target.source), 150);
  redis.Do({"XDEL", "jobs", ids[100]});
  EXPECT_EQ(*reading.Next(target.source), 150) << "149, not reported by Redis";
  ReadAs(redis, "one", 1);
  const RedisReply group = redis.Do({"XINFO", "GROUPS", "jobs"}).list.at(0);
  ASSERT_EQ(group.list.at(9).kind, RedisReply::Kind::kNil) << "Redis reports entries-read now";
  EXPECT_EQ(*reading.Next(target.source), 150);
  ReadAs(redis, "one", 60);
  EXPECT_EQ(*reading.AwaitLength(target.source, 88), 88);
}

TEST(RedisReader, GroupCreatedAtTheEndHasOnlyNewEntries) {
  const TestRedis redis;
  FillStream(redis, 500);
  redis.Do({"XGROUP", "CREATE", "jobs", "workers", "$"});
  TestReading reading;
  const RedisTarget target = TargetOf(redis, QueueLength::kLag);
  reading.reader().Replace({target});
  EXPECT_EQ(*reading.Next(target.source), 0);
  FillStream(redis, 150);
  EXPECT_EQ(*reading.AwaitLength(target.source, 150), 150);
}

TEST(RedisReader, LagOfLargeEntriesIsCounted) {
  const TestRedis redis;
  FillStream(redis, 2);
  redis.Do({"XGROUP", "CREATE", "jobs", "workers", "$"});
  for (int i = 0; i < 120; ++i) {
    redis.Do({"XADD", "jobs", "*", "image", std::string(50'000, 'x')});
  }
  const auto length = LengthOf(redis, QueueLength::kLag);
  ASSERT_TRUE(length.ok()) << length.status();
  EXPECT_EQ(*length, 122) << "more than may be listed: all that no worker holds";
  for (int i = 0; i < 11; ++i) ReadAs(redis, "one", 10);
  EXPECT_EQ(*LengthOf(redis, QueueLength::kLag), 10);
}

TEST(RedisReader, EntriesLargerThanHalfAReplyAreNotZero) {
  const TestRedis redis;
  const std::string image(2'500'000, 'x');
  for (int i = 0; i < 2; ++i) redis.Do({"XADD", "jobs", "*", "image", image});
  redis.Do({"XGROUP", "CREATE", "jobs", "workers", "$"});
  redis.Do({"XADD", "jobs", "*", "image", image});
  TestReading reading;
  const RedisTarget target = TargetOf(redis, QueueLength::kLag);
  reading.reader().Replace({target});
  const auto length =
      reading.Await(target.source, [](const TestReading::Length& read) { return read.ok(); });
  ASSERT_TRUE(length.ok()) << length.status();
  EXPECT_EQ(*length, 3) << "all that no worker holds";
}

TEST(RedisReader, KeyOfAnotherTypeIsAnError) {
  const TestRedis redis;
  redis.Do({"SET", "jobs", "1"});
  for (const QueueLength length :
       {QueueLength::kStream, QueueLength::kLag, QueueLength::kPending, QueueLength::kList}) {
    const absl::Status status = LengthOf(redis, length).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "another type")) << status;
    EXPECT_TRUE(absl::StartsWith(status.message(),
                                 absl::StrCat("localhost:", redis.port(), " (127.0.0.1): ")))
        << status;
  }
}

TEST(RedisReader, DatabaseIsSelected) {
  const TestRedis redis;
  redis.Do({"LPUSH", "jobs", "a"});
  redis.Do({"COPY", "jobs", "jobs", "DB", "3"});
  redis.Do({"LPUSH", "jobs", "b"});
  TestReading reading;
  RedisTarget target = TargetOf(redis, QueueLength::kList);
  target.server.database = 3;
  reading.reader().Replace({target});
  EXPECT_EQ(*reading.Next(target.source), 1);
  target.server.database = 99;
  reading.reader().Replace({target});
  const absl::Status status =
      reading.AwaitFailure(target.source, absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "redisDatabase")) << status;
}

TEST(RedisReader, PasswordsAndUsersAreSent) {
  const TestRedis redis({"--requirepass", "geheim"});
  redis.Do({"LPUSH", "jobs", "a"});
  redis.Do({"ACL", "SETUSER", "scaler", "on", ">secret", "~jobs", "+llen"});
  redis.Do({"ACL", "SETUSER", "idle", "on", ">secret", "~jobs", "+ping"});
  struct Case {
    std::string username;
    std::string password;
    absl::StatusCode want;
    std::string says;
  };
  const Case cases[] = {
      {"", "geheim", absl::StatusCode::kOk, ""},
      {"scaler", "secret", absl::StatusCode::kOk, ""},
      {"", "", absl::StatusCode::kPermissionDenied, "requires a password"},
      {"", "geheimer", absl::StatusCode::kPermissionDenied, "refuses"},
      {"scaler", "geheim", absl::StatusCode::kPermissionDenied, "refuses"},
      {"nobody", "secret", absl::StatusCode::kPermissionDenied, "refuses"},
      {"idle", "secret", absl::StatusCode::kPermissionDenied, "llen"},
  };
  for (const Case& each : cases) {
    TestReading reading;
    RedisTarget target = TargetOf(redis, QueueLength::kList);
    target.server.username = each.username;
    target.server.password = each.password;
    reading.reader().Replace({target});
    const absl::Status status = reading.Next(target.source).status();
    EXPECT_EQ(status.code(), each.want) << each.username << status;
    EXPECT_TRUE(absl::StrContains(status.message(), each.says)) << each.username << status;
    EXPECT_FALSE(absl::StrContains(status.ToString(), "geheim")) << status;
  }
}

TEST(RedisReader, UnneededPasswordIsReported) {
  const TestRedis redis;
  TestReading reading;
  RedisTarget target = TargetOf(redis, QueueLength::kList);
  target.server.password = "geheim";
  reading.reader().Replace({target});
  const absl::Status status = reading.Next(target.source).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "has no password")) << status;
}

// Returns "connected_clients:3" from INFO; one of them is the caller.
int Clients(const TestRedis& redis) {
  const std::string list = redis.Do({"CLIENT", "LIST", "TYPE", "normal"}).text;
  return static_cast<int>(std::ranges::count(list, '\n')) - 1;
}

TEST(RedisReader, QueuesOfOneServerShareAConnection) {
  const TestRedis redis;
  TestReading reading;
  std::vector<RedisTarget> targets;
  for (int i = 0; i < 200; ++i) {
    targets.push_back(TargetOf(redis, QueueLength::kList, absl::StrCat("list", i)));
    redis.Do({"LPUSH", absl::StrCat("list", i), "a"});
  }
  reading.reader().Replace(targets);
  for (const RedisTarget& target : targets) EXPECT_EQ(*reading.Next(target.source), 1);
  EXPECT_EQ(Clients(redis), 1);
}

TEST(RedisReader, RemovedQueueIsNotReadAndHasNoConnection) {
  const TestRedis redis;
  TestReading reading;
  const RedisTarget target = TargetOf(redis, QueueLength::kList);
  reading.reader().Replace({target});
  EXPECT_TRUE(reading.Next(target.source).ok());
  reading.reader().Replace({});
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (Clients(redis) > 0 && absl::Now() < deadline) {
  }
  EXPECT_EQ(Clients(redis), 0);
  const int64_t readings = reading.readings();
  const RedisTarget other = TargetOf(redis, QueueLength::kList, "other");
  reading.reader().Replace({other});
  EXPECT_TRUE(reading.Next(other.source).ok());
  EXPECT_GT(reading.readings(), readings);
}

}  // namespace
}  // namespace gpuscaler
