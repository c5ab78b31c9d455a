#include "fleet/agent_registry.h"

#include "absl/strings/str_split.h"
#include "base/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Listing = std::vector<std::string>;

class AgentRegistryTest : public testing::Test {
 protected:
  void List(const absl::StatusOr<Listing>& answer) {
    registry_.Listed(answer, now_, ++generation_);
    registry_.Forget(now_, ++generation_);
  }
  void Report(const std::string& address, bool more = false) {
    registry_.Received(address, {.node = "gpu", .received_at = now_, .more = more}, ++generation_);
  }
  void Lose(const std::string& address) {
    registry_.Lost(address, absl::UnavailableError("connection refused"));
  }

  // Each agent that has reported and is not forgotten has a node.
  absl::Status Check() const {
    bool any_node = false;
    for (const auto& agent : registry_.agents()) any_node |= !agent.second.node.empty();
    return registry_.CheckReady(any_node, now_);
  }
  std::string Refusal() const {
    EXPECT_EQ(Check().code(), absl::StatusCode::kUnavailable);
    return std::string(Check().message());
  }
  Listing Agents() const {
    Listing addresses;
    for (const auto& agent : registry_.agents()) addresses.push_back(agent.first);
    return addresses;
  }

  // Answers of DNS, without Forget().
  absl::Time At(int seconds) const { return now_ + absl::Seconds(seconds); }
  void Answer(const Listing& answer, int seconds) {
    registry_.Listed(answer, At(seconds), ++generation_);
  }
  Listing Listed() const {
    Listing addresses;
    for (const auto& [address, agent] : registry_.agents()) {
      if (agent.IsListed()) addresses.push_back(address);
    }
    return addresses;
  }
  bool IsForgotten(const std::string& address) const {
    const auto found = registry_.agents().find(address);
    return found == registry_.agents().end() || found->second.IsForgotten();
  }

  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  int64_t generation_ = 0;
  AgentRegistry registry_{{.grace = absl::Seconds(15),
                           .forget_after = absl::Minutes(5),
                           .empty_after = absl::Minutes(1),
                           .stale_after = absl::Seconds(10)}};
};

TEST_F(AgentRegistryTest, UnavailableBeforeTheFirstDnsAnswer) {
  EXPECT_EQ(Refusal(), "the agents are not known yet");
  List(absl::UnavailableError("agents: Temporary failure in name resolution"));
  EXPECT_THAT(Refusal(), HasSubstr("Temporary failure"));
}

TEST_F(AgentRegistryTest, NewAggregatorWaitsForEveryListedAgent) {
  List(Listing{"a:1", "b:1"});
  Report("a:1");
  EXPECT_THAT(Refusal(), HasSubstr("no report of 1 agent yet, b:1")) << "half a fleet scales in";
  Report("b:1");
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRegistryTest, AgentCountsAsReachedAfterItsWholePast) {
  List(Listing{"a:1"});
  Report("a:1", true);
  Refusal();
  Report("a:1");
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRegistryTest, UnreachedAgentIsAwaitedForEmptyAfter) {
  List(Listing{"a:1", "b:1"});
  Report("a:1");
  Lose("b:1");
  now_ += absl::Seconds(59);
  EXPECT_THAT(Refusal(), HasSubstr("b:1: connection refused"))
      << "its replicas may be serving, and other aggregators count them";
  now_ += absl::Seconds(1);
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_THAT(registry_.unreached(), ElementsAre("b:1"));
}

TEST_F(AgentRegistryTest, UnlistedUnreachedAgentIsStillAwaited) {
  List(Listing{"a:1", "b:1"});
  Report("a:1");
  Lose("b:1");
  now_ += absl::Seconds(10);
  List(Listing{"a:1"});
  EXPECT_THAT(Refusal(), HasSubstr("no report of 1 agent yet, b:1: connection refused"));
  now_ += absl::Seconds(49);
  List(Listing{"a:1"});
  EXPECT_THAT(Refusal(), HasSubstr("b:1")) << "half a fleet scales in";
  now_ += absl::Seconds(1);
  EXPECT_TRUE(Check().ok()) << Check() << ": a drained node delays decisions no longer";
}

TEST_F(AgentRegistryTest, UnlistedUnreachedAgentIsNotMissingAfterTheWait) {
  List(Listing{"a:1", "b:1"});
  Report("a:1");
  List(Listing{"a:1"});
  now_ += absl::Seconds(59);
  registry_.Forget(now_, ++generation_);
  EXPECT_THAT(registry_.UnreachedTexts(9), ElementsAre("b:1"));
  now_ += absl::Seconds(1);
  registry_.Forget(now_, ++generation_);
  EXPECT_THAT(registry_.UnreachedTexts(9), IsEmpty());
  EXPECT_EQ(registry_.generation(), generation_) << "decisions must drop the note";
  EXPECT_THAT(Agents(), ElementsAre("a:1", "b:1")) << "it may still report";
}

