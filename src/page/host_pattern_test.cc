#include "page/host_pattern.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

bool Matches(const std::string& pattern, absl::string_view host) {
  return MatchesAny({pattern}, host, "cluster.local");
}

TEST(HostPattern, MatchesAServiceWithAndWithoutTheClusterDomain) {
  for (const char* pattern :
       {"redis.infra.svc", "redis.infra.svc.", "redis.infra.svc.cluster.local"}) {
    EXPECT_TRUE(Matches(pattern, "redis.infra.svc.cluster.local.")) << pattern;
    EXPECT_TRUE(Matches(pattern, "redis.infra.svc")) << pattern;
    EXPECT_FALSE(Matches(pattern, "redis.team-a.svc.cluster.local.")) << pattern;
  }
}

TEST(HostPattern, APrefixOfAnotherDomainDoesNotMatch) {
  EXPECT_FALSE(Matches("redis.infra.svc", "redis.infra.svc.evil.example"));
  EXPECT_FALSE(Matches("redis.infra.svc", "redis.infra.svc.cluster.local.evil.example"));
}

TEST(HostPattern, AStarMatchesAnyPrefix) {
  EXPECT_TRUE(Matches("*.infra.svc", "redis.infra.svc.cluster.local."));
  EXPECT_TRUE(Matches("*.infra.svc", "a.redis.infra.svc"));
  EXPECT_FALSE(Matches("*.infra.svc", "infra.svc"));
  EXPECT_FALSE(Matches("*.infra.svc", "redis.no-infra.svc"));
  EXPECT_TRUE(Matches("*.example.com", "redis.example.com"));
}

TEST(HostPattern, AnAddressMatchesOnlyItself) {
  EXPECT_TRUE(Matches("10.1.2.3", "10.1.2.3"));
  EXPECT_FALSE(Matches("10.1.2.3", "10.1.2.30"));
}

}  // namespace
}  // namespace gpuscaler
