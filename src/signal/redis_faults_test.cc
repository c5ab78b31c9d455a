// Redis servers that restart, move, refuse, hang or load, and servers of other protocols.

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "page/test_footprint.h"
#include "page/test_http_server.h"
#include "signal/test_redis_reading.h"

namespace gpuscaler {
namespace {

constexpr RedisLimits kShortTimeout = {.interval = absl::Milliseconds(20),
                                       .timeout = absl::Milliseconds(200)};

void Push(const TestRedis& redis, int items) {
  for (int i = 0; i < items; ++i) redis.Do({"LPUSH", "jobs", absl::StrCat(i)});
}

// The status of the first reading of a queue at this port.
absl::Status FaultOf(int port, QueueLength length = QueueLength::kList,
                     const RedisLimits& limits = {.interval = absl::Milliseconds(20)}) {
  TestReading reading(limits);
  const RedisTarget target = TargetAt(port, length, "jobs");
  reading.reader().Replace({target});
  return reading.Next(target.source).status();
}

TEST(RedisFaults, RestartedServerIsReadAgain) {
  TestRedis redis;
  TestReading reading;
  const RedisTarget target = TargetOf(redis, QueueLength::kList);
  reading.reader().Replace({target});
  ASSERT_TRUE(reading.Next(target.source).ok());
  redis.Stop();
  const auto refused = reading.Await(target.source, [](const TestReading::Length& read) {
    return absl::StrContains(read.status().message(), "refused");
  });
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable) << refused.status();
  redis.Start();
  Push(redis, 3);
  const auto length = reading.AwaitLength(target.source, 3);
  EXPECT_TRUE(length.ok()) << length.status();
}

TEST(RedisFaults, ClosedConnectionIsReplacedWithinTheReading) {
  const TestRedis redis;
  Push(redis, 3);
  TestReading reading;
  const RedisTarget target = TargetOf(redis, QueueLength::kList);
  reading.reader().Replace({target});
  ASSERT_TRUE(reading.Next(target.source).ok());
  for (int i = 0; i < 20; ++i) {
    redis.Do({"CLIENT", "KILL", "TYPE", "normal"});
    const auto length = reading.Next(target.source);
    EXPECT_TRUE(length.ok()) << length.status();
  }
}

TEST(RedisFaults, MovedServerIsReadAtItsNewAddress) {
  const TestRedis before;
  Push(before, 3);
  TestReading reading;
  RedisTarget target = TargetOf(before, QueueLength::kList);
  reading.reader().Replace({target});
  EXPECT_EQ(*reading.Next(target.source), 3);
  const TestRedis after({"--port", absl::StrCat(before.port())}, "127.0.0.2");
  Push(after, 5);
  target.addresses = {*ParseIpAddress("127.0.0.2")};
  reading.reader().Replace({target});
  const auto length = reading.AwaitLength(target.source, 5);
  EXPECT_TRUE(length.ok()) << length.status();
}

TEST(RedisFaults, NextAddressIsTriedIfOneRefuses) {
  const TestRedis redis;
  Push(redis, 3);
  TestReading reading;
  RedisTarget target = TargetOf(redis, QueueLength::kList);
  target.addresses.insert(target.addresses.begin(), *ParseIpAddress("127.0.0.3"));
  reading.reader().Replace({target});
  EXPECT_EQ(*reading.AwaitLength(target.source, 3), 3);
}

TEST(RedisFaults, HungServerDelaysNoOtherAndIsReadAfterItResumes) {
  const TestRedis hung;
  const TestRedis redis;
  Push(redis, 3);
  TestReading reading;
  const RedisTarget hanging = TargetOf(hung, QueueLength::kList);
  const RedisTarget other = TargetOf(redis, QueueLength::kList);
  reading.reader().Replace({hanging, other});
  ASSERT_TRUE(reading.Next(hanging.source).ok());
  hung.Freeze();
  const absl::Status late =
      reading.AwaitFailure(hanging.source, absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(absl::StrContains(late.message(), "no answer within 2s")) << late;
  for (int i = 0; i < 20; ++i) {
    const auto length = reading.Next(other.source);
    ASSERT_TRUE(length.ok()) << length.status();
    EXPECT_EQ(*length, 3);
  }
  hung.Thaw();
  const auto thawed = reading.AwaitLength(hanging.source, 0);
  EXPECT_TRUE(thawed.ok()) << thawed.status();
}

TEST(RedisFaults, StopsAtOnceWhileAServerHangs) {
  const TestRedis redis;
  auto reading = std::make_unique<TestReading>(
      RedisLimits{.interval = absl::Milliseconds(20), .timeout = absl::Hours(1)});
  const RedisTarget target = TargetOf(redis, QueueLength::kList);
  reading->reader().Replace({target});
  ASSERT_TRUE(reading->Next(target.source).ok());
  redis.Freeze();
  const absl::Time began_at = absl::Now();
  reading.reset();
  EXPECT_LT(absl::Now() - began_at, absl::Seconds(10)) << "not after its timeout";
}

TEST(RedisFaults, LoadingServerIsReadLater) {
  TestRedis redis;
  for (int i = 0; i < 1000; ++i) redis.Do({"SET", absl::StrCat("key", i), "value"});
  Push(redis, 3);
  redis.Do({"SAVE"});
  redis.Stop();
  redis.Start({"--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"});
  TestReading reading;
  const RedisTarget target = TargetOf(redis, QueueLength::kList);
  reading.reader().Replace({target});
  const absl::Status loading = reading.AwaitFailure(target.source, absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(loading.message(), "loading")) << loading;
  EXPECT_EQ(*reading.AwaitLength(target.source, 3), 3);
}

TEST(RedisFaults, ServerWithoutFreeClientsIsUnavailable) {
  const TestRedis redis({"--maxclients", "1"});
  TestReading first;
  const RedisTarget target = TargetOf(redis, QueueLength::kList);
  first.reader().Replace({target});
  ASSERT_TRUE(first.Next(target.source).ok());
  const absl::Status status = FaultOf(redis.port());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

TEST(RedisFaults, OtherProtocolsAreReported) {
  struct Case {
    std::string name;
    std::string sends;
    absl::StatusCode want;
    std::string message;
  };
  const Case cases[] = {
      {"web server", "HTTP/1.1 400 Bad Request\r\n\r\n", absl::StatusCode::kFailedPrecondition,
       "is not in the Redis protocol"},
      {"binary", std::string("\x16\x03\x01\x00\xff\x00", 6), absl::StatusCode::kFailedPrecondition,
       "is not in the Redis protocol"},
      {"too many", "*1000000000\r\n", absl::StatusCode::kFailedPrecondition, "65536 values"},
      {"other kind", "+OK\r\n", absl::StatusCode::kFailedPrecondition, "is no count"},
      {"endless", absl::StrCat("$1000000000\r\n", std::string(size_t{5} << 20, 'x')),
       absl::StatusCode::kFailedPrecondition, "4 MiB"},
  };
  for (const Case& each : cases) {
    const TestHttpServer server([&](TestHttpConnection& connection) {
      connection.Send(each.sends);
      connection.Hang();
    });
    const absl::Status status = FaultOf(server.port());
    EXPECT_EQ(status.code(), each.want) << each.name << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), each.message)) << each.name << ": " << status;
  }
}