TEST_F(AgentRegistryTest, UnlistedAgentThatReportsEndsTheWait) {
  List(Listing{"a:1", "b:1"});
  Report("a:1");
  List(Listing{"a:1"});
  Refusal();
  Report("b:1");
  EXPECT_TRUE(Check().ok()) << Check();
}

// The node of the old address is not known, so a report of its successor does not end the wait.
TEST_F(AgentRegistryTest, AgentReplacedDuringTheStartIsAwaitedAtItsOldAddress) {
  List(Listing{"a:1", "old:1"});
  Report("a:1");
  Lose("old:1");
  now_ += absl::Seconds(20);
  List(Listing{"a:1", "new:1"});
  EXPECT_THAT(Refusal(), HasSubstr("old:1: connection refused"));
  now_ += absl::Seconds(30);
  Report("new:1");
  now_ += absl::Seconds(9);
  EXPECT_THAT(Refusal(), HasSubstr("old:1"));
  now_ += absl::Seconds(1);
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRegistryTest, AgentThatJoinsLaterIsNotAwaited) {
  List(Listing{"a:1"});
  Report("a:1");
  now_ += absl::Seconds(20);
  List(Listing{"a:1", "new:1"});
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_THAT(registry_.unreached(), ElementsAre("new:1"));
  List(Listing{"a:1"});
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_THAT(registry_.unreached(), IsEmpty());
}

TEST_F(AgentRegistryTest, UnlistedUnreachedAgentsAreAnEmptyFleetAfterEmptyAfter) {
  List(Listing{"a:1"});
  for (int i = 0; i < 6; ++i) {
    now_ += absl::Seconds(9);
    List(Listing{});
    EXPECT_THAT(Refusal(), HasSubstr("a:1"));
  }
  now_ += absl::Seconds(14);
  EXPECT_THAT(Refusal(), HasSubstr("--empty-after=1m"));
  now_ += absl::Seconds(1);
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRegistryTest, UnavailableWhileNoListedAgentIsReached) {
  List(Listing{"a:1"});
  Lose("a:1");
  now_ += absl::Hours(1);
  EXPECT_THAT(Refusal(), HasSubstr("a:1: connection refused"));
}

TEST_F(AgentRegistryTest, AgentWithoutADriverReportsTheReason) {
  List(Listing{"a:1"});
  registry_.Received("a:1", {.received_at = now_, .trouble = "libnvidia-ml.so.1 not found"}, 2);
  EXPECT_THAT(Refusal(), HasSubstr("libnvidia-ml.so.1 not found"));
}

TEST_F(AgentRegistryTest, LostAgentStaysAsLongAsDnsListsIt) {
  List(Listing{"a:1"});
  Report("a:1");
  Lose("a:1");
  for (int minute = 0; minute < 60; ++minute) {
    now_ += absl::Minutes(1);
    List(Listing{"a:1"});
  }
  EXPECT_THAT(Agents(), ElementsAre("a:1"));
}

TEST_F(AgentRegistryTest, FailingDnsForgetsNoAgent) {
  List(Listing{"a:1"});
  Report("a:1");
  Lose("a:1");
  for (int minute = 0; minute < 60; ++minute) {
    now_ += absl::Minutes(1);
    List(absl::UnavailableError("SERVFAIL"));
  }
  EXPECT_THAT(Agents(), ElementsAre("a:1"));
  EXPECT_EQ(registry_.error(), "SERVFAIL");
  List(Listing{"a:1"});
  EXPECT_EQ(registry_.error(), "");
}

TEST_F(AgentRegistryTest, ConnectedAgentStaysThoughUnlisted) {
  List(Listing{"a:1"});
  Report("a:1");
  for (int minute = 0; minute < 10; ++minute) {
    now_ += absl::Minutes(1);
    List(Listing{});
    Report("a:1");
  }
  EXPECT_THAT(Agents(), ElementsAre("a:1"));
}

TEST_F(AgentRegistryTest, AgentIsForgottenForgetAfterItsLastMessage) {
  List(Listing{"a:1", "b:1"});
  Report("a:1");
  Report("b:1");
  for (int minute = 0; minute < 10; ++minute) {
    now_ += absl::Minutes(1);
    List(Listing{"a:1"});
    Report("b:1");
  }
  Lose("b:1");
  now_ += absl::Minutes(5) - absl::Seconds(1);
  EXPECT_THAT(registry_.Forget(now_, ++generation_), IsEmpty());
  now_ += absl::Seconds(1);
  EXPECT_THAT(registry_.Forget(now_, ++generation_), ElementsAre("b:1"));
  EXPECT_THAT(Agents(), ElementsAre("a:1"));
  EXPECT_EQ(registry_.forgotten(), 1);
}

