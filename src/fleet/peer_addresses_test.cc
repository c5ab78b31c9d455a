#include "fleet/peer_addresses.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ParsePeers, HeadlessServiceByName) {
  const auto option = ParsePeers("dns:///keda-gpu-scaler-agents.gpu.svc:6001");
  ASSERT_TRUE(option.ok()) << option.status();
  EXPECT_FALSE(option->IsFixed());
  EXPECT_EQ(option->host, "keda-gpu-scaler-agents.gpu.svc");
  EXPECT_EQ(option->port, 6001);
}

TEST(ParsePeers, TrailingDotIsNotInTheServerName) {
  const auto option = ParsePeers("dns:///keda-gpu-scaler-agents.gpu.svc.cluster.local.:6001");
  ASSERT_TRUE(option.ok()) << option.status();
  EXPECT_EQ(option->host, "keda-gpu-scaler-agents.gpu.svc.cluster.local.");
  EXPECT_EQ(option->port, 6001);
  EXPECT_EQ(option->ServerName(), "keda-gpu-scaler-agents.gpu.svc.cluster.local");
  EXPECT_EQ(ParsePeers("dns:///agents.gpu.svc:6001")->ServerName(), "agents.gpu.svc");
  EXPECT_EQ(ParsePeers("static:gpu-7:6001")->ServerName(), "") << "each peer has its own name";
}

TEST(ParsePeers, HostMayBeAnIpAddress) {
  EXPECT_EQ(ParsePeers("dns:///10.0.0.7:6001")->host, "10.0.0.7");
  EXPECT_EQ(ParsePeers("dns:///[fd00::7]:6001")->host, "fd00::7") << "as resolvers want it";
}

TEST(ParsePeers, AddressesAreNormalized) {
  EXPECT_THAT(ParsePeers("static:GPU-7:06001,[FD00:0::7]:6001,[fe80::1%eth0]:6001")->addresses,
              ElementsAre("gpu-7:6001", "[fd00::7]:6001", "[fe80::1%eth0]:6001"));
}

TEST(ParsePeers, FixedListOfBothFamiliesAndNames) {
  const auto option = ParsePeers("static:10.0.0.7:6001, [fd00::7]:6001,gpu-7:6002");
  ASSERT_TRUE(option.ok()) << option.status();
  EXPECT_TRUE(option->IsFixed());
  EXPECT_THAT(option->addresses, ElementsAre("10.0.0.7:6001", "[fd00::7]:6001", "gpu-7:6002"));
}

struct Wrong {
  const char* text;
  const char* want;
};

const Wrong kWrong[] = {
    {"", "neither dns:/// nor static:"},
    {"10.0.0.7:6001", "neither dns:/// nor static:"},
    {"dns://agents:6001", "neither dns:/// nor static:"},
    {"dns:///agents", "no port 1-65535 in \"agents\""},
    {"dns:///agents:0", "no port 1-65535 in \"agents:0\""},
    {"dns:///agents:66000", "no port 1-65535"},
    {"dns:///:6001", "no host in \":6001\""},
    {"dns:///no such host!:6001", "\"no such host!\" is no host: a name has letters, digits"},
    {"dns:///300.0.0.1:6001", "\"300.0.0.1\" is no host"},
    {"dns:////agents:6001", "\"/agents\" is no host"},
    {"dns:///agents:6001/", "no port 1-65535 in \"agents:6001/\""},
    {"static:", "an entry of the list is empty"},
    {"static:a:1,,b:2", "an entry of the list is empty"},
    {"static:a:6001,", "an entry of the list is empty"},
    {"static:a b:6001", "\"a b\" is no host"},
    {"static:a+b:6001", "\"a+b\" is no host"},
    {"static:a:+5", "no port 1-65535 in \"a:+5\""},
    {"static:a:0", "no port 1-65535 in \"a:0\""},
    {"static:a:1,b:65536", "no port 1-65535 in \"b:65536\""},
    {"static:a:6001,b:6001,A:6001", "\"A:6001\" is given twice"},
    {"static:[fd00::7]:1,[fd00:0::7]:1", "\"[fd00:0::7]:1\" is given twice"},
    {"static:fd00::7:6001", "\"fd00::7\" is an IPv6 address: write it in brackets"},
    {"static:[fe80::1%]:6001", "\"fe80::1%\" is no IPv6 address"},
    {"static:[gpu-7]:6001", "\"gpu-7\" is no IPv6 address"},
};