TEST(RedisFaults, MissingAndPartialRepliesTimeOut) {
  for (const std::string sends : {"", "$100\r\nabc", "*3\r\n:1\r\n"}) {
    const TestHttpServer server([&](TestHttpConnection& connection) {
      connection.Send(sends);
      connection.Hang();
    });
    const absl::Status status = FaultOf(server.port(), QueueLength::kLag, kShortTimeout);
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << sends << status;
  }
}

TEST(RedisFaults, TruncatedReplyIsUnavailable) {
  const TestHttpServer server(
      [](TestHttpConnection& connection) { connection.Send("$100\r\nab"); });
  const absl::Status status = FaultOf(server.port());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

// The pauses are 0.5, 1, 2, 4 and then 5 s, each shortened by a fifth.
int MostConnectionsWithin(absl::Duration time) {
  int connections = 1;
  for (absl::Duration pause = absl::Seconds(0.5); time >= 0.8 * pause; ++connections) {
    time -= 0.8 * pause;
    pause = std::min(2 * pause, absl::Seconds(5));
  }
  return connections;
}

TEST(RedisFaults, FailingServerIsContactedWithBackoff) {
  const TestHttpServer server([](TestHttpConnection&) {});
  TestReading reading({.interval = absl::Milliseconds(5), .timeout = absl::Seconds(2)});
  const RedisTarget target = TargetAt(server.port(), QueueLength::kList, "jobs");
  const absl::Time began_at = absl::Now();
  reading.reader().Replace({target});
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(reading.Next(target.source).ok());
  const int connections = server.connections();
  EXPECT_LE(connections, MostConnectionsWithin(absl::Now() - began_at));
}

// Creates a group with a name longer than a reply may be: XINFO GROUPS then breaks connections.
void Poison(const TestRedis& redis, const std::string& stream) {
  redis.Do({"XGROUP", "CREATE", stream, std::string(4'500'000, 'g'), "$", "MKSTREAM"});
  redis.Do({"XADD", stream, "*", "prompt", "hello"});
}

RedisTarget OfNamespace(RedisTarget target, const std::string& namespace_name) {
  target.source.namespace_name = namespace_name;
  return target;
}

TEST(RedisFaults, StreamThatBreaksConnectionsAffectsNoOtherQueue) {
  const TestRedis redis;
  TestReading reading;
  std::vector<RedisTarget> targets;
  for (const char* const stream : {"a", "b", "c"}) {
    Poison(redis, stream);
    targets.push_back(TargetOf(redis, QueueLength::kLag, stream));
  }
  Push(redis, 3);
  const RedisTarget other = TargetOf(redis, QueueLength::kList);
  targets.push_back(other);
  reading.reader().Replace(targets);
  for (size_t i = 0; i < 3; ++i) {
    const absl::Status poisoned = reading.Next(targets[i].source).status();
    EXPECT_TRUE(absl::StrContains(poisoned.message(), "longer than 4 MiB")) << poisoned;
  }
  EXPECT_EQ(*reading.AwaitLength(other.source, 3), 3);
  // Longer than the first pauses of the queues that break it.
  const absl::Time end = absl::Now() + absl::Seconds(4);
  while (absl::Now() < end) {
    const auto length = reading.Next(other.source);
    ASSERT_TRUE(length.ok()) << length.status();
  }
}

TEST(RedisFaults, NamespacesShareNoConnection) {
  const TestRedis redis;
  Push(redis, 3);
  TestReading reading;
  const RedisTarget one = OfNamespace(TargetOf(redis, QueueLength::kList), "team-a");
  const RedisTarget other = OfNamespace(TargetOf(redis, QueueLength::kList), "team-b");
  reading.reader().Replace({one, other});
  EXPECT_EQ(*reading.AwaitLength(one.source, 3), 3);
  EXPECT_EQ(*reading.AwaitLength(other.source, 3), 3);
  const std::string clients = redis.Do({"CLIENT", "LIST", "TYPE", "normal"}).text;
  EXPECT_EQ(std::ranges::count(clients, '\n'), 3) << "CLIENT LIST itself is one\n" << clients;
}

TEST(RedisFaults, MissingReplyAffectsNoOtherQueue) {
  // The keys end like an HTTP request, and so does each command.
  const TestHttpServer server([](TestHttpConnection& connection) {
    while (true) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      if (absl::StrContains(request, "XLEN")) connection.Hang();
      connection.Send(":3\r\n");
    }
  });
  TestReading reading(kShortTimeout);
  const RedisTarget silent = TargetAt(server.port(), QueueLength::kStream, "a\r\n");
  const RedisTarget other = TargetAt(server.port(), QueueLength::kList, "b\r\n");
  reading.reader().Replace({silent, other});
  (void)reading.AwaitFailure(silent.source, absl::StatusCode::kDeadlineExceeded);
  for (int i = 0; i < 50; ++i) {
    const auto length = reading.AwaitLength(other.source, 3);
    ASSERT_TRUE(length.ok()) << length.status();
  }
}

