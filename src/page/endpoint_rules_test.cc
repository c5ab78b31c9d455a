#include "page/endpoint_rules.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

EndpointRules RulesThatAllow(absl::string_view allowed) {
  return EndpointRules(*ParseAllowedEndpoints(allowed));
}

TEST(EndpointRulesTest, HostsOfTheNamespaceAreResolvedInIt) {
  const EndpointRules rules = RulesThatAllow("");
  EXPECT_EQ(*rules.NameToResolve("llm", "team-a"), "llm.team-a.svc.cluster.local.");
  EXPECT_EQ(*rules.NameToResolve("llm.team-a", "team-a"), "llm.team-a.svc.cluster.local.");
  EXPECT_EQ(*rules.NameToResolve("LLM.team-a.svc.", "team-a"), "llm.team-a.svc.cluster.local.");
  EXPECT_EQ(*rules.NameToResolve("llm-0.llm.team-a.svc.cluster.local", "team-a"),
            "llm-0.llm.team-a.svc.cluster.local.");
}

TEST(EndpointRulesTest, NamesEndWithTheClusterDomain) {
  const EndpointRules rules(AllowedEndpoints{}, "example.com");
  EXPECT_EQ(*rules.NameToResolve("llm.team-a.svc.example.com", "team-a"),
            "llm.team-a.svc.example.com.");
  EXPECT_FALSE(rules.NameToResolve("llm.team-a.svc.cluster.local", "team-a").ok());
}

TEST(EndpointRulesTest, ClusterDomainIsLowerCaseWithoutAFinalDot) {
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

TEST(EndpointRulesTest, OtherHostsAreRefusedWithTheAllowedOnes) {
  const EndpointRules rules = RulesThatAllow("");
  for (const char* host :
       {"llm.team-b", "llm.team-b.svc", "team-a.svc", "llm.team-a.svc.example.com",
        "llm.team-a.example.com", "metadata.google.internal", "xteam-a.svc", "llm.xteam-a"}) {
    const absl::Status status = rules.NameToResolve(host, "team-a").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << host << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr("NAME.team-a.svc")) << host;
  }
}

TEST(EndpointRulesTest, AnAddressMustBeAllowed) {
  const EndpointRules rules = RulesThatAllow("10.1.0.0/16");
  EXPECT_EQ(*rules.NameToResolve("10.1.2.3", "team-a"), "10.1.2.3");
  for (const char* host : {"10.2.0.1", "::1", "127.0.0.1"}) {
    EXPECT_EQ(rules.NameToResolve(host, "team-a").status().code(),
              absl::StatusCode::kPermissionDenied)
        << host;
  }
}

TEST(EndpointRulesTest, NumericNamesAreNotPassedToTheResolver) {
  const EndpointRules rules = RulesThatAllow("");
  EXPECT_EQ(*rules.NameToResolve("2130706433", "team-a"), "2130706433.team-a.svc.cluster.local.");
  EXPECT_FALSE(rules.NameToResolve("127.1", "team-a").ok());
  EXPECT_FALSE(rules.NameToResolve("0x7f.1", "team-a").ok());
}