TEST(ParsePeers, InvalidValuesAreRefusedWithTheAllowedForms) {
  for (const Wrong& wrong : kWrong) {
    const auto option = ParsePeers(wrong.text);
    EXPECT_EQ(option.status().code(), absl::StatusCode::kInvalidArgument) << wrong.text;
    EXPECT_THAT(std::string(option.status().message()), HasSubstr(wrong.want)) << wrong.text;
    EXPECT_THAT(std::string(option.status().message()), HasSubstr("use dns:///HOST:PORT"));
  }
}

TEST(ResolveAll, LocalhostIsThisMachine) {
  const auto addresses = ResolveAll("localhost", 6001);
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_THAT(*addresses, Contains(testing::AnyOf("127.0.0.1:6001", "[::1]:6001")));
}

TEST(ResolveAll, IpAddressesOfBothFamiliesNeedNoServer) {
  EXPECT_THAT(ResolveAll("10.0.0.7", 6001).value(), ElementsAre("10.0.0.7:6001"));
  EXPECT_THAT(ResolveAll("fd00::7", 6001).value(), ElementsAre("[fd00::7]:6001"));
}

// A resolver with an answer that the test sets, and the answers that were delivered.
class PeerAddressesTest : public testing::Test {
 protected:
  PeerAddresses::Resolver Resolver() {
    return [this](const std::string& host, int port) -> PeerAddresses::Answer {
      MutexLock lock(mutex_);
      EXPECT_EQ(host, "agents");
      EXPECT_EQ(port, 6001);
      return next_;
    };
  }
  std::function<void(const PeerAddresses::Answer&)> Answered() {
    return [this](const PeerAddresses::Answer& answer) {
      MutexLock lock(mutex_);
      answers_.push_back(answer);
      changed_.NotifyAll();
    };
  }
  void Next(PeerAddresses::Answer answer) {
    MutexLock lock(mutex_);
    next_ = std::move(answer);
  }
  // Blocks until there are `count` answers, for 10 s at most.
  std::vector<PeerAddresses::Answer> WaitForAnswers(size_t count) {
    const SteadyClock real;
    const absl::Time deadline = real.Now() + absl::Seconds(10);
    MutexLock lock(mutex_);
    while (answers_.size() < count && real.Now() < deadline) {
      changed_.WaitFor(mutex_, deadline - real.Now());
    }
    return answers_;
  }

