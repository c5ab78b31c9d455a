#include "fleet/engine_log.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "fleet/engine_wire.h"
#include "fleet/test_engines.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

using testing::ElementsAre;
using testing::IsEmpty;

class EngineLogTest : public testing::Test {
 protected:
  void Subscribe(const EngineSubscription& wanted, absl::Duration lease = absl::Minutes(10)) {
    log_.Subscribe(wanted, clock_.Now() + lease);
  }
  // Returns how many namespaces are refused.
  size_t SubscribeFrom(const std::string& stranger, const EngineSubscription& wanted,
                       absl::Duration lease = absl::Hours(3)) {
    return log_.Subscribe(wanted, clock_.Now() + lease, stranger);
  }
  static EngineSubscription ManyNamespaces(const std::string& prefix) {
    EngineSubscription wanted;
    for (size_t i = 0; i < kMaxNamespacesSubscribed; ++i) {
      wanted.namespaces[absl::StrCat(prefix, i)] = {};
    }
    return wanted;
  }
  void Read(const EngineAddress& place, double running) {
    clock_.Advance(absl::Seconds(1));
    log_.AddReading(place, TestUpdates(clock_.Now(), running));
  }
  // The running requests in the readings that the reader has not got yet.
  std::vector<double> ReadNew(EngineLog::Cursor& cursor, const EngineSubscription& wanted) {
    cursor.SetSubscription(wanted);
    std::vector<double> running;
    do {
      last_ = wire::EngineTelemetry();
      log_.AppendNew(cursor, last_);
      if (last_.has_list()) list_ = last_.list();
      for (const wire::EngineReading& reading : last_.readings()) {
        running.push_back(reading.models(0).running());
      }
    } while (last_.more());
    return running;
  }

