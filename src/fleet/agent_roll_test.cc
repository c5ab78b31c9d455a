#include "fleet/agent_roll.h"

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

class AgentRollTest : public testing::Test {
 protected:
  void IsListed(const absl::StatusOr<Listing>& answer) {
    roll_.Listed(answer, now_, ++generation_);
    roll_.Forget(now_, ++generation_);
  }
  void Says(const std::string& address, bool more = false) {
    roll_.Heard(address, {.node = "gpu", .heard_at = now_, .more = more}, ++generation_);
  }
  void IsLost(const std::string& address) {
    roll_.Lost(address, absl::UnavailableError("connection refused"));
  }

  // Each agent that is heard and not forgotten has a node.
  absl::Status Check() const {
    bool any_node = false;
    for (const auto& agent : roll_.agents()) any_node |= !agent.second.node.empty();
    return roll_.CheckReady(any_node, now_);
  }
  std::string Refusal() const {
    EXPECT_EQ(Check().code(), absl::StatusCode::kUnavailable);
    return std::string(Check().message());
  }
  Listing Agents() const {
    Listing addresses;
    for (const auto& agent : roll_.agents()) addresses.push_back(agent.first);
    return addresses;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  int64_t generation_ = 0;
  AgentRoll roll_{{.grace = absl::Seconds(15),
                   .forget_after = absl::Minutes(5),
                   .empty_after = absl::Minutes(1),
                   .stale_after = absl::Seconds(10)}};
};

TEST_F(AgentRollTest, NothingIsDecidedBeforeDnsHasAnswered) {
  EXPECT_EQ(Refusal(), "the agents are not known yet");
  IsListed(absl::UnavailableError("agents: Temporary failure in name resolution"));
  EXPECT_THAT(Refusal(), HasSubstr("Temporary failure"));
}

TEST_F(AgentRollTest, NewAggregatorWaitsUntilItHasHeardOfAll) {
  IsListed(Listing{"a:1", "b:1"});
  Says("a:1");
  EXPECT_THAT(Refusal(), HasSubstr("not heard of 1 agent yet, b:1")) << "half a fleet scales in";
  Says("b:1");
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRollTest, AgentThatStillReplaysItsPastIsNotHeardYet) {
  IsListed(Listing{"a:1"});
  Says("a:1", true);
  Refusal();
  Says("a:1");
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRollTest, AgentThatIsUnheardAtTheStartIsWaitedForUntilItsAbsenceIsBelieved) {
  IsListed(Listing{"a:1", "b:1"});
  Says("a:1");
  IsLost("b:1");
  now_ += absl::Seconds(59);
  EXPECT_THAT(Refusal(), HasSubstr("b:1: connection refused"))
      << "its replicas may be serving, and other aggregators count them";
  now_ += absl::Seconds(1);
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_THAT(roll_.unheard(), ElementsAre("b:1"));
}

TEST_F(AgentRollTest, OneAnswerOfDnsThatLacksAnUnheardAgentDoesNotEndTheWaitForIt) {
  IsListed(Listing{"a:1", "b:1"});
  Says("a:1");
  IsLost("b:1");
  now_ += absl::Seconds(10);
  IsListed(Listing{"a:1"});
  EXPECT_THAT(Refusal(), HasSubstr("not heard of 1 agent yet, b:1: connection refused"));
  now_ += absl::Seconds(49);
  IsListed(Listing{"a:1"});
  EXPECT_THAT(Refusal(), HasSubstr("b:1")) << "half a fleet scales in";
  now_ += absl::Seconds(1);
  EXPECT_TRUE(Check().ok()) << Check() << ": a node that was drained holds nobody up for longer";
}

TEST_F(AgentRollTest, UnheardAgentThatDnsLacksIsMissedNoMoreOnceTheWaitForItIsOver) {
  IsListed(Listing{"a:1", "b:1"});
  Says("a:1");
  IsListed(Listing{"a:1"});
  now_ += absl::Seconds(59);
  roll_.Forget(now_, ++generation_);
  EXPECT_THAT(roll_.UnheardTexts(9), ElementsAre("b:1"));
  now_ += absl::Seconds(1);
  roll_.Forget(now_, ++generation_);
  EXPECT_THAT(roll_.UnheardTexts(9), IsEmpty());
  EXPECT_EQ(roll_.generation(), generation_) << "who said that it is missed says so no more";
  EXPECT_THAT(Agents(), ElementsAre("a:1", "b:1")) << "it may still speak";
}

TEST_F(AgentRollTest, UnheardAgentThatDnsLacksAndThatSpeaksEndsTheWait) {
  IsListed(Listing{"a:1", "b:1"});
  Says("a:1");
  IsListed(Listing{"a:1"});
  Refusal();
  Says("b:1");
  EXPECT_TRUE(Check().ok()) << Check();
}

// Which node it was nobody knows: the wait for the old address is that for the new one.
TEST_F(AgentRollTest, AgentThatIsReplacedWhileAnAggregatorStartsIsWaitedForUnderItsOldAddress) {
  IsListed(Listing{"a:1", "old:1"});
  Says("a:1");
  IsLost("old:1");
  now_ += absl::Seconds(20);
  IsListed(Listing{"a:1", "new:1"});
  EXPECT_THAT(Refusal(), HasSubstr("old:1: connection refused"));
  now_ += absl::Seconds(30);
  Says("new:1");
  now_ += absl::Seconds(9);
  EXPECT_THAT(Refusal(), HasSubstr("old:1"));
  now_ += absl::Seconds(1);
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRollTest, AgentThatJoinsLaterIsNotWaitedForAndNotMissedOnceItIsGone) {
  IsListed(Listing{"a:1"});
  Says("a:1");
  now_ += absl::Seconds(20);
  IsListed(Listing{"a:1", "new:1"});
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_THAT(roll_.unheard(), ElementsAre("new:1"));
  IsListed(Listing{"a:1"});
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_THAT(roll_.unheard(), IsEmpty());
}

TEST_F(AgentRollTest, AgentsThatNobodyHeardAndDnsLacksAreNoGpuNodeAfterEmptyAfter) {
  IsListed(Listing{"a:1"});
  for (int i = 0; i < 6; ++i) {
    now_ += absl::Seconds(9);
    IsListed(Listing{});
    EXPECT_THAT(Refusal(), HasSubstr("a:1"));
  }
  now_ += absl::Seconds(14);
  EXPECT_THAT(Refusal(), HasSubstr("--empty-after=1m"));
  now_ += absl::Seconds(1);
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRollTest, NoneOfTheListedAnswersIsNoAnswer) {
  IsListed(Listing{"a:1"});
  IsLost("a:1");
  now_ += absl::Hours(1);
  EXPECT_THAT(Refusal(), HasSubstr("a:1: connection refused"));
}

TEST_F(AgentRollTest, AgentWithoutADriverSaysWhyThereIsNothing) {
  IsListed(Listing{"a:1"});
  roll_.Heard("a:1", {.heard_at = now_, .trouble = "libnvidia-ml.so.1 not found"}, 2);
  EXPECT_THAT(Refusal(), HasSubstr("libnvidia-ml.so.1 not found"));
}

TEST_F(AgentRollTest, LostAgentStaysAsLongAsDnsListsIt) {
  IsListed(Listing{"a:1"});
  Says("a:1");
  IsLost("a:1");
  for (int minute = 0; minute < 60; ++minute) {
    now_ += absl::Minutes(1);
    IsListed(Listing{"a:1"});
  }
  EXPECT_THAT(Agents(), ElementsAre("a:1"));
}

TEST_F(AgentRollTest, FailingDnsForgetsNobody) {
  IsListed(Listing{"a:1"});
  Says("a:1");
  IsLost("a:1");
  for (int minute = 0; minute < 60; ++minute) {
    now_ += absl::Minutes(1);
    IsListed(absl::UnavailableError("SERVFAIL"));
  }
  EXPECT_THAT(Agents(), ElementsAre("a:1"));
  EXPECT_EQ(roll_.error(), "SERVFAIL");
  IsListed(Listing{"a:1"});
  EXPECT_EQ(roll_.error(), "");
}

TEST_F(AgentRollTest, AgentThatIsHeardIsThereWhateverDnsSays) {
  IsListed(Listing{"a:1"});
  Says("a:1");
  for (int minute = 0; minute < 10; ++minute) {
    now_ += absl::Minutes(1);
    IsListed(Listing{});
    Says("a:1");
  }
  EXPECT_THAT(Agents(), ElementsAre("a:1"));
}

TEST_F(AgentRollTest, AgentIsForgottenSoLongAfterItsLastWordThoughItWasUnlistedBefore) {
  IsListed(Listing{"a:1", "b:1"});
  Says("a:1");
  Says("b:1");
  for (int minute = 0; minute < 10; ++minute) {
    now_ += absl::Minutes(1);
    IsListed(Listing{"a:1"});
    Says("b:1");
  }
  IsLost("b:1");
  now_ += absl::Minutes(5) - absl::Seconds(1);
  EXPECT_THAT(roll_.Forget(now_, ++generation_), IsEmpty());
  now_ += absl::Seconds(1);
  EXPECT_THAT(roll_.Forget(now_, ++generation_), ElementsAre("b:1"));
  EXPECT_THAT(Agents(), ElementsAre("a:1"));
  EXPECT_EQ(roll_.forgotten(), 1);
}

TEST_F(AgentRollTest, WhatForgottenAgentsSayDoesNotCount) {
  EXPECT_FALSE(roll_.Heard("a:1", {.node = "gpu", .heard_at = now_}, 1));
  EXPECT_FALSE(roll_.Lost("a:1", absl::UnavailableError("connection refused")));
  EXPECT_THAT(Agents(), IsEmpty());
}

TEST_F(AgentRollTest, NoGpuNodeAtAllIsBelievedAfterEmptyAfter) {
  IsListed(Listing{});
  EXPECT_THAT(Refusal(), HasSubstr("--empty-after=1m"));
  now_ += absl::Seconds(55);
  IsListed(Listing{});
  now_ += absl::Seconds(4);
  Refusal();
  now_ += absl::Seconds(1);
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRollTest, EmptyAnswerSaysNothingOfTheTimeWhenDnsFails) {
  IsListed(Listing{});
  now_ += absl::Seconds(55);
  IsListed(Listing{});
  IsListed(absl::UnavailableError("SERVFAIL"));
  now_ += absl::Seconds(5);
  EXPECT_THAT(Refusal(), HasSubstr("SERVFAIL"));
}

TEST_F(AgentRollTest, ForgottenAgentsThatComeBackTogetherAreWaitedFor) {
  IsListed(Listing{"a:1", "b:1"});
  for (const char* agent : {"a:1", "b:1"}) {
    Says(agent);
    IsLost(agent);
  }
  for (int minute = 0; minute < 6; ++minute) {
    IsListed(Listing{});
    now_ += absl::Minutes(1);
  }
  EXPECT_THAT(Agents(), IsEmpty());
  IsListed(Listing{"a:1", "b:1"});
  Says("a:1");
  EXPECT_THAT(Refusal(), HasSubstr("not heard of 1 agent yet, b:1")) << "half a fleet scales in";
  Says("b:1");
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(AgentRollTest, AgentsThatAreHeardAreUnheardNoMoreAndThatIsAChange) {
  IsListed(Listing{"a:1", "b:1", "c:1"});
  EXPECT_THAT(roll_.unheard(), ElementsAre("a:1", "b:1", "c:1"));
  Says("b:1");
  EXPECT_THAT(roll_.unheard(), ElementsAre("a:1", "c:1"));
  EXPECT_EQ(roll_.generation(), generation_);
  const int64_t before = roll_.generation();
  Says("b:1");
  EXPECT_EQ(roll_.generation(), before) << "that was known";
  Says("a:1");
  EXPECT_THAT(roll_.unheard(), ElementsAre("c:1"));
  EXPECT_EQ(roll_.generation(), generation_);
}

// Three words of an agent, which is restarted with another interval.
TEST_F(AgentRollTest, AgentThatReadsTooSeldomIsToldOfOnceForEachInterval) {
  IsListed(Listing{"a:1"});
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  const auto log_of = [this](absl::Duration read_every) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
      roll_.Heard("a:1",
                  {.node = "gpu-7",
                   .heard_at = now_,
                   .readings = {{.snapshot = {.node = "gpu-7", .read_every = read_every}}}},
                  ++generation_);
      IsLost("a:1");
    }
    const std::string log = testing::internal::GetCapturedStderr();
    return std::vector<std::string>(absl::StrSplit(log, "agent_reads_too_seldom"));
  };
  EXPECT_THAT(log_of(absl::ZeroDuration()), SizeIs(1)) << "an old one does not tell";
  EXPECT_THAT(log_of(absl::Seconds(5)), SizeIs(1));
  EXPECT_THAT(log_of(absl::Seconds(30)),
              ElementsAre(_, HasSubstr("address=a:1 node=gpu-7 read_every_seconds=30 "
                                       "stale_after_seconds=10 what_to_do=")));
  EXPECT_THAT(log_of(absl::Seconds(30)), SizeIs(1)) << "that was told";
  EXPECT_THAT(log_of(absl::Milliseconds(5001)), SizeIs(2));
}

TEST_F(AgentRollTest, AgentThatIsInTroubleWithEverySecondMessageDoesNotFillTheLog) {
  IsListed(Listing{"a:1"});
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) {
    const std::string trouble = i % 2 == 0 ? "driver hangs" : "";
    roll_.Heard("a:1", {.node = "gpu-7", .heard_at = now_, .trouble = trouble}, ++generation_);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(log, "event=agent_reading")), SizeIs(11));
}

TEST_F(AgentRollTest, VersionCountsUpWithWhomItHas) {
  IsListed(Listing{"a:1"});
  const int64_t with_a = roll_.version();
  IsListed(Listing{"a:1"});
  Says("a:1");
  EXPECT_EQ(roll_.version(), with_a);
  IsListed(Listing{"b:1"});
  EXPECT_GT(roll_.version(), with_a);
  const int64_t with_both = roll_.version();
  IsLost("a:1");
  now_ += absl::Minutes(5);
  IsListed(Listing{"b:1"});
  EXPECT_THAT(Agents(), ElementsAre("b:1"));
  EXPECT_GT(roll_.version(), with_both);
}

}  // namespace
}  // namespace gpuscaler
