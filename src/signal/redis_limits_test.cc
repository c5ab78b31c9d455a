#include <cstdint>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "page/test_footprint.h"
#include "signal/test_redis_reading.h"

namespace gpuscaler {
namespace {

TEST(RedisLimits, ConnectionsTakeAQuarterOfTheOpenFiles) {
  struct Case {
    size_t open_files;
    size_t max_connections;
    size_t max_per_namespace;
  };
  for (const Case& each : {Case{1 << 20, 512, 48}, Case{1024, 85, 21}, Case{300, 25, 6},
                           Case{10, 1, 1}, Case{SIZE_MAX, 512, 48}}) {
    const RedisLimits limits = WithinOpenFiles({}, each.open_files);
    EXPECT_EQ(limits.max_connections, each.max_connections) << each.open_files;
    EXPECT_EQ(limits.max_per_namespace, each.max_per_namespace) << each.open_files;
  }
}

// Each database needs its own connection.
RedisTarget OfDatabase(const TestRedis& redis, int database,
                       const std::string& namespace_name = "team-a") {
  RedisTarget target = TargetOf(redis, QueueLength::kList);
  target.source.namespace_name = namespace_name;
  std::get<RedisQueue>(target.source.target).database = database;
  target.server.database = database;
  return target;
}

TEST(RedisLimits, NamespaceUsesAtMostItsConnections) {
  const TestRedis redis;
  TestReading reading({.interval = absl::Milliseconds(20), .max_per_namespace = 2});
  std::vector<RedisTarget> targets;
  for (int i = 0; i < 4; ++i) targets.push_back(OfDatabase(redis, i));
  const RedisTarget other = OfDatabase(redis, 0, "team-b");
  reading.reader().Replace({targets[0], targets[1], targets[2], targets[3], other});
  for (const size_t i : {size_t{2}, size_t{3}}) {
    const absl::Status refused =
        reading.AwaitFailure(targets[i].source, absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(absl::StrContains(refused.message(), "namespace team-a has 2 connections"))
        << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), "redisDatabase")) << refused;
  }
  for (const RedisTarget& read : {targets[0], targets[1], other}) {
    EXPECT_TRUE(reading.Next(read.source).ok());
  }
  reading.reader().Replace({targets[0], targets[2], other});
  EXPECT_TRUE(reading.AwaitLength(targets[2].source, 0).ok()) << "it has one less now";
  EXPECT_TRUE(reading.Next(targets[0].source).ok());
}

TEST(RedisLimits, AllNamespacesUseAtMostTheTotalLimit) {
  const TestRedis redis;
  TestReading reading({.interval = absl::Milliseconds(20), .max_connections = 2});
  const int files = OpenFiles();
  const RedisTarget one = OfDatabase(redis, 0, "team-a");
  const RedisTarget two = OfDatabase(redis, 0, "team-b");
  const RedisTarget three = OfDatabase(redis, 0, "team-c");
  reading.reader().Replace({one, two, three});
  const absl::Status refused =
      reading.AwaitFailure(three.source, absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(refused.message(), "the scaler has 2 connections")) << refused;
  EXPECT_TRUE(reading.Next(one.source).ok());
  EXPECT_TRUE(reading.Next(two.source).ok());
  EXPECT_LE(OpenFiles(), files + 6) << "three of a connection";
}

}  // namespace
}  // namespace gpuscaler
