// DNS failures and nonexistent names, with a real server in a network namespace, queried by glibc's
// resolver as in a pod.
#include <optional>

#include "absl/strings/strip.h"
#include "base/name_absence.h"
#include "base/resolve.h"
#include "fleet/peer_addresses.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "name_server.h"
#include "own_network.h"

namespace gpuscaler {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kService[] = "agents.gpu.svc";
constexpr char kServiceInFull[] = "agents.gpu.svc.cluster.local";
constexpr char kServiceAbsolute[] = "agents.gpu.svc.cluster.local.";
constexpr char kPod[] = "127.0.1.1";

class NameFailuresTest : public testing::Test {
 protected:
  void Begin(int timeout_seconds = 10) {
    const absl::Status asked = UseOwnNameServer(
        "scalers.svc.cluster.local svc.cluster.local cluster.local", timeout_seconds);
    ASSERT_TRUE(asked.ok()) << asked;
    dns_.emplace(std::vector<std::string>{kPod});
  }

  std::optional<NameServer> dns_;
};

struct FailureCase {
  const char* name;
  DnsReply ipv4;
  DnsReply ipv6;
  const char* why;  // the part that is not the resolver's own message
};

TEST_F(NameFailuresTest, FailureIsNeverAnEmptyAnswer) {
  Begin(/*timeout_seconds=*/1);  // a missing reply is one of the cases
  const FailureCase cases[] = {
      {"IPv4 SERVFAIL", DnsReply::kServerFailure, DnsReply::kNone,
       "A of agents.gpu.svc.cluster.local: SERVFAIL"},
      {"IPv4 refused", DnsReply::kRefused, DnsReply::kNone,
       "A of agents.gpu.svc.cluster.local: REFUSED"},
      {"IPv4 lost", DnsReply::kSilence, DnsReply::kNone,
       "A of agents.gpu.svc.cluster.local: Connection timed out"},
      {"IPv4 cut off, TCP closed", DnsReply::kTooLong, DnsReply::kNone,
       "A of agents.gpu.svc.cluster.local: too long for UDP, and TCP fails"},
      {"IPv6 SERVFAIL", DnsReply::kNone, DnsReply::kServerFailure, ""},
      {"IPv6 refused", DnsReply::kNone, DnsReply::kRefused, ""},
      {"IPv6 lost", DnsReply::kNone, DnsReply::kSilence, ""},
      {"SERVFAIL", DnsReply::kServerFailure, DnsReply::kServerFailure, ""},
      {"refused", DnsReply::kRefused, DnsReply::kRefused, ""},
      {"lost", DnsReply::kSilence, DnsReply::kSilence,
       "A of agents.gpu.svc.cluster.local: Connection timed out"},
      {"cut off, TCP closed", DnsReply::kTooLong, DnsReply::kTooLong,
       "A of agents.gpu.svc.cluster.local: too long for UDP, and TCP fails"},
  };
  for (const FailureCase& each : cases) {
    dns_->ReplyTo(kServiceInFull, each.ipv4, each.ipv6);
    for (const std::string host : {kService, kServiceInFull, kServiceAbsolute}) {
      const auto addresses = AddressesOf(host);
      EXPECT_EQ(addresses.status().code(), absl::StatusCode::kUnavailable)
          << each.name << ", " << host << ": " << addresses.status();
      EXPECT_THAT(std::string(addresses.status().message()), HasSubstr(host)) << each.name;
      if (host != kService) continue;
      EXPECT_THAT(std::string(addresses.status().message()), HasSubstr(each.why)) << each.name;
    }
  }
}

TEST_F(NameFailuresTest, ANameWithoutAddressIsEmptyOnceEveryQueryIsAnswered) {
  Begin();
  const auto is_empty = [](const std::string& host) {
    const auto addresses = AddressesOf(host);
    ASSERT_TRUE(addresses.ok()) << host << ": " << addresses.status();
    EXPECT_THAT(*addresses, IsEmpty()) << host;
  };
  for (const DnsReply reply : {DnsReply::kNone, DnsReply::kNoSuchName}) {
    dns_->ReplyTo(kServiceInFull, reply, reply);
    for (const char* host : {kService, kServiceInFull, kServiceAbsolute, "agents"}) {
      is_empty(host);
    }
  }
}

TEST_F(NameFailuresTest, ANameWithOneAddressIsFoundDespiteOtherFailures) {
  Begin();
  dns_->ReplyTo(kServiceInFull, DnsReply::kAddresses, DnsReply::kNone);
  for (const char* host : {kService, kServiceInFull, kServiceAbsolute}) {
    const auto addresses = AddressesOf(host);
    ASSERT_TRUE(addresses.ok()) << addresses.status();
    EXPECT_THAT(*addresses, ElementsAre(kPod)) << host;
  }
  dns_ = std::nullopt;
  EXPECT_THAT(AddressesOf("10.0.0.7").value(), ElementsAre("10.0.0.7"));
  EXPECT_THAT(AddressesOf("fd00::7").value(), ElementsAre("fd00::7"));
  EXPECT_THAT(AddressesOf("localhost").value(), Contains(AnyOf("127.0.0.1", "::1")))
      << "the hosts file has it";
}

TEST_F(NameFailuresTest, UnknownWithoutADnsServer) {
  Begin();
  dns_ = std::nullopt;
  EXPECT_EQ(AddressesOf(kService).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(NameWithoutAddress(kService).status(),
            absl::UnavailableError("A of agents.gpu.svc.scalers.svc.cluster.local: Connection "
                                   "refused"));
}

// As an ExternalName Service of a target without pods.
TEST_F(NameFailuresTest, AnAliasOfANameWithoutAddressHasNone) {
  Begin();
  for (const DnsReply target : {DnsReply::kNone, DnsReply::kNoSuchName}) {
    dns_->ReplyAs({.name = kServiceInFull,
                   .ipv4 = DnsReply::kAlias,
                   .ipv6 = DnsReply::kAlias,
                   .target = target});
    for (const char* host : {kService, kServiceInFull, kServiceAbsolute}) {
      const auto resolved = ResolveName(host);
      ASSERT_TRUE(resolved.ok()) << host << ": " << resolved.status();
      EXPECT_THAT(resolved->addresses, IsEmpty()) << host;
      EXPECT_EQ(resolved->canonical_name, kAliasTarget) << host;
    }
  }
}

TEST_F(NameFailuresTest, CanonicalNameIsTheOneWithTheAddresses) {
  Begin();
  dns_->ReplyAs({.name = kServiceInFull, .ipv4 = DnsReply::kAliasWithAddresses});
  const auto alias = ResolveName(kServiceAbsolute);
  ASSERT_TRUE(alias.ok()) << alias.status();
  EXPECT_THAT(alias->addresses, ElementsAre(kPod));
  EXPECT_EQ(alias->canonical_name, kAliasTarget);
  dns_->ReplyTo(kServiceInFull, DnsReply::kAddresses, DnsReply::kNone);
  const auto own = ResolveName(kServiceAbsolute);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(absl::StripSuffix(own->canonical_name, "."), kServiceInFull);
}

// A server that could not resolve an alias's target may return only the alias.
TEST_F(NameFailuresTest, AnAliasOfAnUnresolvableNameIsUnknown) {
  Begin();
  const struct {
    DnsReply target;
    const char* why;
  } cases[] = {
      {DnsReply::kServerFailure, "A of elsewhere.example: SERVFAIL"},
      {DnsReply::kAddresses, "A of elsewhere.example is answered by now"},
      {DnsReply::kAlias, "A of agents.gpu.svc.cluster.local.: more than 8 aliases"},
  };
  for (const auto& each : cases) {
    dns_->ReplyAs({.name = kServiceInFull,
                   .ipv4 = DnsReply::kAlias,
                   .ipv6 = DnsReply::kAlias,
                   .target = each.target});
    EXPECT_EQ(AddressesOf(kServiceAbsolute).status(),
              absl::UnavailableError(absl::StrCat(kServiceAbsolute, ": ", each.why)));
  }
  dns_->ReplyAs(
      {.name = kServiceInFull, .ipv4 = DnsReply::kServerFailure, .ipv6 = DnsReply::kAlias});
  EXPECT_EQ(AddressesOf(kServiceAbsolute).status().code(), absl::StatusCode::kUnavailable);
}

// An absolute Service name is not looked up in the domains of the node's resolv.conf, whether or
// not these are answered.
TEST_F(NameFailuresTest, AnAbsoluteNameSkipsTheSearchList) {
  Begin();
  for (const DnsReply others : {DnsReply::kRefused, DnsReply::kServerFailure}) {
    dns_->ReplyAs({.name = kServiceInFull,
                   .ipv4 = DnsReply::kNoSuchName,
                   .ipv6 = DnsReply::kNoSuchName,
                   .others = others});
    const auto none = ResolveAll(kServiceAbsolute, 6001);
    ASSERT_TRUE(none.ok()) << none.status();
    EXPECT_THAT(*none, IsEmpty());
    EXPECT_EQ(ResolveAll(kService, 6001).status().code(), absl::StatusCode::kUnavailable);
  }
}

TEST_F(NameFailuresTest, AgentsInAnotherClusterDomainAreUnknown) {
  Begin();
  dns_->ReplyTo(kServiceInFull, DnsReply::kNoSuchName, DnsReply::kNoSuchName);
  for (const std::string host : {"agents.gpu.svc.corp.internal", "agents.gpu.svc.corp.internal."}) {
    EXPECT_EQ(ResolveAll(host, 6001).status(),
              absl::UnavailableError(absl::StrCat(host,
                                                  ": no such name, and by this pod's search "
                                                  "list the cluster's domain is cluster.local")));
  }
  for (const char* host : {kService, kServiceInFull, kServiceAbsolute, "agents.example.com"}) {
    const auto none = ResolveAll(host, 6001);
    EXPECT_TRUE(none.ok()) << none.status();
  }
}

// DNS may have recovered between getaddrinfo()'s query and ours.
TEST_F(NameFailuresTest, ANameThatHasAnAddressByNowIsNotAbsent) {
  Begin();
  dns_->ReplyTo(kServiceInFull, DnsReply::kAddresses, DnsReply::kNone);
  EXPECT_EQ(NameWithoutAddress(kService).status(),
            absl::UnavailableError("A of agents.gpu.svc.cluster.local is answered by now"));
}

}  // namespace
}  // namespace gpuscaler
