#include "fleet/node_tracks.h"

#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr absl::Duration kJoinWithin = absl::Seconds(5);

class NodeTracksTest : public testing::Test {
 protected:
  explicit NodeTracksTest(const Leases* leases = nullptr)
      : tracks_({.limits = {.horizon = absl::Minutes(15), .join_within = kJoinWithin},
                 .leases = leases,
                 .forget_after = absl::Minutes(5)}) {}

  static uint64_t InstanceOf(const std::string& address) {
    return std::hash<std::string>()(address);
  }
  AgentNews NewsOf(const std::string& address, const std::string& node) const {
    return {.node = node, .instance = InstanceOf(address), .heard_at = now_};
  }
  void Heard(const std::string& address, AgentNews news) {
    tracks_.Heard(address, std::move(news), now_, ++generation_);
  }

  // A reading of a node of one GPU, which a pod of `namespace_name` holds.
  void Says(const std::string& address, const std::string& node, double utilization_percent = 50,
            const std::string& namespace_name = "team-a") {
    NodeSnapshot snapshot = SnapshotOf(1, now_, node);
    snapshot.gpus[0].utilization_percent = utilization_percent;
    AddPods(snapshot);
    snapshot.pods[0].namespace_name = namespace_name;
    AgentNews news = NewsOf(address, node);
    news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    Heard(address, std::move(news));
  }
  void SaysNothingNew(const std::string& address, const std::string& node) {
    AgentNews news = NewsOf(address, node);
    news.unchanged_until = now_;
    Heard(address, std::move(news));
  }
  void IsLost(const std::string& address) {
    tracks_.Lost(address, absl::UnavailableError("connection refused"), ++generation_);
  }

