#include "page/endpoint_addresses.h"

#include <map>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/not_yet.h"
#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

EndpointRules Rules() { return EndpointRules(AllowedEndpoints()); }

std::vector<std::string> Texts(const std::vector<IpAddress>& addresses) {
  std::vector<std::string> texts;
  for (const IpAddress& address : addresses) texts.push_back(IpAddressText(address));
  return texts;
}

TEST(CheckedAddresses, AreSortedDistinctAndOfOneFamily) {
  const auto evaluated = [](const std::vector<std::string>& addresses) {
    return Texts(CheckedAddresses(Rules(), addresses).value());
  };
  EXPECT_THAT(evaluated({}), IsEmpty());
  EXPECT_THAT(evaluated({"10.0.0.8", "10.0.0.7", "10.0.0.8"}), ElementsAre("10.0.0.7", "10.0.0.8"));
  EXPECT_THAT(evaluated({"fd00::7", "fd00::8"}), ElementsAre("fd00::7", "fd00::8"));
  EXPECT_THAT(evaluated({"10.0.0.7", "fd00::7"}), ElementsAre("10.0.0.7"));
}

TEST(CheckedAddresses, OneForbiddenAddressIsAnError) {
  const auto some = CheckedAddresses(Rules(), {"10.0.0.7", "169.254.169.254"});
  EXPECT_EQ(some.status().code(), absl::StatusCode::kPermissionDenied) << some.status();
  EXPECT_THAT(std::string(some.status().message()), HasSubstr("169.254.169.254"));
  const auto linked = CheckedAddresses(Rules(), {"10.0.0.7", "fe80::1%eth0"});
  EXPECT_THAT(Texts(linked.value()), ElementsAre("10.0.0.7")) << "of the family that is not read";
  for (const char* address : {"127.0.0.1", "169.254.169.254", "::1", "fe80::1%eth0"}) {
    const auto none = CheckedAddresses(Rules(), {address});
    EXPECT_EQ(none.status().code(), absl::StatusCode::kPermissionDenied) << address;
    EXPECT_THAT(std::string(none.status().message()), HasSubstr(address));
  }
}

// A scripted DNS. Outlives the threads that query it.
class FakeDns {
 public:
  using Answer = absl::StatusOr<std::vector<std::string>>;

  absl::StatusOr<ResolvedName> Resolve(const std::string& name) {
    MutexLock lock(mutex_);
    ++queries_[name];
    changed_.NotifyAll();
    while (hanging_.contains(name)) changed_.Wait(mutex_);
    const auto alias = aliases_.find(name);
    ResolvedName resolved = {.canonical_name = alias == aliases_.end() ? name : alias->second};
    const auto found = answers_.find(name);
    if (found == answers_.end()) return resolved;
    ASSIGN_OR_RETURN(resolved.addresses, found->second);
    return resolved;
  }
  void SetAlias(const std::string& name, const std::string& canonical_name) {
    MutexLock lock(mutex_);
    aliases_[name] = canonical_name;
  }
  void Set(const std::string& name, Answer answer) {
    MutexLock lock(mutex_);
    answers_.insert_or_assign(name, std::move(answer));
  }
  void Hang(const std::string& name) {
    MutexLock lock(mutex_);
    hanging_.insert(name);
  }
  void LetGo() {
    MutexLock lock(mutex_);
    hanging_.clear();
    changed_.NotifyAll();
  }
  // Waits up to 10 s for that many queries; returns their number.
  int WaitForQueries(const std::string& name, int count) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    MutexLock lock(mutex_);
    while (queries_[name] < count && real.Now() < deadline) {
      changed_.WaitFor(mutex_, deadline - real.Now());
    }
    return queries_[name];
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> aliases_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> hanging_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> queries_ ABSL_GUARDED_BY(mutex_);
};

const EndpointHost kLlm = {.namespace_name = "team-a", .host = "llm"};
const char* const kLlmName = "llm.team-a.svc.cluster.local.";

class EndpointAddressesTest : public testing::Test {
 protected:
  EndpointAddresses::Options Options(absl::Duration interval) {
    return {.interval = interval,
            .retry = absl::Milliseconds(1),
            .resolver = [dns = dns_](const std::string& name) { return dns->Resolve(name); }};
  }
  std::function<void()> Changed() {
    return [this] {
      MutexLock lock(mutex_);
      ++changes_;
      changed_.NotifyAll();
    };
  }
  // Waits up to 10 s until `is` accepts the answer; returns the last one.
  EndpointAddresses::Answer WaitFor(
      const EndpointAddresses& addresses, const EndpointHost& host,
      const std::function<bool(const EndpointAddresses::Answer&)>& is) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    MutexLock lock(mutex_);
    while (!is(addresses.Of(host)) && real.Now() < deadline) {
      changed_.WaitFor(mutex_, deadline - real.Now());
    }
    return addresses.Of(host);
  }
  std::vector<std::string> WaitForAddresses(const EndpointAddresses& addresses, size_t count) {
    const auto answer = WaitFor(addresses, kLlm, [count](const EndpointAddresses::Answer& now) {
      return now.ok() && now->size() == count;
    });
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? Texts(*answer) : std::vector<std::string>();
  }

  const std::shared_ptr<FakeDns> dns_ = std::make_shared<FakeDns>();
  Mutex mutex_;
  CondVar changed_;
  int changes_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST_F(EndpointAddressesTest, HeadlessServiceHasAllItsAddresses) {
  dns_->Set(kLlmName, std::vector<std::string>{"10.0.0.7", "10.0.0.8"});
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Hours(1)));
  EXPECT_EQ(addresses.Of(kLlm).status().code(), absl::StatusCode::kUnavailable) << "not wanted";
  addresses.SetHosts({kLlm});
  EXPECT_THAT(WaitForAddresses(addresses, 2), ElementsAre("10.0.0.7", "10.0.0.8"));
}