  const PeersOption option_{.host = "agents", .port = 6001};
  Mutex mutex_;
  CondVar changed_;
  PeerAddresses::Answer next_ ABSL_GUARDED_BY(mutex_) = std::vector<std::string>{"10.0.0.7:6001"};
  std::vector<PeerAddresses::Answer> answers_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(PeerAddressesTest, ResolvesAtOnceAndPeriodically) {
  PeerAddresses addresses(option_, Answered(), absl::Milliseconds(1), Resolver());
  EXPECT_THAT(WaitForAnswers(1)[0].value(), ElementsAre("10.0.0.7:6001"));
  Next(std::vector<std::string>{"10.0.0.8:6001"});
  const size_t had = WaitForAnswers(0).size();
  EXPECT_THAT(WaitForAnswers(had + 2)[had + 1].value(), ElementsAre("10.0.0.8:6001"));
}

TEST_F(PeerAddressesTest, FailureIsDelivered) {
  Next(absl::UnavailableError("agents: Temporary failure in name resolution"));
  PeerAddresses addresses(option_, Answered(), absl::Hours(1), Resolver());
  EXPECT_EQ(WaitForAnswers(1)[0].status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(PeerAddressesTest, ListsTheHostsOfTheLastGoodAnswer) {
  Next(std::vector<std::string>{"10.0.0.7:6001", "[fd00::7]:6001"});
  PeerAddresses addresses(option_, Answered(), absl::Milliseconds(1), Resolver());
  WaitForAnswers(1);
  EXPECT_TRUE(addresses.Lists("10.0.0.7"));
  EXPECT_TRUE(addresses.Lists("fd00::7"));
  for (const char* other : {"10.0.0.8", "10.0.0", "fd00::", "unix", ""}) {
    EXPECT_FALSE(addresses.Lists(other)) << other;
  }
  Next(absl::UnavailableError("agents: Temporary failure in name resolution"));
  WaitForAnswers(WaitForAnswers(0).size() + 2);
  EXPECT_TRUE(addresses.Lists("10.0.0.7")) << "DNS fails: the last answer stays in use";
  Next(std::vector<std::string>{"10.0.0.8:6001"});
  WaitForAnswers(WaitForAnswers(0).size() + 2);
  EXPECT_FALSE(addresses.Lists("10.0.0.7"));
  EXPECT_TRUE(addresses.Lists("10.0.0.8"));
}

TEST_F(PeerAddressesTest, FixedListIsOneAnswer) {
  PeerAddresses addresses({.addresses = {"10.0.0.7:6001", "gpu-8:6001"}}, Answered());
  EXPECT_THAT(WaitForAnswers(1)[0].value(), ElementsAre("10.0.0.7:6001", "gpu-8:6001"));
  EXPECT_TRUE(addresses.Lists("10.0.0.7"));
  addresses.ResolveSoon();
  EXPECT_THAT(StopAll({addresses.thread()}, absl::ZeroDuration()), IsEmpty());
}

TEST_F(PeerAddressesTest, ResolveSoonResolvesOnceASecondAtMost) {
  const SteadyClock real;
  const absl::Time start = real.Now();
  PeerAddresses addresses(option_, Answered(), absl::Hours(1), Resolver());
  WaitForAnswers(1);
  Next(std::vector<std::string>{"10.0.0.8:6001"});
  for (int i = 0; i < 1000; ++i) addresses.ResolveSoon();
  const std::vector<PeerAddresses::Answer> answers = WaitForAnswers(2);
  EXPECT_GE(real.Now() - start, absl::Seconds(1));
  EXPECT_THAT(StopAll({addresses.thread()}, absl::Seconds(10)), IsEmpty());
  ASSERT_EQ(answers.size(), 2u) << "no second lookup";
  EXPECT_THAT(answers[1].value(), ElementsAre("10.0.0.8:6001"));
  EXPECT_EQ(WaitForAnswers(0).size(), 2u) << "one a second";
}

TEST_F(PeerAddressesTest, StopReportsAHungResolver) {
  Mutex mutex;
  CondVar changed;
  bool is_resolving = false;
  bool release = false;
  PeerAddresses addresses(option_, Answered(), absl::Hours(1),
                          [&](const std::string&, int) -> PeerAddresses::Answer {
                            MutexLock lock(mutex);
                            is_resolving = true;
                            changed.NotifyAll();
                            while (!release) changed.Wait(mutex);
                            return std::vector<std::string>();
                          });
  {
    MutexLock lock(mutex);
    while (!is_resolving) changed.Wait(mutex);
  }
  EXPECT_THAT(StopAll({addresses.thread()}, absl::ZeroDuration()), ElementsAre("peers dns"));
  MutexLock lock(mutex);
  release = true;
  changed.NotifyAll();
}

}  // namespace
}  // namespace gpuscaler