  FleetHistory Fleet() const {
    FleetHistory fleet{.now = now_};
    for (const std::string& name : tracks_.Names()) tracks_.Add(name, fleet);
    return fleet;
  }
  NodeTrack Track(const std::string& name) const {
    FleetHistory fleet{.now = now_};
    tracks_.Add(name, fleet);
    return fleet.nodes[0];
  }
  std::optional<double> UtilizationOf(const std::string& node) const {
    return Track(node).history->Newest().gpus[0].utilization_percent;
  }
  std::set<std::string> NodesOf(const std::string& namespace_name) const {
    return tracks_.index().Of({.namespaces = {namespace_name}}).names;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  int64_t generation_ = 0;
  NodeTracks tracks_;
};

TEST_F(NodeTracksTest, SameNodeTwiceIsTheOneThatConnectedLast) {
  Says("old:1", "gpu-a", 10);
  now_ += absl::Seconds(1);
  Says("new:1", "gpu-a", 90);
  now_ += absl::Seconds(1);
  Says("old:1", "gpu-a", 10);
  EXPECT_THAT(tracks_.Names(), ElementsAre("gpu-a"));
  EXPECT_EQ(UtilizationOf("gpu-a"), 90);
  EXPECT_FALSE(tracks_.IsSuperseded("new:1"));
  EXPECT_TRUE(tracks_.IsSuperseded("old:1"));
  EXPECT_EQ(tracks_.NewestOf("old:1"), absl::InfinitePast());
}

TEST_F(NodeTracksTest, OlderAgentSpeaksAgainWhenTheNewerOneIsLost) {
  Says("old:1", "gpu-a", 10);
  now_ += absl::Seconds(1);
  Says("new:1", "gpu-a", 90);
  IsLost("new:1");
  now_ += absl::Seconds(1);
  Says("old:1", "gpu-a", 10);
  EXPECT_EQ(UtilizationOf("gpu-a"), 10);
  EXPECT_EQ(Track("gpu-a").silence, "");
}

TEST_F(NodeTracksTest, RestartedAgentOfANewAddressContinuesItsNode) {
  Says("old:1", "gpu-a");
  IsLost("old:1");
  now_ += absl::Seconds(3);
  Says("new:1", "gpu-a");
  EXPECT_THAT(tracks_.Names(), ElementsAre("gpu-a"));
  EXPECT_EQ(Track("gpu-a").history->stretches.size(), 2u);
  tracks_.Forget("old:1", ++generation_);
  EXPECT_THAT(tracks_.Names(), ElementsAre("gpu-a"))
      << "the old address is forgotten, not the node";
}

TEST_F(NodeTracksTest, NodeIsForgottenWithItsAgent) {
  Says("a:1", "gpu-a");
  IsLost("a:1");
  tracks_.Forget("a:1", ++generation_);
  EXPECT_TRUE(tracks_.empty());
  EXPECT_THAT(NodesOf("team-a"), IsEmpty());
  EXPECT_EQ(tracks_.generation(), generation_);
}

TEST_F(NodeTracksTest, TwoAddressesOfOneAgentAreOneVoice) {
  for (const char* address : {"10.0.0.7:1", "[fd00::7]:1"}) {
    AgentNews news{.node = "gpu-a", .instance = 42, .heard_at = now_};
    news.readings.push_back(
        {.before_until = std::nullopt, .snapshot = SnapshotOf(1, now_, "gpu-a")});
    Heard(address, std::move(news));
  }
  EXPECT_THAT(tracks_.Names(), ElementsAre("gpu-a"));
  EXPECT_TRUE(tracks_.IsSuperseded("[fd00::7]:1"));
}

// The second stream tells changes of readings that were passed over while the first one spoke.
TEST_F(NodeTracksTest, OtherStreamOfAnAgentSpeaksOnceItHasToldAllAgain) {
  const auto says = [this](const std::string& address, std::optional<double> utilization_percent) {
    AgentNews news{.node = "gpu-a", .instance = 42, .heard_at = now_};
    if (utilization_percent) {
      NodeSnapshot snapshot = SnapshotOf(1, now_, "gpu-a");
      snapshot.gpus[0].utilization_percent = utilization_percent;
      news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    } else {
      news.unchanged_until = now_;
    }
    Heard(address, std::move(news));
  };
  says("10.0.0.7:1", 10);
  says("[fd00::7]:1", 10);
  EXPECT_THAT(tracks_.LackingPast(now_), IsEmpty());
  now_ += absl::Seconds(1);
  const absl::Time read_at = tracks_.NewestAt();
  says("[fd00::7]:1", 95);
  IsLost("10.0.0.7:1");
  now_ += absl::Seconds(1);
  says("[fd00::7]:1", std::nullopt);
  EXPECT_EQ(tracks_.NewestAt(), read_at) << "the 10 % were not found again";
  ASSERT_THAT(tracks_.LackingPast(now_), ElementsAre("[fd00::7]:1"));
  tracks_.TellsAgain("[fd00::7]:1", now_);
  says("[fd00::7]:1", 95);
  EXPECT_EQ(UtilizationOf("gpu-a"), 95);
  EXPECT_EQ(Track("gpu-a").silence, "");
  EXPECT_THAT(tracks_.LackingPast(now_), IsEmpty());
}

TEST_F(NodeTracksTest, AgentFallsSilentWhenItsTracksWereSaidToStandNoLonger) {
  Says("a:1", "gpu-a");
  Says("b:1", "gpu-b");
  now_ += absl::Seconds(1);
  Says("b:1", "gpu-b");
  const int64_t before = tracks_.generation();
  EXPECT_EQ(Fleet().stands_until, now_ + absl::Seconds(3)) << "of the one heard first";
  now_ += absl::Seconds(3);
  EXPECT_EQ(Track("gpu-a").silence, "");
  now_ += absl::Nanoseconds(1);
  EXPECT_EQ(Track("gpu-a").silence, "it has fallen silent");
  EXPECT_EQ(Track("gpu-b").silence, "");
  EXPECT_EQ(tracks_.generation(), before) << "nothing was heard";
}

TEST_F(NodeTracksTest, AgentThatDoesNotKnowItsNodeYetSpeaksForNone) {
  Says("a:1", "gpu-a", 90);
  IsLost("a:1");
  now_ += absl::Seconds(16);
  Heard("a:1", {.heard_at = now_, .trouble = "no GPU snapshot yet"});
  EXPECT_EQ(Track("gpu-a").silence, "connection refused") << "its pods are still there";
  Says("a:1", "gpu-a", 80);
  EXPECT_EQ(Track("gpu-a").silence, "");
}

TEST_F(NodeTracksTest, AddressThatIsAnotherNodesNowLeavesItsNodeSilentUntilItIsForgotten) {
  Says("a:1", "gpu-a", 90);
  now_ += absl::Seconds(1);
  Says("a:1", "gpu-b", 10);
  EXPECT_THAT(tracks_.Names(), ElementsAre("gpu-a", "gpu-b"));
  EXPECT_EQ(Track("gpu-a").silence, "its agent is of node gpu-b now");
  now_ += absl::Minutes(5) - absl::Seconds(1);
  tracks_.ForgetNodesLeft(now_, ++generation_);
  EXPECT_THAT(tracks_.Names(), ElementsAre("gpu-a", "gpu-b"));
  now_ += absl::Seconds(1);
  tracks_.ForgetNodesLeft(now_, ++generation_);
  EXPECT_THAT(tracks_.Names(), ElementsAre("gpu-b"));
}

TEST_F(NodeTracksTest, OfTheNodesThatAnAddressHasLeftTheLastOneIsKept) {
  for (const char* node : {"gpu-a", "gpu-b", "gpu-c", "gpu-d"}) {
    now_ += absl::Seconds(1);
    Says("a:1", node);
  }
  EXPECT_THAT(tracks_.Names(), ElementsAre("gpu-c", "gpu-d"));
  EXPECT_EQ(Track("gpu-c").silence, "its agent is of node gpu-d now");
}

TEST_F(NodeTracksTest, NodeThatLostItsAddressIsHeardFromAnother) {
  Says("b:1", "gpu-b");
  Says("a:1", "gpu-a");
  now_ += absl::Seconds(1);
  Says("a:1", "gpu-b");
  EXPECT_EQ(Track("gpu-a").silence, "its agent is of node gpu-b now");
  Says("b:1", "gpu-a");
  ASSERT_THAT(tracks_.Names(), ElementsAre("gpu-a", "gpu-b"));
  EXPECT_EQ(Track("gpu-a").silence, "");
  EXPECT_EQ(Track("gpu-b").silence, "");
  tracks_.ForgetNodesLeft(now_ + absl::Minutes(6), ++generation_);
  EXPECT_THAT(tracks_.Names(), ElementsAre("gpu-a", "gpu-b"));
}

TEST_F(NodeTracksTest, HeartbeatIsNoChangeUntilTheNodeWasSilentOrStale) {
  Says("a:1", "gpu-a");
  const auto changes = [&](absl::Duration after) {
    now_ += after;
    SaysNothingNew("a:1", "gpu-a");
    EXPECT_EQ(Track("gpu-a").heard_at, now_);
    EXPECT_EQ(Track("gpu-a").history->NewestAt(), now_);
    return tracks_.generation() == generation_;
  };
  EXPECT_FALSE(changes(absl::Milliseconds(1500)));
  EXPECT_FALSE(changes(absl::Milliseconds(3500)));
  EXPECT_TRUE(changes(absl::Milliseconds(4500))) << "it had fallen silent";
  EXPECT_FALSE(changes(absl::Milliseconds(1500)));
  IsLost("a:1");
  EXPECT_TRUE(changes(absl::Milliseconds(100))) << "it is back";
}

TEST_F(NodeTracksTest, PodsThatEndedBeforeAnAggregatorBeganAreLookedBackOn) {
  AgentNews past = NewsOf("a:1", "gpu-a");
  for (const int minutes_ago : {10, 5, 0}) {
    NodeSnapshot snapshot = SnapshotOf(1, now_ - absl::Minutes(minutes_ago), "gpu-a");
    AddPods(snapshot);
    snapshot.gpus[0].utilization_percent = 10 + minutes_ago;
    snapshot.pods[0].namespace_name = minutes_ago == 10 ? "team-a" : "team-b";
    past.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
  }
  Heard("a:1", std::move(past));
  EXPECT_THAT(NodesOf("team-a"), ElementsAre("gpu-a")) << "else inactive at once";
}

TEST_F(NodeTracksTest, NamespaceOfAReadingThatStoodForHoursIsLookedBackOn) {
  Says("a:1", "gpu-a", 0, "team-a");
  for (int minute = 0; minute < 60; ++minute) {
    now_ += absl::Minutes(1);
    SaysNothingNew("a:1", "gpu-a");
  }
  now_ += absl::Seconds(1);
  Says("a:1", "gpu-a", 0, "team-b");
  EXPECT_THAT(NodesOf("team-a"), ElementsAre("gpu-a")) << "its pod was there a second ago";
}

TEST_F(NodeTracksTest, HeartbeatsAloneForgetPodsThatEndedLongAgo) {
  Says("a:1", "gpu-a", 0, "team-a");
  now_ += absl::Seconds(1);
  Says("a:1", "gpu-a", 0, "team-b");
  for (int second = 0; second <= 15 * 60; ++second) {
    now_ += absl::Seconds(1);
    SaysNothingNew("a:1", "gpu-a");
  }
  EXPECT_THAT(NodesOf("team-a"), IsEmpty());
  EXPECT_THAT(NodesOf("team-b"), ElementsAre("gpu-a"));
}

// How much of the past is kept follows how far decisions look back.
class LookedBackOnTest : public NodeTracksTest {
 protected:
  LookedBackOnTest() : NodeTracksTest(&leases_) {}