  FakeClock clock_;
  int wakes_ = 0;
  EngineLog log_{clock_, [this] { ++wakes_; }, /*most_bytes=*/20'000};
  wire::EngineTelemetry last_;
  wire::EngineList list_;
  const EngineSubscription a_ = SubscribedIn("team-a");
  const EngineSubscription b_ = SubscribedIn("team-b");
};

TEST_F(EngineLogTest, SubscriptionIsEmptyBeforeAnyReader) {
  EXPECT_THAT(log_.Subscription().namespaces, IsEmpty());
  Subscribe(a_);
  EXPECT_EQ(log_.Subscription(), a_);
  EXPECT_EQ(wakes_, 1);
  Subscribe(a_);
  EXPECT_EQ(wakes_, 1) << "no more than before";
}

TEST_F(EngineLogTest, SubscriptionIsTheUnionUntilLeasesEnd) {
  Subscribe(a_, absl::Seconds(30));
  Subscribe(SubscribedIn("team-a", absl::Minutes(5), true), absl::Seconds(10));
  Subscribe(b_, absl::Seconds(20));
  EXPECT_EQ(log_.Subscription().namespaces.at("team-a"),
            (EngineSubscription::Interest{.histograms = true, .look_back = absl::Minutes(5)}));
  clock_.Advance(absl::Seconds(10));
  EXPECT_FALSE(log_.Subscription().namespaces.at("team-a").histograms);
  clock_.Advance(absl::Seconds(10));
  EXPECT_FALSE(log_.Subscription().namespaces.contains("team-b"));
  clock_.Advance(absl::Seconds(10));
  EXPECT_THAT(log_.Subscription().namespaces, IsEmpty());
}

TEST_F(EngineLogTest, SubscribedNamespacesAreLimited) {
  Subscribe(a_);
  for (const char* reader : {"r0-", "r1-", "r2-"}) Subscribe(ManyNamespaces(reader));
  EXPECT_EQ(log_.Subscription().namespaces.size(), 2 * kMaxNamespacesSubscribed);
  clock_.Advance(absl::Minutes(5));
  Subscribe(a_, absl::Minutes(10));
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(log_.Subscription(), a_) << "known namespaces stay, and the other leases have ended";
}

TEST_F(EngineLogTest, SubscriptionsWithManyLookBacksAreBounded) {
  Subscribe(a_);
  for (int minutes = 1; minutes <= 9000; ++minutes) {
    Subscribe(SubscribedIn("team-b", absl::Minutes(minutes)));
  }
  EXPECT_LT(log_.Subscription().namespaces["team-b"].look_back, absl::Minutes(9000));
}

TEST_F(EngineLogTest, AggregatorsMaySubscribeWhateverStrangersHold) {
  for (const char* stranger : {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}) {
    EXPECT_GT(SubscribeFrom(stranger, ManyNamespaces(stranger)), 0u);
  }
  const EngineSubscription wanted = ManyNamespaces("team-");
  EXPECT_EQ(log_.Subscribe(wanted, clock_.Now() + absl::Minutes(10)), 0u);
  const EngineSubscription all = log_.Subscription();
  for (const auto& each : wanted.namespaces) {
    ASSERT_TRUE(all.namespaces.contains(each.first)) << each.first;
  }
}

TEST_F(EngineLogTest, AStrangerHasHalfOfWhatTheOthersLeave) {
  constexpr size_t kHalf = kMaxNamespacesSubscribed / 2;
  EXPECT_EQ(SubscribeFrom("10.0.0.1", ManyNamespaces("x-")), kHalf);
  EXPECT_EQ(SubscribeFrom("10.0.0.1", ManyNamespaces("y-")), kMaxNamespacesSubscribed);
  EXPECT_EQ(SubscribeFrom("10.0.0.2", a_), 0u);
  EXPECT_TRUE(log_.Subscription().namespaces.contains("team-a"));
  EXPECT_EQ(SubscribeFrom("10.0.0.1", a_), 0u) << "another reader has it";
  EXPECT_EQ(SubscribeFrom("10.0.0.2", ManyNamespaces("z-")), kHalf + kHalf / 2 + 1);
}

TEST_F(EngineLogTest, AStrangersShareIsFreeOnceItsLeasesHaveEnded) {
  EXPECT_GT(SubscribeFrom("10.0.0.1", ManyNamespaces("x-"), absl::Seconds(90)), 0u);
  EXPECT_EQ(SubscribeFrom("10.0.0.1", a_), 1u);
  clock_.Advance(absl::Seconds(90));
  EXPECT_EQ(SubscribeFrom("10.0.0.1", a_), 0u);
  EXPECT_EQ(log_.Subscription(), a_);
}

TEST_F(EngineLogTest, LeaseEndsAtTheNextWholeSecond) {
  Subscribe(a_, absl::Milliseconds(1500));
  clock_.Advance(absl::Milliseconds(1999));
  EXPECT_EQ(log_.Subscription(), a_);
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(log_.Subscription().namespaces, IsEmpty());
}

TEST_F(EngineLogTest, LaterReaderGetsThePast) {
  Subscribe(a_);
  log_.List(TestEngines({TestPlace("llm-0")}));
  for (int i = 1; i <= 10; ++i) Read(TestPlace("llm-0"), i);
  EngineLog::Cursor cursor;
  EXPECT_THAT(ReadNew(cursor, SubscribedIn("team-a", absl::Seconds(3))), ElementsAre(7, 8, 9, 10));
  ASSERT_EQ(list_.engines_size(), 1);
  EXPECT_EQ(list_.engines(0).pod(), "llm-0");
  EXPECT_EQ(list_.engines(0).port(), 8000u);
  EXPECT_THAT(list_.namespaces(), ElementsAre("team-a"));
  Read(TestPlace("llm-0"), 11);
  EXPECT_THAT(ReadNew(cursor, SubscribedIn("team-a", absl::Seconds(3))), ElementsAre(11));
  EXPECT_FALSE(last_.has_list()) << "it has not changed";
  wire::EngineTelemetry nothing;
  EXPECT_FALSE(log_.AppendNew(cursor, nothing));
}

TEST_F(EngineLogTest, EachReaderGetsItsOwnNamespacesOnly) {
  Subscribe(a_);
  Subscribe(b_);
  log_.List(
      TestEngines({TestPlace("llm-0"), TestPlace("chat-0", 9000, "team-b")}, {"team-a", "team-b"}));
  Read(TestPlace("llm-0"), 1);
  Read(TestPlace("chat-0", 9000, "team-b"), 2);
  EngineLog::Cursor cursor;
  EXPECT_THAT(ReadNew(cursor, b_), ElementsAre(2));
  EXPECT_THAT(list_.namespaces(), ElementsAre("team-b"));
  EXPECT_EQ(list_.engines_size(), 1);
}

TEST_F(EngineLogTest, NamespaceSubscribedLaterComesWithItsPast) {
  Subscribe(a_);
  Subscribe(b_);
  log_.List(
      TestEngines({TestPlace("llm-0"), TestPlace("chat-0", 9000, "team-b")}, {"team-a", "team-b"}));
  Read(TestPlace("chat-0", 9000, "team-b"), 1);
  Read(TestPlace("llm-0"), 2);
  EngineLog::Cursor cursor;
  EXPECT_THAT(ReadNew(cursor, a_), ElementsAre(2));
  EngineSubscription both = a_;
  both.namespaces.insert(b_.namespaces.begin(), b_.namespaces.end());
  EXPECT_THAT(ReadNew(cursor, both), ElementsAre(1));
  EXPECT_TRUE(last_.has_list());
}

TEST_F(EngineLogTest, HistogramsGoToReadersThatSubscribeToThem) {
  Subscribe(SubscribedIn("team-a", absl::Minutes(1), true));
  log_.List(TestEngines({TestPlace("llm-0")}));
  EngineUpdate update = TestUpdates(clock_.Now(), 1);
  update.reading->models[0].first_token_seconds = Histogram();
  log_.AddReading(TestPlace("llm-0"), update);
  EngineLog::Cursor with;
  ReadNew(with, SubscribedIn("team-a", absl::Minutes(1), true));
  EXPECT_TRUE(last_.readings(0).models(0).has_first_token_seconds());
  EngineLog::Cursor without;
  ReadNew(without, a_);
  EXPECT_FALSE(last_.readings(0).models(0).has_first_token_seconds());
}

TEST_F(EngineLogTest, ReadingsOfARemovedEngineAreNotSent) {
  Subscribe(a_);
  log_.List(TestEngines({TestPlace("llm-0"), TestPlace("llm-1")}));
  Read(TestPlace("llm-0"), 1);
  Read(TestPlace("llm-1"), 2);
  log_.List(TestEngines({TestPlace("llm-1")}));
  Read(TestPlace("llm-0"), 3);
  EngineLog::Cursor cursor;
  EXPECT_THAT(ReadNew(cursor, a_), ElementsAre(2));
}

TEST_F(EngineLogTest, EngineThatComesBackGetsANewId) {
  Subscribe(a_);
  EngineLog::Cursor cursor;
  log_.List(TestEngines({TestPlace("llm-0")}));
  ReadNew(cursor, a_);
  const uint32_t first = list_.engines(0).id();
  log_.List(TestEngines({}));
  log_.List(TestEngines({TestPlace("llm-0")}));
  ReadNew(cursor, a_);
  EXPECT_NE(list_.engines(0).id(), first);
}

TEST_F(EngineLogTest, NamespaceKeepsItsEnginesUntilTheNextSearch) {
  Subscribe(a_);
  Subscribe(b_);
  log_.List(
      TestEngines({TestPlace("llm-0"), TestPlace("chat-0", 9000, "team-b")}, {"team-a", "team-b"}));
  Read(TestPlace("llm-0"), 1);
  log_.List(TestEngines({}, {"team-b"}));
  Read(TestPlace("llm-0"), 2);
  EngineLog::Cursor cursor;
  EXPECT_THAT(ReadNew(cursor, a_), ElementsAre(1, 2));
  EXPECT_EQ(list_.engines_size(), 1);
  EngineLog::Cursor other;
  ReadNew(other, b_);
  EXPECT_EQ(list_.engines_size(), 0);
  EXPECT_THAT(list_.namespaces(), ElementsAre("team-b"));
}

TEST_F(EngineLogTest, ListHasTheReasonIfNoneCanBeFound) {
  Subscribe(a_);
  NodeEngines found = TestEngines({});
  found.Add(MissingEngine{.namespace_name = "team-a", .pod = "llm-0", .why = "no process listens"});
  log_.List(found);
  EngineLog::Cursor cursor;
  ReadNew(cursor, a_);
  ASSERT_EQ(list_.without_size(), 1);
  EXPECT_EQ(list_.without(0).why(), "no process listens");
  log_.List(absl::PermissionDeniedError("/proc is hidden"));
  ReadNew(cursor, a_);
  EXPECT_EQ(list_.why(), "/proc is hidden");
}

TEST_F(EngineLogTest, UnsubscribedNamespacesAreForgotten) {
  Subscribe(a_, absl::Seconds(10));
  log_.List(TestEngines({TestPlace("llm-0")}));
  Read(TestPlace("llm-0"), 1);
  clock_.Advance(absl::Seconds(10));
  EXPECT_THAT(log_.Subscription().namespaces, IsEmpty());
  Subscribe(a_);
  EngineLog::Cursor cursor;
  EXPECT_THAT(ReadNew(cursor, a_), IsEmpty());
  EXPECT_EQ(list_.engines_size(), 0) << "it may be gone by now";
  EXPECT_EQ(list_.namespaces_size(), 0);
}

TEST_F(EngineLogTest, KeepsTheLookBackWithinTheMemoryLimit) {
  Subscribe(a_);
  log_.List(TestEngines({TestPlace("llm-0")}));
  for (int i = 1; i <= 70; ++i) Read(TestPlace("llm-0"), i);
  EngineLog::Cursor first;
  EXPECT_EQ(ReadNew(first, SubscribedIn("team-a", absl::Hours(1))).size(), 61u);
  Subscribe(SubscribedIn("team-a", absl::Hours(1)), absl::Hours(1));
  for (int i = 1; i <= 1000; ++i) Read(TestPlace("llm-0"), i);
  EngineLog::Cursor second;
  const std::vector<double> got = ReadNew(second, SubscribedIn("team-a", absl::Hours(1)));
  EXPECT_GT(got.size(), 50u);
  EXPECT_LT(got.size(), 400u) << "of 20 kB";
  EXPECT_EQ(got.back(), 1000);
}

TEST_F(EngineLogTest, KeepsLessWhenTheLookBackShrinks) {
  Subscribe(SubscribedIn("team-a", absl::Minutes(15)), absl::Seconds(30));
  Subscribe(a_);
  EXPECT_EQ(log_.Subscription().namespaces.at("team-a").look_back, absl::Minutes(15));
  clock_.Advance(absl::Seconds(30));
  EXPECT_EQ(log_.Subscription(), a_);
}

TEST_F(EngineLogTest, LargeReadingsShortenTheirOwnNamespaceOnly) {
  const EngineAddress small = TestPlace("llm-0");
  const EngineAddress large = TestPlace("chat-0", 8000, "team-b");
  const EngineSubscription a = SubscribedIn("team-a", absl::Hours(1));
  const EngineSubscription b = SubscribedIn("team-b", absl::Hours(1));
  Subscribe(a, absl::Hours(1));
  Subscribe(b, absl::Hours(1));
  log_.List(TestEngines({small, large}, {"team-a", "team-b"}));
  for (int i = 1; i <= 50; ++i) Read(small, i);
  EngineUpdate update = TestUpdates(clock_.Now(), 1);
  update.reading->models[0].model = std::string(1000, 'x');
  for (int i = 1; i <= 30; ++i) {
    update.at = clock_.Now();
    log_.AddReading(large, update);
  }
  EngineLog::Cursor of_a;
  EXPECT_EQ(ReadNew(of_a, a).size(), 50u);
  EngineLog::Cursor of_b;
  EXPECT_LT(ReadNew(of_b, b).size(), 20u) << "of 20 kB";
}

TEST_F(EngineLogTest, MessagesAreLimitedInSize) {
  EngineLog log(clock_, nullptr);
  log.Subscribe(SubscribedIn("team-a", absl::Hours(1)), clock_.Now() + absl::Hours(2));
  log.List(TestEngines({TestPlace("llm-0")}));
  EngineUpdate update = TestUpdates(clock_.Now(), 1);
  update.reading->models[0].model = std::string(1000, 'x');
  for (int i = 0; i < 1000; ++i) {
    clock_.Advance(absl::Seconds(1));
    update.at = clock_.Now();
    log.AddReading(TestPlace("llm-0"), update);
  }
  EngineLog::Cursor cursor{.subscription = SubscribedIn("team-a", absl::Hours(1))};
  wire::EngineTelemetry message;
  int got = 0;
  int messages = 0;
  do {
    message = wire::EngineTelemetry();
    ASSERT_TRUE(log.AppendNew(cursor, message));
    EXPECT_LT(message.ByteSizeLong(), size_t{260} << 10);
    got += message.readings_size();
    ++messages;
  } while (message.more());
  EXPECT_EQ(got, 1000);
  EXPECT_GT(messages, 3);
}

TEST_F(EngineLogTest, EnginesThatLeftAreSentToReadersOfTheirNamespace) {
  NodeEngines found = TestEngines({}, {"team-a", "team-b"});
  for (const char* name : {"team-a", "team-b"}) {
    auto record = std::make_shared<SignalSeries>();
    record->namespace_name = name;
    record->pod_with_owners =
        std::make_shared<const Pod>(Pod{.namespace_name = name, .name = "llm-0"});
    record->demand = std::make_shared<const EngineDemand>();
    record->batch = std::make_shared<const EngineBatch>();
    found.Add(record);
  }
  Subscribe(a_, absl::Minutes(1));
  Subscribe(b_, absl::Minutes(1));
  log_.List(found);
  EngineLog::Cursor cursor;
  ReadNew(cursor, b_);
  ASSERT_EQ(list_.left_size(), 1);
  EXPECT_EQ(list_.left(0).pod().namespace_name(), "team-b");
  clock_.Advance(absl::Minutes(2));
  EXPECT_THAT(log_.Subscription().namespaces, IsEmpty());
  EXPECT_THAT(log_.NamespacesOfRecords(), ElementsAre("team-a", "team-b"))
      << "also without a subscription";
}

}  // namespace
}  // namespace gpuscaler
