#include "serve/trigger_cache.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_fleet_builder.h"
#include "scaling/test_history_builder.h"
#include "trigger/profile.h"

namespace gpuscaler {
namespace {

constexpr StalenessLimits kStaleness{.stale_after = absl::Seconds(6), .grace = absl::Seconds(15)};

externalscaler::ScaledObjectRef Ref(const std::string& name,
                                    const std::map<std::string, std::string>& metadata) {
  externalscaler::ScaledObjectRef ref;
  ref.set_name(name);
  ref.set_namespace_("default");
  for (const auto& [key, value] : metadata) (*ref.mutable_scalermetadata())[key] = value;
  return ref;
}

ProfileStore::Current Version(int64_t version) {
  return {version, std::make_shared<const Profiles>(BuiltInProfiles())};
}

TEST(TriggerCache, OrderOfMetadataDoesNotMatter) {
  TriggerCache cache({});
  externalscaler::ScaledObjectRef forwards = Ref("a", {});
  externalscaler::ScaledObjectRef backwards = Ref("a", {});
  for (int i = 0; i < 50; ++i) {
    (*forwards.mutable_scalermetadata())[absl::StrCat("k", i)] = absl::StrCat(i);
    (*backwards.mutable_scalermetadata())[absl::StrCat("k", 49 - i)] = absl::StrCat(49 - i);
  }
  EXPECT_EQ(cache.Get(forwards), cache.Get(backwards));
}

TEST(TriggerCache, EveryPartOfTheKeyCounts) {
  TriggerCache cache({});
  const auto entry = cache.Get(Ref("a", {{"k", "v"}}));
  EXPECT_NE(cache.Get(Ref("b", {{"k", "v"}})), entry);
  EXPECT_NE(cache.Get(Ref("a", {{"k", "w"}})), entry);
  EXPECT_NE(cache.Get(Ref("a", {{"l", "v"}})), entry);
  EXPECT_NE(cache.Get(Ref("a", {})), entry);
  externalscaler::ScaledObjectRef elsewhere = Ref("a", {{"k", "v"}});
  elsewhere.set_namespace_("other");
  EXPECT_NE(cache.Get(elsewhere), entry);
  EXPECT_EQ(cache.Get(Ref("a", {{"k", "v"}})), entry);
}

TEST(TriggerCache, LeastRecentlyUsedIsDroppedFirst) {
  TriggerCache cache({.triggers = 2});
  const auto a = cache.Get(Ref("a", {}));
  const auto b = cache.Get(Ref("b", {}));
  ASSERT_EQ(cache.Get(Ref("a", {})), a);
  cache.Get(Ref("c", {}));
  EXPECT_EQ(cache.Get(Ref("a", {})), a);
  EXPECT_NE(cache.Get(Ref("b", {})), b);
}

TEST(TriggerCache, LimitsItsBytes) {
  TriggerCache cache({.bytes = 1000});
  const std::string long_value(600, 'x');
  const auto a = cache.Get(Ref("a", {{"k", long_value}}));
  EXPECT_EQ(cache.Get(Ref("a", {{"k", long_value}})), a);
  cache.Get(Ref("b", {{"k", long_value}}));
  EXPECT_NE(cache.Get(Ref("a", {{"k", long_value}})), a);
}

TEST(TriggerCache, DecisionsCountInTheLimit) {
  TriggerCache cache({.bytes = 100'000});
  std::vector<GpuSample> gpus;
  for (int i = 0; i < 200; ++i) gpus.push_back(BusyGpu(i, 60));
  HistoryBuilder builder;
  builder.Tick(gpus);
  const auto large = cache.Get(Ref("large", {{"scope", "fleet"}}));
  const auto small = cache.Get(Ref("small", {{"scope", "fleet"}, {"gpuIndex", "0"}}));
  const auto evaluated = [&](TriggerEntry& trigger) {
    const auto parsed = trigger.Parse(Version(1)).parsed;
    return trigger.Evaluate(DecisionPart::kAll, parsed, FleetOfOne(builder.history()), kStaleness)
        .cached;
  };
  ASSERT_LT(BytesOf(evaluated(*small)->decision), 2000u);
  EXPECT_EQ(cache.Get(Ref("large", {{"scope", "fleet"}})), large);
  EXPECT_EQ(cache.Get(Ref("small", {{"scope", "fleet"}, {"gpuIndex", "0"}})), small);
  const size_t bytes = BytesOf(evaluated(*large)->decision);
  EXPECT_GT(bytes, 200 * sizeof(Contribution));
  TriggerCache narrow({.bytes = bytes});
  const auto first = narrow.Get(Ref("first", {{"scope", "fleet"}}));
  evaluated(*first);
  EXPECT_EQ(narrow.Get(Ref("first", {{"scope", "fleet"}})), first) << "the one used last stays";
  const auto second = narrow.Get(Ref("second", {{"scope", "fleet"}}));
  EXPECT_NE(narrow.Get(Ref("first", {{"scope", "fleet"}})), first) << "names alone are few bytes";
  evaluated(*first);  // a stream may still hold it, but its bytes no longer count
  EXPECT_EQ(narrow.Get(Ref("second", {{"scope", "fleet"}})), second);
}

// 20,000 streams may hold dropped triggers.
TEST(TriggerCache, DroppedTriggerKeepsOnlyItsActivity) {
  TriggerCache cache({.triggers = 1});
  HistoryBuilder builder;
  builder.Tick(std::vector<GpuSample>(200, BusyGpu(0, 60)));
  const auto held = cache.Get(Ref("held", {{"scope", "fleet"}}));
  const auto parsed = held->Parse(Version(1)).parsed;
  const auto evaluated = [&](DecisionPart part) {
    return held->Evaluate(part, parsed, FleetOfOne(builder.history()), kStaleness).cached;
  };
  const auto whole = evaluated(DecisionPart::kAll);
  ASSERT_EQ(whole, held->cached());
  cache.Get(Ref("next", {}));
  EXPECT_LT(BytesOf(held->cached()->decision), 2000u);
  EXPECT_EQ(evaluated(DecisionPart::kActivity), held->cached()) << "it still is right for that";
  EXPECT_EQ(evaluated(DecisionPart::kAll)->decision.contributions.size(),
            whole->decision.contributions.size());
  EXPECT_LT(BytesOf(held->cached()->decision), 2000u);
}

// The streams of 10,000 triggers are evaluated without a look-up.
TEST(TriggerCache, DecisionsBeyondTheLimitAreNotKept) {
  constexpr size_t kMost = 200'000;
  TriggerCache cache({.bytes = kMost});
  HistoryBuilder builder;
  builder.Tick(std::vector<GpuSample>(200, BusyGpu(0, 60)));
  std::vector<std::shared_ptr<TriggerEntry>> triggers;
  for (int i = 0; i < 20; ++i) {
    triggers.push_back(cache.Get(Ref(absl::StrCat(i), {{"scope", "fleet"}})));
  }
  size_t bytes = 0;
  for (const auto& trigger : triggers) {
    const auto parsed = trigger->Parse(Version(1)).parsed;
    const Evaluation evaluation =
        trigger->Evaluate(DecisionPart::kAll, parsed, FleetOfOne(builder.history()), kStaleness);
    EXPECT_EQ(evaluation.cached->decision.contributions.size(), 200u);
    bytes += BytesOf(trigger->cached()->decision);
  }
  EXPECT_LT(bytes, kMost + kMost / 4 + 20 * 2000);
}

TEST(CheckRef, NamesHaveTheLimitOfKubernetes) {
  EXPECT_EQ(CheckRef(Ref(std::string(253, 'a'), {})), absl::OkStatus());
  EXPECT_EQ(CheckRef(Ref(std::string(254, 'a'), {})).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TriggerEntry, DecidesOnceAGeneration) {
  TriggerEntry trigger(Ref("a", {}));
  const auto parsed = trigger.Parse(Version(1)).parsed;
  ASSERT_TRUE(parsed->trigger.ok());
  HistoryBuilder builder;
  builder.Tick({BusyGpu(0, 60)});
  const auto first =
      trigger.Evaluate(DecisionPart::kAll, parsed, FleetOfOne(builder.history()), kStaleness)
          .cached;
  EXPECT_EQ(trigger.Evaluate(DecisionPart::kAll, parsed, FleetOfOne(builder.history()), kStaleness)
                .cached,
            first);
  const auto older = builder.history();
  builder.Tick({BusyGpu(0, 80)});
  const auto second =
      trigger.Evaluate(DecisionPart::kAll, parsed, FleetOfOne(builder.history()), kStaleness)
          .cached;
  EXPECT_NE(second, first);
  EXPECT_EQ(trigger.Evaluate(DecisionPart::kAll, parsed, FleetOfOne(older), kStaleness).cached,
            second)
      << "never back in time";
}

TEST(TriggerEntry, DecisionIsValidUntilTimeMayHaveChangedIt) {
  TriggerEntry trigger(Ref("a", {}));
  const auto parsed = trigger.Parse(Version(1)).parsed;
  ASSERT_TRUE(parsed->trigger.ok());
  HistoryBuilder builder;
  builder.RepeatFor(absl::Minutes(10), {BusyGpu(0, 60)});
  FleetHistory fleet = FleetOfOne(builder.history());
  const auto first = trigger.Evaluate(DecisionPart::kAll, parsed, fleet, kStaleness).cached;
  fleet.now += absl::Seconds(5);
  EXPECT_EQ(trigger.Evaluate(DecisionPart::kAll, parsed, fleet, kStaleness).cached, first)
      << "all that was read is equal";
  fleet.now += absl::Seconds(2);
  const auto stale = trigger.Evaluate(DecisionPart::kAll, parsed, fleet, kStaleness).cached;
  EXPECT_EQ(stale->decision.status.code(), absl::StatusCode::kUnavailable);
}

TEST(TriggerEntry, ActivityIsValidForLongerThanAMovingAverage) {
  TriggerEntry trigger(Ref("a", {{"window", "30s"}}));
  const auto parsed = trigger.Parse(Version(1)).parsed;
  HistoryBuilder builder;
  builder.RepeatFor(absl::Minutes(10), {BusyGpu(0, 60)});
  builder.RepeatFor(kTick, {BusyGpu(0, 90)});
  FleetHistory fleet = FleetOfOne(builder.history());
  const auto first = trigger.Evaluate(DecisionPart::kAll, parsed, fleet, kStaleness).cached;
  fleet.now += absl::Milliseconds(500);
  EXPECT_EQ(trigger.Evaluate(DecisionPart::kActivity, parsed, fleet, kStaleness).cached, first);
  EXPECT_NE(trigger.Evaluate(DecisionPart::kAll, parsed, fleet, kStaleness).cached, first);
}

// An inactive workload and another one that is busy.
class IdleTriggerTest : public testing::Test {
 protected:
  IdleTriggerTest() { builder_.RepeatFor(absl::Minutes(3), {Reading(0, 60)}); }

  static NodeSnapshot Reading(double load, double load_of_other) {
    return Node("gpu-1",
                {{.name = "a-1", .owner = "a", .loads = {load}, .namespace_name = "default"},
                 {.name = "x", .owner = "x", .loads = {load_of_other}}});
  }

  Evaluation Evaluated(DecisionPart part, int64_t profiles = 1) {
    FleetHistory fleet = builder_.fleet();
    fleet.generation = (fleet.now - absl::UnixEpoch()) / kTick;
    return trigger_.Evaluate(part, trigger_.Parse(Version(profiles)).parsed, fleet, kStaleness,
                             received_);
  }

  FleetBuilder builder_;
  const Observations* received_ = nullptr;
  TriggerEntry trigger_{Ref("a", {})};
};

TEST_F(IdleTriggerTest, ActivityNeedsNoDecisionForReadingsOfOthers) {
  const auto first = Evaluated(DecisionPart::kActivity).cached;
  ASSERT_FALSE(first->decision.active);
  for (const double load : {70, 80, 90}) {
    builder_.Tick({Reading(0, load)});
    const Evaluation evaluation = Evaluated(DecisionPart::kActivity);
    EXPECT_EQ(evaluation.cached, first);
    EXPECT_FALSE(evaluation.is_new);
    EXPECT_EQ(evaluation.active_until, builder_.now() + kStaleness.stale_after);
  }
  builder_.Tick({Reading(50, 90)});
  EXPECT_TRUE(Evaluated(DecisionPart::kActivity).cached->decision.active);
}

TEST_F(IdleTriggerTest, ReadingsOfEnginesCauseANewDecision) {
  Observations received{.history = {.generation = 1}, .own = nullptr};
  received_ = &received;
  const auto first = Evaluated(DecisionPart::kActivity).cached;
  builder_.Tick({Reading(0, 70)});
  EXPECT_EQ(Evaluated(DecisionPart::kActivity).cached, first);
  received.history.generation = 2;
  EXPECT_NE(Evaluated(DecisionPart::kActivity).cached, first);
}

// The generation of all engines includes readings of other workloads, so it may be the higher one.
TEST_F(IdleTriggerTest, GenerationsOfAllEnginesAndOfSomeDoNotCompare) {
  Observations all{.history = {.generation = 9}, .own = nullptr};
  received_ = &all;
  const auto first = Evaluated(DecisionPart::kAll).cached;
  EXPECT_EQ(Evaluated(DecisionPart::kAll).cached, first);
  Observations some{.history = {.generation = 5},
                    .own = std::make_shared<const WorkloadPodNames>()};
  received_ = &some;
  const auto second = Evaluated(DecisionPart::kAll).cached;
  EXPECT_NE(second, first);
  EXPECT_EQ(Evaluated(DecisionPart::kAll).cached, second);
}

TEST_F(IdleTriggerTest, AllButActivityNeedsANewDecision) {
  const auto first = Evaluated(DecisionPart::kActivity).cached;
  builder_.Tick({Reading(0, 70)});
  ASSERT_EQ(Evaluated(DecisionPart::kActivity).cached, first);
  const auto second = Evaluated(DecisionPart::kAll).cached;
  EXPECT_EQ(second->decision.taken_at, builder_.now());
  EXPECT_EQ(Evaluated(DecisionPart::kActivity).cached, second);
}

TEST_F(IdleTriggerTest, NewProfilesCauseANewDecision) {
  const auto first = Evaluated(DecisionPart::kActivity).cached;
  builder_.Tick({Reading(0, 70)});
  EXPECT_NE(Evaluated(DecisionPart::kActivity, 2).cached, first);
}

TEST(TriggerEntry, NewProfilesAreParsedAndEvaluated) {
  TriggerEntry trigger(Ref("a", {{"profile", "ours"}}));
  EXPECT_FALSE(trigger.Parse(Version(1)).parsed->trigger.ok());
  auto profiles = std::make_shared<Profiles>(BuiltInProfiles());
  (*profiles)["ours"] = Profile{.trigger = {.profile = "ours", .target = 42}};
  const auto parsed = trigger.Parse({2, profiles}).parsed;
  ASSERT_TRUE(parsed->trigger.ok()) << parsed->trigger.status();
  EXPECT_EQ(parsed->trigger->target, 42);
  EXPECT_EQ(trigger.Parse({2, profiles}).parsed, parsed);

  HistoryBuilder builder;
  builder.Tick({BusyGpu(0, 60)});
  const auto first =
      trigger.Evaluate(DecisionPart::kAll, parsed, FleetOfOne(builder.history()), kStaleness)
          .cached;
  const auto next = trigger.Parse({3, profiles}).parsed;
  EXPECT_NE(
      trigger.Evaluate(DecisionPart::kAll, next, FleetOfOne(builder.history()), kStaleness).cached,
      first);
}

TEST(TriggerEntry, LeaseGrowsWithTheGapsBetweenRequests) {
  TriggerEntry trigger(Ref("a", {}));
  absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  EXPECT_EQ(trigger.LeaseFrom(now) - now, absl::Seconds(90)) << "the first request";
  now += absl::Seconds(15);
  EXPECT_EQ(trigger.LeaseFrom(now) - now, absl::Seconds(90));
  now += absl::Minutes(5);
  EXPECT_EQ(trigger.LeaseFrom(now) - now, absl::Minutes(15));
  now += absl::Seconds(15);
  EXPECT_EQ(trigger.LeaseFrom(now) - now, absl::Minutes(15));
}

TEST(TriggerEntry, ExpectedGapCountsLikeOneBetweenRequests) {
  TriggerEntry trigger(Ref("a", {}));
  absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  EXPECT_EQ(trigger.LeaseFrom(now, absl::Minutes(10)) - now, absl::Minutes(30));
  now += absl::Minutes(12);
  EXPECT_EQ(trigger.LeaseFrom(now, absl::Minutes(10)) - now, absl::Minutes(36));
  EXPECT_EQ(trigger.LeaseFrom(now, absl::Hours(24)) - now, absl::Hours(3));
}

TEST(TriggerEntry, LeaseAtZeroKeepsKedasIntervalAfterDaysOfHpaRequests) {
  TriggerEntry trigger(Ref("a", {}));
  absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  trigger.LeaseFrom(now);
  now += absl::Minutes(5);  // pollingInterval, at zero
  trigger.LeaseFrom(now);
  for (int request = 0; request < 3 * 24 * 60 * 4; ++request) {
    now += absl::Seconds(15);
    trigger.LeaseFrom(now);
  }
  EXPECT_EQ(trigger.LeaseFrom(now) - now, absl::Minutes(15));
}

TEST(TriggerEntry, GapOfAnOutageExpires) {
  TriggerEntry trigger(Ref("a", {}));
  absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  trigger.LeaseFrom(now);
  now += absl::Hours(7);
  EXPECT_EQ(trigger.LeaseFrom(now) - now, absl::Hours(3));
  for (int hour = 0; hour < 14 * 24; ++hour) {
    for (int request = 0; request < 120; ++request) {
      now += absl::Seconds(30);
      trigger.LeaseFrom(now);
    }
  }
  EXPECT_EQ(trigger.LeaseFrom(now) - now, absl::Seconds(90)) << "three of KEDA's intervals";
}

}  // namespace
}  // namespace gpuscaler