  // From now on, for an hour; without namespaces of all.
  void LooksBack(const std::set<std::string>& namespaces, absl::Duration look_back) {
    leases_.RenewLookBack({namespaces.begin(), namespaces.end()}, look_back, now_,
                          now_ + absl::Hours(1));
  }
  // Readings of nobody's GPU, so many minutes after the start.
  void Tells(uint64_t instance, const std::vector<int>& minutes, bool more = false) {
    AgentNews news{.node = "gpu-a", .instance = instance, .heard_at = now_, .more = more};
    for (const int minute : minutes) {
      news.readings.push_back({.before_until = std::nullopt,
                               .snapshot = SnapshotOf(1, start_ + absl::Minutes(minute), "gpu-a")});
    }
    Heard("a:1", std::move(news));
  }
  absl::Duration Kept(const std::string& node) const {
    const NodeTrack track = Track(node);
    return track.history->NewestAt() - track.history->stretches.front().first;
  }

  Leases leases_;
  const absl::Time start_ = now_;
};

TEST_F(LookedBackOnTest, AsMuchOfThePastIsKeptAsIsLookedBackOn) {
  const auto read_for = [&](absl::Duration duration) {
    for (const absl::Time end = now_ + duration; now_ < end;) {
      now_ += absl::Seconds(1);
      const auto watts = static_cast<double>(absl::ToUnixSeconds(now_) % 100);
      for (const std::string team : {"a", "b"}) {
        Says(team, absl::StrCat("gpu-", team), watts, absl::StrCat("team-", team));
      }
    }
  };
  // Of the two minutes, a reading before them and a margin.
  const absl::Duration always = kShortestLookBack + kJoinWithin + absl::Seconds(10);
  read_for(absl::Minutes(20));
  EXPECT_EQ(Kept("gpu-a"), always);
  LooksBack({"team-a"}, absl::Minutes(5));
  read_for(absl::Minutes(20));
  EXPECT_EQ(Kept("gpu-a"), always + absl::Minutes(3));
  EXPECT_EQ(Kept("gpu-b"), always) << "another namespace's node";
  LooksBack({}, absl::Minutes(15));
  read_for(absl::Minutes(20));
  EXPECT_EQ(Kept("gpu-b"), absl::Minutes(15)) << "no more than the limits";
}

TEST_F(LookedBackOnTest, PastThatIsToldAgainTakesThePlaceOfWhatIsKeptOnceItIsComplete) {
  now_ += absl::Minutes(10);
  // Readings of each second from `from` to `until`.
  const auto tell = [&](absl::Duration from, absl::Duration until, bool more) {
    AgentNews news{.node = "gpu-a", .instance = 1, .heard_at = now_, .more = more};
    for (absl::Duration at = from; at < until; at += absl::Seconds(1)) {
      NodeSnapshot snapshot = SnapshotOf(1, start_ + at, "gpu-a");
      snapshot.gpus[0].power_watts = absl::ToDoubleSeconds(at);
      AddPods(snapshot);
      news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    }
    Heard("a:1", std::move(news));
  };
  const absl::Duration all = absl::Minutes(10);
  tell(absl::ZeroDuration(), all, false);
  EXPECT_LT(Kept("gpu-a"), absl::Minutes(3));
  EXPECT_THAT(tracks_.LackingPast(now_), IsEmpty());
  LooksBack({"team-a"}, absl::Minutes(5));
  EXPECT_THAT(tracks_.LackingPast(now_), ElementsAre("a:1"));
  tracks_.TellsAgain("a:1", now_);
  EXPECT_THAT(tracks_.LackingPast(now_), IsEmpty()) << "it is at it";
  tell(absl::ZeroDuration(), all / 2, true);
  EXPECT_EQ(tracks_.NewestAt(), start_ + all - absl::Seconds(1))
      << "half of it says nothing of now";
  tell(all / 2, all, false);
  EXPECT_GE(Kept("gpu-a"), absl::Minutes(5));
  EXPECT_THAT(tracks_.LackingPast(now_), IsEmpty());
  tell(all, all + absl::Seconds(1), false);
  EXPECT_GE(Kept("gpu-a"), absl::Minutes(5)) << "and goes on";
}

TEST_F(LookedBackOnTest, PastThatCannotBeToldIsAskedForOnce) {
  now_ += absl::Minutes(4);
  Tells(1, {0, 1, 4});
  LooksBack({}, absl::Minutes(5));
  ASSERT_THAT(tracks_.LackingPast(now_), ElementsAre("a:1"));
  tracks_.TellsAgain("a:1", now_);
  IsLost("a:1");
  Tells(1, {5});
  EXPECT_THAT(tracks_.LackingPast(now_), IsEmpty());
  EXPECT_EQ(Track("gpu-a").history->forgotten_until, start_) << "what is kept stays";
}

TEST_F(LookedBackOnTest, AgentThatHasJustBegunTakesNothingOfThePastAway) {
  now_ += absl::Minutes(10);
  Tells(1, {0, 1, 8, 9});
  const absl::Time kept_since = Track("gpu-a").history->stretches.front().first;
  LooksBack({}, absl::Minutes(5));
  tracks_.TellsAgain("a:1", now_);
  Tells(2, {10}, true);
  EXPECT_EQ(tracks_.NewestAt(), start_ + absl::Minutes(10)) << "what is new is not held up";
  Tells(2, {11});
  EXPECT_EQ(Track("gpu-a").history->stretches.front().first, kept_since);
  EXPECT_EQ(tracks_.NewestAt(), start_ + absl::Minutes(11));
  EXPECT_THAT(tracks_.LackingPast(now_), IsEmpty()) << "there is no more to be told";
}

size_t LinesOf(absl::string_view event, const std::string& log) {
  return std::vector<absl::string_view>(absl::StrSplit(log, event)).size() - 1;
}

TEST_F(NodeTracksTest, AgentThatGoesFromNodeToNodeWithEachMessageDoesNotFillTheLog) {
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) {
    Says("a:1", absl::StrCat("gpu-", i));
    now_ += absl::Milliseconds(1);
  }
  now_ += absl::Minutes(1);
  Says("a:1", "gpu-again");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(LinesOf("event=node_left", log), 11u);
  EXPECT_LE(LinesOf("event=node_forgotten", log), 11u);
  EXPECT_EQ(LinesOf("dropped=989", log), 1u);
  EXPECT_THAT(tracks_.Names(), ElementsAre("gpu-999", "gpu-again"));
}

}  // namespace
}  // namespace gpuscaler