// Two nodes with half of the slots each. "jobs" is on the second one.
class RedisClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    one_.Do({"CLUSTER", "ADDSLOTSRANGE", "0", "8191"});
    two_.Do({"CLUSTER", "ADDSLOTSRANGE", "8192", "16383"});
    one_.Do({"CLUSTER", "MEET", "127.0.0.2", absl::StrCat(two_.port()),
             absl::StrCat(bus_of_two_.number())});
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (!(IsWhole(one_) && IsWhole(two_)) && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    two_.Do({"LPUSH", "jobs", "a", "b"});
  }

  static bool IsWhole(const TestRedis& redis) {
    return absl::StrContains(redis.Do({"CLUSTER", "INFO"}).text, "cluster_state:ok");
  }

  // The default bus port, port + 10000, may be in use by another test.
  const ReservedPort bus_of_one_{"127.0.0.1"};
  const ReservedPort bus_of_two_{"127.0.0.2"};
  const TestRedis one_{
      {"--cluster-enabled", "yes", "--cluster-port", absl::StrCat(bus_of_one_.number())}};
  const TestRedis two_{{"--cluster-enabled", "yes", "--cluster-port",
                        absl::StrCat(bus_of_two_.number()), "--cluster-announce-ip", "127.0.0.2"},
                       "127.0.0.2"};
};

