#include "signal/engine_candidates.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string>& DualStack() {
  static const auto* const addresses = new std::vector<std::string>{"10.1.2.3", "fd00::7"};
  return *addresses;
}

absl::StatusOr<std::vector<EngineCandidate>> Candidates(
    const std::vector<Listener>& listeners,
    const std::vector<std::string>& addresses = DualStack()) {
  return EngineCandidatesOf(listeners, addresses, {8000, 30000, 40000, 80});
}

std::vector<int> Ports(const std::vector<EngineCandidate>& candidates) {
  std::vector<int> ports;
  for (const EngineCandidate& candidate : candidates) ports.push_back(candidate.port);
  return ports;
}

TEST(EngineCandidates, DefaultPortsComeFirstThenTheOthersAscending) {
  const auto candidates = Candidates(
      {{"0.0.0.0", 9000}, {"0.0.0.0", 80}, {"0.0.0.0", 8000}, {"0.0.0.0", 22}, {"0.0.0.0", 30000}});
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  EXPECT_THAT(Ports(*candidates), ElementsAre(8000, 30000, 80, 22, 9000));
}

TEST(EngineCandidates, AreAtTheServersReachableAddresses) {
  struct Row {
    const char* name;
    std::vector<Listener> listeners;
    std::vector<std::string> addresses;
    std::vector<std::string> want;
  };
  const Row rows[] = {
      {"any IPv4", {{"0.0.0.0", 8000}}, DualStack(), {"10.1.2.3"}},
      {"any of both", {{"::", 8000}}, DualStack(), {"10.1.2.3", "fd00::7"}},
      {"any of both, IPv6 first", {{"::", 8000}}, {"fd00::7", "10.1.2.3"}, {"fd00::7", "10.1.2.3"}},
      {"any of both, one family", {{"::", 8000}}, {"fd00::7", "fd00::8"}, {"fd00::7"}},
      {"one socket each", {{"0.0.0.0", 8000}, {"::", 8000}}, DualStack(), {"10.1.2.3", "fd00::7"}},
      {"one address", {{"10.9.9.9", 8000}}, DualStack(), {"10.9.9.9"}},
      {"of two networks the first", {{"0.0.0.0", 8000}}, {"10.1.2.3", "192.168.0.3"}, {"10.1.2.3"}},
      {"loopback besides", {{"127.0.0.1", 8000}, {"10.1.2.3", 8000}}, DualStack(), {"10.1.2.3"}},
      {"several processes at one port",
       {{"0.0.0.0", 8000}, {"0.0.0.0", 8000}},
       DualStack(),
       {"10.1.2.3"}},
  };
  for (const Row& row : rows) {
    const auto candidates = Candidates(row.listeners, row.addresses);
    ASSERT_TRUE(candidates.ok()) << row.name << ": " << candidates.status();
    EXPECT_THAT(*candidates, ElementsAre(EngineCandidate{8000, row.want})) << row.name;
  }
}

// A request may break the workers' protocol.
TEST(EngineCandidates, EphemeralPortsAreSkippedUnlessADefaultPort) {
  const auto candidates = Candidates({{"0.0.0.0", 45123}, {"0.0.0.0", 40000}, {"0.0.0.0", 32767}});
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  EXPECT_THAT(Ports(*candidates), ElementsAre(40000, 32767));
  const auto none = Candidates({{"0.0.0.0", 45123}});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(none.status().message(), HasSubstr("0.0.0.0:45123"));
}

// vLLM's workers while their model loads.
TEST(EngineCandidates, WorkersAloneMeanThatAnEngineIsLoading) {
  const struct {
    const char* name;
    std::vector<Listener> listeners;
    const char* want;
  } rows[] = {
      {"on every address", {{"0.0.0.0", 45123}}, "only workers at 0.0.0.0:45123: it is loading"},
      {"on loopback", {{"127.0.0.1", 45123}}, "only workers at 127.0.0.1:45123: it is loading"},
      {"at a port of their own", {{"127.0.0.1", 29550}}, "127.0.0.1:29550: it is loading"},
      {"of another family", {{"::", 45123}}, "[::]:45123: it is loading"},
  };
  for (const auto& row : rows) {
    const auto candidates = Candidates(row.listeners, {"10.1.2.3"});
    if (candidates.ok()) {
      ADD_FAILURE() << row.name;
      continue;
    }
    EXPECT_EQ(candidates.status().code(), absl::StatusCode::kUnavailable) << row.name;
    EXPECT_THAT(candidates.status().message(), HasSubstr(row.want)) << row.name;
  }
  EXPECT_THAT(Candidates({{"127.0.0.1", 29550}}).status().message(),
              HasSubstr("or has to listen on 0.0.0.0 at a port below 32768"));
}

TEST(EngineCandidates, ErrorsNameTheReason) {
  const auto none = Candidates({});
  EXPECT_EQ(none.status(), absl::UnavailableError("nothing listens in its network yet"));
  const auto within = Candidates({{"127.0.0.1", 8000}, {"::1", 8000}, {"0.0.0.0", 45123}});
  EXPECT_EQ(within.status(),
            absl::FailedPreconditionError("it listens for its own pod alone, at 127.0.0.1:8000, "
                                          "[::1]:8000: an engine has to listen on 0.0.0.0 to be "
                                          "read"));
  EXPECT_THAT(Candidates({{"fe80::1", 8000}}).status().message(), HasSubstr("[fe80::1]:8000"));
  EXPECT_THAT(Candidates({{"0.0.0.0", 8000}}, {}).status().message(), HasSubstr("no address"));
  EXPECT_EQ(Candidates({{"0.0.0.0", 8000}}, {"fd00::7"}).status(),
            absl::FailedPreconditionError("it listens at 0.0.0.0:8000, and its network has no "
                                          "address of that kind"));
}

TEST(EngineCandidates, AreAtMostSixteen) {
  std::vector<Listener> listeners;
  for (int port = 1; port <= 20000; ++port) listeners.push_back({"0.0.0.0", port});
  const auto candidates = Candidates(listeners);
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  EXPECT_EQ(candidates->size(), kMaxEngineCandidates);
  EXPECT_THAT(candidates->front(), (EngineCandidate{8000, {"10.1.2.3"}}));
}

TEST(EngineCandidates, AnAddressAloneHasTheDefaultPorts) {
  EXPECT_THAT(EngineCandidatesAt("10.1.2.3", {8000, 80}),
              ElementsAre(EngineCandidate{8000, {"10.1.2.3"}}, EngineCandidate{80, {"10.1.2.3"}}));
  const std::vector<int> many(100, 8000);
  EXPECT_EQ(EngineCandidatesAt("10.1.2.3", many).size(), kMaxEngineCandidates);
}

}  // namespace
}  // namespace gpuscaler
