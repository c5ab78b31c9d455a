#include "serve/profile_suggestion.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1000);

TEST(ProfileSuggestion, SearchesForAMinuteFromTheFirstRequest) {
  ProfileSuggestion suggestion;
  EXPECT_TRUE(suggestion.IsDue(kStart));
  EXPECT_EQ(suggestion.Search(kStart), kStart + absl::Minutes(1));
  EXPECT_FALSE(suggestion.IsDue(kStart + absl::Milliseconds(999)));
  EXPECT_EQ(suggestion.Search(kStart + absl::Milliseconds(999)), std::nullopt);
  EXPECT_TRUE(suggestion.IsDue(kStart + absl::Seconds(59)));
  EXPECT_EQ(suggestion.Search(kStart + absl::Seconds(59)), kStart + absl::Minutes(1));
  EXPECT_FALSE(suggestion.IsDue(kStart + absl::Seconds(60)));
  EXPECT_EQ(suggestion.Search(kStart + absl::Seconds(60)), std::nullopt);
}

TEST(ProfileSuggestion, PausesDoubleToAnHour) {
  ProfileSuggestion suggestion;
  std::vector<int64_t> pauses;
  absl::Time last_search = absl::InfinitePast();
  for (int minute = 0; minute < 600; ++minute) {
    const absl::Time now = kStart + absl::Minutes(minute);
    if (!suggestion.Search(now)) continue;
    if (last_search != absl::InfinitePast()) {
      pauses.push_back(absl::ToInt64Minutes(now - last_search) - 1);
    }
    last_search = now;
  }
  EXPECT_THAT(pauses, testing::ElementsAre(1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, 60));
}

std::vector<Contribution> Replicas(const std::vector<std::string>& names,
                                   Contribution::State state = Contribution::State::kCounted) {
  std::vector<Contribution> replicas;
  for (const std::string& name : names) replicas.push_back({.name = name, .state = state});
  return replicas;
}

TEST(ProfileSuggestion, ANewReplicaEndsThePauseAndTheNextOneIsAMinute) {
  ProfileSuggestion suggestion;
  suggestion.Decided(Replicas({"llm-1", "llm-2"}));
  absl::Time now = kStart;
  for (const absl::Duration pause : {absl::Minutes(1), absl::Minutes(2), absl::Minutes(4)}) {
    ASSERT_TRUE(suggestion.Search(now));
    now += absl::Minutes(1) + pause;
  }
  ASSERT_EQ(suggestion.Search(now), now + absl::Minutes(1));
  now += absl::Minutes(1);
  suggestion.Decided(Replicas({"llm-2", "llm-3"}));
  EXPECT_EQ(suggestion.Search(now), now + absl::Minutes(1)) << "llm-3 replaced llm-1";
  EXPECT_FALSE(suggestion.IsDue(now + absl::Minutes(1)));
  EXPECT_TRUE(suggestion.IsDue(now + absl::Minutes(2)));
}

TEST(ProfileSuggestion, UnchangedAndDepartedReplicasEndNoPause) {
  ProfileSuggestion suggestion;
  ASSERT_TRUE(suggestion.Search(kStart));
  const absl::Time paused = kStart + absl::Minutes(1);
  suggestion.Decided(Replicas({"llm-1", "llm-2"}));
  EXPECT_FALSE(suggestion.IsDue(paused)) << "the look was for them";
  suggestion.Decided(Replicas({"llm-2", "llm-1"}, Contribution::State::kUnreadable));
  EXPECT_FALSE(suggestion.IsDue(paused));
  suggestion.Decided(Replicas({"llm-2"}));
  EXPECT_FALSE(suggestion.IsDue(paused));
  suggestion.Decided(Replicas({"llm-2", "llm-3"}, Contribution::State::kTerminating));
  EXPECT_FALSE(suggestion.IsDue(paused));
  suggestion.Decided(Replicas({"llm-2", "llm-3"}, Contribution::State::kStarting));
  EXPECT_TRUE(suggestion.IsDue(paused));
}

TEST(ProfileSuggestion, SearchEndsWhenAnEngineIsFound) {
  ProfileSuggestion suggestion;
  EXPECT_EQ(suggestion.Note(), "");
  EXPECT_TRUE(suggestion.Found(*ProfileForEngine("vllm")));
  EXPECT_FALSE(suggestion.Found(*ProfileForEngine("vllm")));
  EXPECT_EQ(suggestion.Search(kStart), std::nullopt);
  EXPECT_EQ(suggestion.Note(),
            "engines of vLLM found in this workload's pods: profile vllm-inference reads their "
            "requests and KV cache");
}

}  // namespace
}  // namespace gpuscaler
