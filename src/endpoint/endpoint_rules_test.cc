#include "endpoint/endpoint_rules.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

EndpointRules RulesThatAllow(absl::string_view allowed) {
  return EndpointRules(*ParseAllowedEndpoints(allowed));
}

TEST(EndpointRulesTest, HostsOfTheOwnNamespaceAreResolvedThere) {
  const EndpointRules rules = RulesThatAllow("");
  EXPECT_EQ(*rules.NameToResolve("llm", "team-a"), "llm.team-a.svc.cluster.local.");
  EXPECT_EQ(*rules.NameToResolve("llm.team-a", "team-a"), "llm.team-a.svc.cluster.local.");
  EXPECT_EQ(*rules.NameToResolve("LLM.team-a.svc.", "team-a"), "llm.team-a.svc.cluster.local.");
  EXPECT_EQ(*rules.NameToResolve("llm-0.llm.team-a.svc.cluster.local", "team-a"),
            "llm-0.llm.team-a.svc.cluster.local.");
}

TEST(EndpointRulesTest, NamesEndAsTheClustersOwnDo) {
  const EndpointRules rules(AllowedEndpoints{}, "example.com");
  EXPECT_EQ(*rules.NameToResolve("llm.team-a.svc.example.com", "team-a"),
            "llm.team-a.svc.example.com.");
  EXPECT_FALSE(rules.NameToResolve("llm.team-a.svc.cluster.local", "team-a").ok());
}

TEST(EndpointRulesTest, AClustersDomainIsALowerCaseNameWithoutADotAtItsEnd) {
  for (const char* domain : {"cluster.local", "corp.internal", "local", "k8s-1.example.com"}) {
    EXPECT_TRUE(CheckClusterDomain(domain).ok()) << domain;
  }
  for (const char* domain : {"", ".", "cluster.local.", ".cluster.local", "Cluster.local", "a..b",
                             "-a.b", "corp internal", "10.0.0.1", "*.local", "a:6000"}) {
    const absl::Status status = CheckClusterDomain(domain);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << domain;
    EXPECT_THAT(status.message(), HasSubstr("use a DNS name in lower case")) << domain;
  }
}

TEST(EndpointRulesTest, EverybodyElsesHostIsRefusedAndTheAllowedOnesAreNamed) {
  const EndpointRules rules = RulesThatAllow("");
  for (const char* host :
       {"llm.team-b", "llm.team-b.svc", "team-a.svc", "llm.team-a.svc.example.com",
        "llm.team-a.example.com", "metadata.google.internal", "xteam-a.svc", "llm.xteam-a"}) {
    const absl::Status status = rules.NameToResolve(host, "team-a").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << host << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr("NAME.team-a.svc")) << host;
  }
}

TEST(EndpointRulesTest, AnAddressIsAnybodys) {
  const EndpointRules rules = RulesThatAllow("10.1.0.0/16");
  EXPECT_EQ(*rules.NameToResolve("10.1.2.3", "team-a"), "10.1.2.3");
  for (const char* host : {"10.2.0.1", "::1", "127.0.0.1"}) {
    EXPECT_EQ(rules.NameToResolve(host, "team-a").status().code(),
              absl::StatusCode::kPermissionDenied)
        << host;
  }
}

TEST(EndpointRulesTest, WhatResolversTakeForAnAddressNeverReachesThemBare) {
  const EndpointRules rules = RulesThatAllow("");
  EXPECT_EQ(*rules.NameToResolve("2130706433", "team-a"), "2130706433.team-a.svc.cluster.local.");
  EXPECT_FALSE(rules.NameToResolve("127.1", "team-a").ok());
  EXPECT_FALSE(rules.NameToResolve("0x7f.1", "team-a").ok());
}

TEST(EndpointRulesTest, WhatIsNoHostIsSaidToBeNone) {
  const EndpointRules rules = RulesThatAllow("");
  for (const char* host : {"", "a b", "a..b", "-a", "a@b", "a/b", "a\r\nHost:b"}) {
    EXPECT_EQ(rules.NameToResolve(host, "team-a").status().code(),
              absl::StatusCode::kInvalidArgument)
        << host;
  }
}

TEST(EndpointRulesTest, OperatorOpensHostsForAllNamespaces) {
  const EndpointRules rules = RulesThatAllow("redis.infra.svc, *.Example.com");
  EXPECT_EQ(*rules.NameToResolve("redis.infra.svc", "team-a"), "redis.infra.svc");
  EXPECT_EQ(*rules.NameToResolve("a.b.example.com", "team-a"), "a.b.example.com");
  for (const char* host : {"example.com", "badexample.com", "x.redis.infra.svc", "redis.infra"}) {
    EXPECT_FALSE(rules.NameToResolve(host, "team-a").ok()) << host;
  }
}

TEST(EndpointRulesTest, ListOfTheOperatorIsRefusedWhereItMeansNothing) {
  for (const char* text : {"a b", "redis.infra.svc,", "*", "a.*.b", "10.0.0.7/8", "127.1",
                           "http://redis.infra.svc", "redis:6379"}) {
    const absl::Status status = ParseAllowedEndpoints(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr("10.1.0.0/16")) << text;
  }
}

TEST(EndpointRulesTest, AddressesThatServeOnlyTheNodeAreForbiddenWhateverNameLedThere) {
  const EndpointRules rules = RulesThatAllow("*.example.com");
  for (const char* text :
       {"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "169.254.169.254",
        "169.254.20.10", "fe80::1", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200",
        "168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255", "ff02::1",
        "64:ff9b::169.254.169.254", "64:ff9b::127.0.0.1"}) {
    const absl::Status status = rules.CheckAddress(*ParseIpAddress(text));
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << text;
    EXPECT_THAT(status.message(), HasSubstr("--allow-endpoints")) << text;
  }
  for (const char* text : {"10.0.0.7", "192.168.1.1", "172.16.0.1", "100.64.0.1", "8.8.8.8",
                           "fd12::7", "2001:db8::1", "64:ff9b::8.8.8.8"}) {
    EXPECT_TRUE(rules.CheckAddress(*ParseIpAddress(text)).ok()) << text;
  }
}

TEST(EndpointRulesTest, OnlyABlockOfTheOperatorsOpensSuchAnAddress) {
  const EndpointRules rules = RulesThatAllow("127.0.0.0/8,169.254.20.10");
  EXPECT_TRUE(rules.CheckAddress(*ParseIpAddress("127.0.0.1")).ok());
  EXPECT_TRUE(rules.CheckAddress(*ParseIpAddress("169.254.20.10")).ok());
  EXPECT_FALSE(rules.CheckAddress(*ParseIpAddress("169.254.169.254")).ok());
  EXPECT_FALSE(rules.CheckAddress(*ParseIpAddress("::1")).ok());
}

}  // namespace
}  // namespace gpuscaler