TEST_F(RedisClusterTest, KeyIsReadAtItsNode) {
  TestReading reading;
  RedisTarget jobs = TargetOf(one_, QueueLength::kList);
  jobs.addresses.push_back(*ParseIpAddress("127.0.0.2"));
  reading.reader().Replace({jobs});
  const auto length = reading.Next(jobs.source);
  ASSERT_TRUE(length.ok()) << length.status();
  EXPECT_EQ(*length, 2);
}

TEST_F(RedisClusterTest, NodeOutsideTheHostIsReportedAndNotContacted) {
  TestReading reading;
  const RedisTarget jobs = TargetOf(one_, QueueLength::kList);
  reading.reader().Replace({jobs});
  const absl::Status status = reading.Next(jobs.source).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("127.0.0.2:", two_.port())))
      << status;
}

TEST(RedisFaults, TenThousandReadingsLeakNothing) {
  const TestRedis redis;
  TestReading reading({.interval = absl::Milliseconds(1), .timeout = absl::Seconds(2)});
  std::vector<RedisTarget> targets;
  for (int i = 0; i < 10; ++i) {
    targets.push_back(TargetOf(redis, QueueLength::kLag, absl::StrCat("jobs", i)));
  }
  reading.reader().Replace(targets);
  const auto read = [&](int64_t readings) {
    const int64_t wanted = reading.readings() + readings;
    while (reading.readings() < wanted) {
      // Replaced connections are the likely leak.
      redis.Do({"CLIENT", "KILL", "TYPE", "normal"});
      (void)reading.Next(targets.front().source);
    }
  };
  read(2000);
  const int files = OpenFiles();
  const size_t memory = AllocatedBytes();
  read(10'000);
  EXPECT_LE(OpenFiles(), files + 3) << "one connection more: its socket and libcurl's pair";
  EXPECT_LE(AllocatedBytes(), memory + (size_t{256} << 10)) << "one connection more";
}

}  // namespace
}  // namespace gpuscaler
