#include "signal/redis_fault.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

struct FaultCase {
  std::string error;  // from Redis 7.0
  absl::StatusCode want;
  std::string says;
};

void ExpectFault(const FaultCase& each, const absl::Status& got) {
  EXPECT_EQ(got.code(), each.want) << each.error << ": " << got;
  EXPECT_TRUE(absl::StrContains(got.message(), each.says)) << each.error << ": " << got;
}

TEST(RedisFault, ErrorsSuggestARemedy) {
  const FaultCase cases[] = {
      {"NOAUTH Authentication required.", absl::StatusCode::kPermissionDenied, "redisPassword"},
      {"NOPERM this user has no permissions to run the 'xlen' command",
       absl::StatusCode::kPermissionDenied, "'xlen'"},
      {"WRONGTYPE Operation against a key holding the wrong kind of value",
       absl::StatusCode::kFailedPrecondition, "another type"},
      {"LOADING Redis is loading the dataset in memory", absl::StatusCode::kUnavailable, "loading"},
      {"MOVED 3999 10.0.0.5:6379", absl::StatusCode::kFailedPrecondition, "10.0.0.5:6379"},
      {"ASK 3999 10.0.0.5:6379", absl::StatusCode::kUnavailable, "moving"},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
       absl::StatusCode::kUnavailable, "lost its master"},
      {"ERR unknown command `XLEN`, with args beginning with: `jobs`, ",
       absl::StatusCode::kFailedPrecondition, "Redis 5"},
      {"ERR max number of clients reached", absl::StatusCode::kUnavailable, "no room"},
      {"ERR something new", absl::StatusCode::kUnavailable, "something new"},
  };
  for (const FaultCase& each : cases) ExpectFault(each, RedisFault(each.error));
}

TEST(RedisFault, ServerTextIsShortAndPrintable) {
  const absl::Status status = RedisFault(absl::StrCat("ERR \x1b[2J", std::string(5000, 'x')));
  EXPECT_LT(status.message().size(), 300u);
  EXPECT_FALSE(absl::StrContains(status.message(), "\x1b")) << status;
}

TEST(RedisSignInFault, ErrorsSuggestARemedy) {
  const FaultCase cases[] = {
      {"WRONGPASS invalid username-password pair or user is disabled.",
       absl::StatusCode::kPermissionDenied, "refuses"},
      {"ERR AUTH <password> called without any password configured for the default user. Are you "
       "sure your configuration is correct?",
       absl::StatusCode::kFailedPrecondition, "left out"},
      {"ERR wrong number of arguments for 'auth' command", absl::StatusCode::kFailedPrecondition,
       "redisUsername"},
      {"ERR DB index is out of range", absl::StatusCode::kFailedPrecondition, "redisDatabase"},
      {"ERR SELECT is not allowed in cluster mode", absl::StatusCode::kFailedPrecondition,
       "database 0"},
      {"ERR max number of clients reached", absl::StatusCode::kUnavailable, "no room"},
  };
  for (const FaultCase& each : cases) ExpectFault(each, RedisSignInFault(each.error));
}

TEST(RedisSignInFault, NeverRepeatsThePassword) {
  for (const std::string error :
       {"ERR unknown command `AUTH`, with args beginning with: `geheim`, ", "geheim",
        "NOPERM geheim", "MOVED 1 geheim", "WRONGPASS geheim"}) {
    const absl::Status status = RedisSignInFault(error);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(absl::StrContains(status.message(), "geheim")) << error << ": " << status;
  }
}

TEST(RedisFault, MovedToReturnsTheNode) {
  EXPECT_EQ(MovedTo("MOVED 3999 10.0.0.5:6379"), "10.0.0.5:6379");
  EXPECT_EQ(MovedTo("MOVED 3999 :6379"), ":6379");
  EXPECT_EQ(MovedTo("MOVED 3999"), "");
  EXPECT_EQ(MovedTo("ASK 3999 10.0.0.5:6379"), "");
  EXPECT_EQ(MovedTo("ERR MOVED 1 2"), "");
}

}  // namespace
}  // namespace gpuscaler