TEST_F(AgentRegistryTest, MessagesOfForgottenAgentsAreIgnored) {
  EXPECT_FALSE(registry_.Received("a:1", {.node = "gpu", .received_at = now_}, 1));
  EXPECT_FALSE(registry_.Lost("a:1", absl::UnavailableError("connection refused")));
  EXPECT_THAT(Agents(), IsEmpty());
}

TEST_F(AgentRegistryTest, EmptyListIsAnEmptyFleetAfterEmptyAfter) {
  List(Listing{});
  EXPECT_THAT(Refusal(), HasSubstr("--empty-after=1m"));
  now_ += absl::Seconds(55);
  List(Listing{});
  now_ += absl::Seconds(4);
  Refusal();
  now_ += absl::Seconds(1);
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRegistryTest, EmptyAnswerDoesNotCoverTheTimeWhileDnsFails) {
  List(Listing{});
  now_ += absl::Seconds(55);
  List(Listing{});
  List(absl::UnavailableError("SERVFAIL"));
  now_ += absl::Seconds(5);
  EXPECT_THAT(Refusal(), HasSubstr("SERVFAIL"));
}

TEST_F(AgentRegistryTest, ForgottenAgentsThatComeBackTogetherAreAwaited) {
  List(Listing{"a:1", "b:1"});
  for (const char* agent : {"a:1", "b:1"}) {
    Report(agent);
    Lose(agent);
  }
  for (int minute = 0; minute < 6; ++minute) {
    List(Listing{});
    now_ += absl::Minutes(1);
  }
  EXPECT_THAT(Agents(), IsEmpty());
  List(Listing{"a:1", "b:1"});
  Report("a:1");
  EXPECT_THAT(Refusal(), HasSubstr("no report of 1 agent yet, b:1")) << "half a fleet scales in";
  Report("b:1");
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRegistryTest, ReachingAnAgentIsAChange) {
  List(Listing{"a:1", "b:1", "c:1"});
  EXPECT_THAT(registry_.unreached(), ElementsAre("a:1", "b:1", "c:1"));
  Report("b:1");
  EXPECT_THAT(registry_.unreached(), ElementsAre("a:1", "c:1"));
  EXPECT_EQ(registry_.generation(), generation_);
  const int64_t before = registry_.generation();
  Report("b:1");
  EXPECT_EQ(registry_.generation(), before) << "it was reached before";
  Report("a:1");
  EXPECT_THAT(registry_.unreached(), ElementsAre("c:1"));
  EXPECT_EQ(registry_.generation(), generation_);
}

// Three messages of an agent, which is restarted with another interval.
TEST_F(AgentRegistryTest, TooLongIntervalIsLoggedOncePerInterval) {
  List(Listing{"a:1"});
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  const auto log_of = [this](absl::Duration read_every) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
      registry_.Received("a:1",
                         {.node = "gpu-7",
                          .received_at = now_,
                          .readings = {{.snapshot = {.node = "gpu-7", .read_every = read_every}}}},
                         ++generation_);
      Lose("a:1");
    }
    const std::string log = testing::internal::GetCapturedStderr();
    return std::vector<std::string>(absl::StrSplit(log, "agent_interval_too_long"));
  };
  EXPECT_THAT(log_of(absl::ZeroDuration()), SizeIs(1)) << "an old agent does not send it";
  EXPECT_THAT(log_of(absl::Seconds(5)), SizeIs(1));
  EXPECT_THAT(log_of(absl::Seconds(30)),
              ElementsAre(_, HasSubstr("address=a:1 node=gpu-7 read_every_seconds=30 "
                                       "stale_after_seconds=10 what_to_do=")));
  EXPECT_THAT(log_of(absl::Seconds(30)), SizeIs(1)) << "it was logged before";
  EXPECT_THAT(log_of(absl::Milliseconds(5001)), SizeIs(2));
}

TEST_F(AgentRegistryTest, AlternatingTroubleDoesNotFillTheLog) {
  List(Listing{"a:1"});
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) {
    const std::string trouble = i % 2 == 0 ? "driver hangs" : "";
    registry_.Received("a:1", {.node = "gpu-7", .received_at = now_, .trouble = trouble},
                       ++generation_);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(log, "event=agent_reading")), SizeIs(11));
}