TEST(EndpointRulesTest, AnInvalidHostIsAnError) {
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

TEST(EndpointRulesTest, InvalidEntriesOfAllowEndpointsAreErrors) {
  for (const char* text : {"a b", "redis.infra.svc,", "*", "a.*.b", "10.0.0.7/8", "127.1",
                           "http://redis.infra.svc", "redis:6379"}) {
    const absl::Status status = ParseAllowedEndpoints(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr("10.1.0.0/16")) << text;
  }
}

TEST(EndpointRulesTest, NodeLocalAddressesAreForbiddenForAnyName) {
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

TEST(EndpointRulesTest, EmbeddedAddressesAreCheckedOrRefused) {
  const struct {
    const char* name;
    const char* address;
    const char* refused_as;  // empty: allowed
  } cases[] = {
      {"IPv4-mapped", "::ffff:10.0.0.7", ""},
      {"IPv4-mapped loopback", "::ffff:127.0.0.1", "loopback"},
      {"IPv4-mapped in hexadecimal", "::ffff:a9fe:a9fe", "link-local"},
      {"NAT64", "64:ff9b::10.0.0.7", ""},
      {"NAT64 to loopback", "64:ff9b::7f00:1", "loopback"},
      {"NAT64 to a metadata service", "64:ff9b::169.254.169.254", "link-local"},
      {"local-use NAT64", "64:ff9b:1::10.0.0.7", "local-use NAT64"},
      {"local-use NAT64, /64 within it", "64:ff9b:1:ffff:a9:fea9:fe00:0", "local-use NAT64"},
      {"next to local-use NAT64", "64:ff9b:2::1", ""},
      {"IPv4-compatible", "::10.0.0.7", "IPv4-compatible"},
      {"IPv4-compatible loopback", "::127.0.0.1", "IPv4-compatible"},
      {"IPv6 loopback", "::1", "loopback"},
      {"unspecified", "::", "unspecified"},
      {"IPv4-translated", "::ffff:0:127.0.0.1", "IPv4-translated"},
      {"6to4", "2002:a00:7::1", "6to4"},
      {"6to4 of loopback", "2002:7f00:1::", "6to4"},
      {"next to 6to4", "2003::1", ""},
      {"Teredo", "2001:0:a00:7::f5ff:fff8", "Teredo"},
      {"next to Teredo", "2001:1::1", ""},
      {"site-local", "fec0::7", "site-local"},
      {"site-local, the last", "feff::7", "site-local"},
      {"unique local", "fd00::7", ""},
  };
  const EndpointRules rules = RulesThatAllow("*.example.com");
  for (const auto& each : cases) {
    const absl::Status status = rules.CheckAddress(*ParseIpAddress(each.address));
    const bool is_refused = status.code() == absl::StatusCode::kPermissionDenied;
    EXPECT_EQ(is_refused, *each.refused_as != '\0')
        << each.name << ", " << each.address << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr(each.refused_as)) << each.name << ": " << status;
  }
  EXPECT_TRUE(RulesThatAllow("2002::/16").CheckAddress(*ParseIpAddress("2002:a00:7::1")).ok());
}

TEST(EndpointRulesTest, AliasOutOfTheNamespaceIsRefusedUnlessTheOperatorAllowsIt) {
  const struct {
    const char* name;
    const char* allowed;
    const char* host;
    const char* canonical_name;
    const char* address;
    bool is_refused;
  } cases[] = {
      {"no alias", "", "llm", "llm.team-a.svc.cluster.local", "10.0.0.7", false},
      {"in other letters", "", "llm", "LLM.team-a.svc.cluster.local.", "10.0.0.7", false},
      {"of a pod", "", "llm", "llm-0.llm.team-a.svc.cluster.local", "10.0.0.7", false},
      {"of another Service of its own", "", "llm", "a.team-a.svc.cluster.local", "10.0.0.7", false},
      {"of another namespace", "", "llm", "llm.team-b.svc.cluster.local", "10.0.0.7", true},
      {"of a longer namespace", "", "llm", "llm.x-team-a.svc.cluster.local", "10.0.0.7", true},
      {"of another cluster", "", "llm", "llm.team-a.svc.example.com", "10.0.0.7", true},
      {"out of the cluster", "", "llm.team-a.svc", "gateway.example.com", "10.0.0.7", true},
      {"of a domain that is called like the namespace", "", "llm", "a.team-a", "10.0.0.7", true},
      {"of a bare name", "", "llm", "localhost", "10.0.0.7", true},
      {"without addresses", "", "llm", "gateway.example.com", nullptr, true},
      {"without addresses, of its own", "", "llm", "a.team-a.svc.cluster.local", nullptr, false},
      {"alias allowed", "*.example.com", "llm", "gateway.example.com", "10.0.0.7", false},
      {"Service allowed", "redis.infra.svc", "r", "redis.infra.svc.cluster.local", "10.0.0.7",
       false},
      {"another alias allowed", "example.com", "llm", "gateway.example.com", "10.0.0.7", true},
      {"name allowed", "llm.team-a.svc", "llm", "gateway.example.com", "10.0.0.7", false},
      {"name of no namespace allowed", "a.example.com", "a.example.com", "b.cloud", "8.8.8.8",
       false},
      {"address allowed", "10.0.0.0/8", "llm", "gateway.example.com", "10.0.0.7", false},
      {"another address allowed", "10.1.0.0/16", "llm", "gateway.example.com", "10.0.0.7", true},
      {"an address itself", "10.0.0.7", "10.0.0.7", "10.0.0.7", "10.0.0.7", false},
  };
  for (const auto& each : cases) {
    const EndpointRules rules = RulesThatAllow(each.allowed);
    std::vector<IpAddress> addresses;
    if (each.address != nullptr) addresses.push_back(*ParseIpAddress(each.address));
    const absl::Status status = rules.CheckAlias(rules.NameToResolve(each.host, "team-a").value(),
                                                 "team-a", each.canonical_name, addresses);
    EXPECT_EQ(status.code() == absl::StatusCode::kPermissionDenied, each.is_refused)
        << each.name << ": " << status;
  }
}

TEST(EndpointRulesTest, AddressWithAZoneIsNoHost) {
  const EndpointRules rules = RulesThatAllow("fe80::/10,*.example.com");
  for (const char* host : {"fe80::1%eth0", "fe80::1%25eth0", "10.0.0.7%eth0", "::1%lo"}) {
    EXPECT_FALSE(rules.NameToResolve(host, "team-a").ok()) << host;
  }
}

TEST(EndpointRulesTest, OnlyAnAllowedBlockOpensSuchAnAddress) {
  const EndpointRules rules = RulesThatAllow("127.0.0.0/8,169.254.20.10");
  EXPECT_TRUE(rules.CheckAddress(*ParseIpAddress("127.0.0.1")).ok());
  EXPECT_TRUE(rules.CheckAddress(*ParseIpAddress("169.254.20.10")).ok());
  EXPECT_FALSE(rules.CheckAddress(*ParseIpAddress("169.254.169.254")).ok());
  EXPECT_FALSE(rules.CheckAddress(*ParseIpAddress("::1")).ok());
}

}  // namespace
}  // namespace gpuscaler