TEST_F(EndpointAddressesTest, AddressesFollowDns) {
  dns_->Set(kLlmName, std::vector<std::string>{"10.0.0.7"});
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Milliseconds(1)));
  addresses.SetHosts({kLlm});
  EXPECT_THAT(WaitForAddresses(addresses, 1), ElementsAre("10.0.0.7"));
  dns_->Set(kLlmName, std::vector<std::string>{"10.0.0.8", "10.0.0.9"});
  EXPECT_THAT(WaitForAddresses(addresses, 2), ElementsAre("10.0.0.8", "10.0.0.9"));
  dns_->Set(kLlmName, std::vector<std::string>());
  EXPECT_THAT(WaitForAddresses(addresses, 0), IsEmpty()) << "no pods";
}

TEST_F(EndpointAddressesTest, TheLastAnswerStaysWhileDnsFails) {
  dns_->Set(kLlmName, std::vector<std::string>{"10.0.0.7"});
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Milliseconds(1)));
  addresses.SetHosts({kLlm});
  ASSERT_THAT(WaitForAddresses(addresses, 1), ElementsAre("10.0.0.7"));
  dns_->Set(kLlmName, absl::UnavailableError("Temporary failure in name resolution"));
  const int queries = dns_->WaitForQueries(kLlmName, 0);
  EXPECT_GE(dns_->WaitForQueries(kLlmName, queries + 3), queries + 3);
  EXPECT_THAT(Texts(addresses.Of(kLlm).value()), ElementsAre("10.0.0.7"));
  dns_->Set(kLlmName, std::vector<std::string>{"10.0.0.8", "10.0.0.9"});
  EXPECT_THAT(WaitForAddresses(addresses, 2), ElementsAre("10.0.0.8", "10.0.0.9"));
}

TEST_F(EndpointAddressesTest, UnavailableWithTheReasonBeforeTheFirstAnswer) {
  dns_->Set(kLlmName, absl::UnavailableError("Temporary failure in name resolution"));
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Hours(1)));
  addresses.SetHosts({kLlm});
  const auto answer = WaitFor(addresses, kLlm, [](const EndpointAddresses::Answer& now) {
    return absl::StrContains(now.status().message(), "Temporary");
  });
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable) << answer.status();
  EXPECT_FALSE(IsNotYet(answer.status()));
}

TEST_F(EndpointAddressesTest, FailedLookupsBackOff) {
  std::vector<absl::Duration> pauses;
  for (int failures = 1; failures <= 7; ++failures) {
    pauses.push_back(EndpointAddresses::RetryPause(failures, absl::Seconds(2)));
  }
  EXPECT_THAT(pauses,
              ElementsAre(absl::Seconds(2), absl::Seconds(4), absl::Seconds(8), absl::Seconds(16),
                          absl::Seconds(32), absl::Seconds(60), absl::Seconds(60)));
  EXPECT_EQ(EndpointAddresses::RetryPause(1'000'000, absl::Seconds(2)), absl::Seconds(60));

  dns_->Set(kLlmName, absl::UnavailableError("Temporary failure in name resolution"));
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Milliseconds(1)));
  addresses.SetHosts({kLlm});
  const SteadyClock real;
  const absl::Time before = real.Now();
  EXPECT_EQ(dns_->WaitForQueries(kLlmName, 8), 8);
  EXPECT_GE(real.Now() - before, absl::Milliseconds(90)) << "1 + 2 + ... + 64 ms, less a fifth";
}

TEST_F(EndpointAddressesTest, HangingNamesOfANamespaceDelayNoOther) {
  std::set<EndpointHost> wanted;
  for (const char* host : {"a", "b", "c", "d", "e", "f"}) {
    wanted.insert({.namespace_name = "team-a", .host = host});
    dns_->Hang(absl::StrCat(host, ".team-a.svc.cluster.local."));
  }
  const EndpointHost other = {.namespace_name = "team-b", .host = "llm"};
  wanted.insert(other);
  dns_->Set("llm.team-b.svc.cluster.local.", std::vector<std::string>{"10.0.0.7"});
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Hours(1)));
  addresses.SetHosts(wanted);
  const auto answer = WaitFor(addresses, other, [](const auto& now) { return now.ok(); });
  EXPECT_TRUE(answer.ok()) << answer.status();
  dns_->LetGo();
  for (const char* host : {"a", "b", "c", "d", "e", "f"}) {
    const std::string name = absl::StrCat(host, ".team-a.svc.cluster.local.");
    EXPECT_EQ(dns_->WaitForQueries(name, 1), 1) << "its turn comes too: " << host;
  }
}