TEST_F(AgentRegistryTest, VersionCountsChangesOfTheAgents) {
  List(Listing{"a:1"});
  const int64_t with_a = registry_.version();
  List(Listing{"a:1"});
  Report("a:1");
  EXPECT_EQ(registry_.version(), with_a);
  List(Listing{"b:1"});
  EXPECT_GT(registry_.version(), with_a);
  const int64_t with_both = registry_.version();
  Lose("a:1");
  now_ += absl::Minutes(5);
  List(Listing{"b:1"});
  EXPECT_THAT(Agents(), ElementsAre("b:1"));
  EXPECT_GT(registry_.version(), with_both);
}

TEST_F(AgentRegistryTest, NothingIsKnownBeforeTheFirstAnswer) {
  EXPECT_TRUE(registry_.HasNoAnswer());
  EXPECT_FALSE(registry_.IsEmpty(At(0))) << "unknown is never empty";
  EXPECT_FALSE(registry_.IsEmpty(At(3600)));
}

TEST_F(AgentRegistryTest, AgentThatIsNotListedIsForgottenAfterForgetAfter) {
  Answer({"a", "b"}, 0);
  Answer({"b"}, 10);
  Answer({"b"}, 309);
  EXPECT_FALSE(IsForgotten("a"));
  Answer({"b"}, 310);
  EXPECT_TRUE(IsForgotten("a"));
  EXPECT_THAT(Listed(), ElementsAre("b"));
}

TEST_F(AgentRegistryTest, ListingAnAgentAgainResetsItsAbsence) {
  Answer({"a"}, 0);
  Answer({}, 10);
  Answer({"a"}, 300);
  Answer({}, 310);
  Answer({}, 609);
  EXPECT_FALSE(IsForgotten("a")) << "its absence began again";
}

TEST_F(AgentRegistryTest, InitialAgentsAreAwaitedAndLaterOnesAreNot) {
  Answer({}, 0);
  Answer({"a"}, 20);
  Answer({"a", "b"}, 35);
  Answer({"a", "b", "c"}, 36);
  EXPECT_EQ(registry_.AwaitedUntil("a"), At(80));
  EXPECT_EQ(registry_.AwaitedUntil("b"), At(95)) << "DNS may list the agents one after another";
  EXPECT_EQ(registry_.AwaitedUntil("c"), absl::InfinitePast());
  EXPECT_EQ(registry_.AwaitedUntil("unlisted"), absl::InfinitePast());
}

TEST_F(AgentRegistryTest, HourWithoutAnAnswerForgetsNoAgent) {
  Answer({"a"}, 0);
  Answer({}, 10);
  EXPECT_FALSE(IsForgotten("a"));
  EXPECT_FALSE(registry_.IsEmpty(At(3600)));
}

TEST_F(AgentRegistryTest, EmptyOnceTheAnswerIsEmptyForEmptyAfter) {
  Answer({}, 0);
  EXPECT_FALSE(registry_.IsEmpty(At(0))) << "the Service may be new";
  Answer({}, 51);
  EXPECT_FALSE(registry_.IsEmpty(At(59)));
  EXPECT_TRUE(registry_.IsEmpty(At(60))) << "by the clock, not by the next answer";
  Answer({"a"}, 70);
  EXPECT_FALSE(registry_.IsEmpty(At(70)));
  Answer({}, 80);
  EXPECT_FALSE(registry_.IsEmpty(At(139)));
}

TEST_F(AgentRegistryTest, EmptyAnswerIsValidForTwentySeconds) {
  Answer({}, 0);
  Answer({}, 39);
  EXPECT_FALSE(registry_.IsEmpty(At(3600)));
  Answer({}, 3600);
  EXPECT_TRUE(registry_.IsEmpty(At(7200))) << "without a new answer the last one counts";
}

TEST_F(AgentRegistryTest, AgentsListedAfterAllWereForgottenAreInitialAgain) {
  Answer({"a", "b"}, 0);
  Answer({}, 100);
  Answer({}, 400);
  EXPECT_TRUE(IsForgotten("a"));
  Answer({"a", "b"}, 500);
  EXPECT_EQ(registry_.AwaitedUntil("b"), At(560));
  Answer({"a", "b", "c"}, 516);
  EXPECT_EQ(registry_.AwaitedUntil("c"), absl::InfinitePast()) << "it joined later";
}

TEST_F(AgentRegistryTest, UnknownAddressIsForgotten) {
  Answer({"a"}, 0);
  EXPECT_TRUE(IsForgotten("x"));
}

}  // namespace
}  // namespace gpuscaler