TEST_F(EndpointAddressesTest, ANameReboundToLoopbackIsRefused) {
  dns_->Set(kLlmName, std::vector<std::string>{"10.0.0.7"});
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Milliseconds(1)));
  addresses.SetHosts({kLlm});
  ASSERT_THAT(WaitForAddresses(addresses, 1), ElementsAre("10.0.0.7"));
  dns_->Set(kLlmName, std::vector<std::string>{"127.0.0.1"});
  const auto answer = WaitFor(addresses, kLlm, [](const auto& now) { return !now.ok(); });
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kPermissionDenied) << answer.status();
}

// Such as a Service of type ExternalName.
TEST_F(EndpointAddressesTest, ANameThatBecomesAnAliasOutOfTheNamespaceIsRefused) {
  dns_->Set(kLlmName, std::vector<std::string>{"10.0.0.7"});
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Milliseconds(1)));
  addresses.SetHosts({kLlm});
  ASSERT_THAT(WaitForAddresses(addresses, 1), ElementsAre("10.0.0.7"));
  dns_->SetAlias(kLlmName, "redis.team-b.svc.cluster.local");
  const auto answer = WaitFor(addresses, kLlm, [](const auto& now) { return !now.ok(); });
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kPermissionDenied) << answer.status();
  EXPECT_THAT(std::string(answer.status().message()),
              HasSubstr("an alias of redis.team-b.svc.cluster.local"));
  dns_->SetAlias(kLlmName, "vllm.team-a.svc.cluster.local");
  EXPECT_THAT(WaitForAddresses(addresses, 1), ElementsAre("10.0.0.7"));
}

TEST_F(EndpointAddressesTest, AForbiddenNameIsNeverResolved) {
  const EndpointHost other = {.namespace_name = "team-a", .host = "redis.team-b.svc"};
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Hours(1)));
  addresses.SetHosts({kLlm, other});
  EXPECT_EQ(addresses.Of(other).status().code(), absl::StatusCode::kPermissionDenied);
  ASSERT_EQ(dns_->WaitForQueries(kLlmName, 1), 1);
  EXPECT_EQ(dns_->WaitForQueries("redis.team-b.svc.cluster.local.", 0), 0);
}

TEST_F(EndpointAddressesTest, AHangingNameDelaysNoOther) {
  const EndpointHost slow = {.namespace_name = "team-a", .host = "slow"};
  dns_->Hang("slow.team-a.svc.cluster.local.");
  dns_->Set(kLlmName, std::vector<std::string>{"10.0.0.7"});
  const SteadyClock real;
  absl::Time before;
  {
    EndpointAddresses addresses(Rules(), Changed(), Options(absl::Milliseconds(1)));
    addresses.SetHosts({slow});
    ASSERT_EQ(dns_->WaitForQueries("slow.team-a.svc.cluster.local.", 1), 1);
    EXPECT_TRUE(IsNotYet(addresses.Of(slow).status()));
    addresses.SetHosts({slow, kLlm});
    EXPECT_THAT(WaitForAddresses(addresses, 1), ElementsAre("10.0.0.7"));
    before = real.Now();
  }
  EXPECT_LT(real.Now() - before, absl::Seconds(5)) << "it waits for no answer when it ends";
  dns_->LetGo();
}

TEST_F(EndpointAddressesTest, RemovedHostsAreForgotten) {
  dns_->Set(kLlmName, std::vector<std::string>{"10.0.0.7"});
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Hours(1)));
  addresses.SetHosts({kLlm});
  ASSERT_THAT(WaitForAddresses(addresses, 1), ElementsAre("10.0.0.7"));
  addresses.SetHosts({});
  EXPECT_EQ(addresses.Of(kLlm).status().code(), absl::StatusCode::kUnavailable);
  addresses.SetHosts({kLlm});
  EXPECT_THAT(WaitForAddresses(addresses, 1), ElementsAre("10.0.0.7"));
  EXPECT_EQ(dns_->WaitForQueries(kLlmName, 2), 2);
}

TEST_F(EndpointAddressesTest, UnchangedAnswersDoNotCallBack) {
  dns_->Set(kLlmName, std::vector<std::string>{"10.0.0.7"});
  EndpointAddresses addresses(Rules(), Changed(), Options(absl::Milliseconds(1)));
  addresses.SetHosts({kLlm});
  EXPECT_GE(dns_->WaitForQueries(kLlmName, 10), 10);
  MutexLock lock(mutex_);
  EXPECT_EQ(changes_, 1);
}

}  // namespace
}  // namespace gpuscaler
