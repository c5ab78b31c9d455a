#include "signal/signal_store.h"

#include <algorithm>
#include <string>
#include <thread>

#include "base/not_yet.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "series/test_seconds.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr SignalStore::Limits kLimits{.max_gap = absl::Seconds(10), .max_sources = 3};
const EngineQuery kWaiting{.metric = EngineMetric::kRequestsWaiting,
                           .look_back = absl::Seconds(30)};
const SignalSource kEngines{.namespace_name = "team-a",
                            .target = EngineEndpoint{.url = "http://llm:8000"}};
const SignalSource kQueue{.namespace_name = "team-a",
                          .target = RedisQueue{.address = "redis:6379", .key = "jobs"}};
const SignalSource kPage{.namespace_name = "team-a",
                         .target = MetricsEndpoint{.url = "http://gateway", .selector = "size"}};
const EngineAddress kPlace{.address = "10.0.0.1", .port = 8000};

EngineUpdate UpdateAt(int second, double waiting) {
  return {.at = Second(second),
          .engine = "vllm",
          .reading = EngineReading{{{.model = "llama", .waiting = waiting}}}};
}

CounterPoint Length(int second, double length) {
  return {.instant = {.at = Second(second)}, .value = length};
}

class SignalStoreTest : public testing::Test {
 protected:
  void Lease(const SignalSource& source, int until = 90) {
    ASSERT_TRUE(store_.Lease(source, kWaiting, Second(0), Second(until)).ok());
  }
  std::vector<SignalPoint> PointsOf(const SignalSource& source, int now) {
    const SignalHistory history = store_.Of(source, kWaiting, Second(now));
    return history.series.empty() ? std::vector<SignalPoint>() : history.series.front().points;
  }

  int interests_ = 0;
  SignalStore store_{kLimits, [this] { ++interests_; }};
};

TEST_F(SignalStoreTest, ReturnsTheHistoryOfEngines) {
  Lease(kEngines);
  store_.SetEngines(kEngines, std::vector{kPlace}, Second(0));
  store_.AddReading(kEngines, kPlace, UpdateAt(1, 3));
  store_.AddReading(kEngines, kPlace, UpdateAt(2, 4));
  const SignalHistory history = store_.Of(kEngines, kWaiting, Second(2));
  EXPECT_EQ(history.now, Second(2));
  EXPECT_EQ(history.read_since, Second(0));
  EXPECT_TRUE(history.status.ok());
  EXPECT_THAT(PointsOf(kEngines, 2),
              ElementsAre(SignalPoint{Second(1), 3}, SignalPoint{Second(2), 4}));
}

TEST_F(SignalStoreTest, ReturnsTheHistoryOfAQueue) {
  Lease(kQueue);
  store_.AddQueueLength(kQueue, Length(1, 47));
  EXPECT_THAT(store_.Of(kQueue, kWaiting, Second(1)).series,
              ElementsAre(Field(&SignalSeries::name, "stream jobs at redis:6379")));
  EXPECT_THAT(PointsOf(kQueue, 1), ElementsAre(SignalPoint{Second(1), 47}));
  store_.AddQueueLength(kQueue, Length(2, 47), "stream jobs has no group workers");
  EXPECT_EQ(store_.Of(kQueue, kWaiting, Second(2)).series.at(0).note,
            "stream jobs has no group workers");
  store_.AddQueueLength(kQueue, Length(3, 47));
  EXPECT_EQ(store_.Of(kQueue, kWaiting, Second(3)).series.at(0).note, "");
}

TEST_F(SignalStoreTest, ASourceIsReadWhileALeaseIsActive) {
  EXPECT_THAT(store_.LeasedSources(Second(0)), IsEmpty());
  Lease(kEngines, 90);
  Lease(kEngines, 30);
  EXPECT_THAT(store_.LeasedSources(Second(89)), ElementsAre(Field(&LeasedSource::source, kEngines)))
      << "a shorter lease shortens none";
  EXPECT_THAT(store_.LeasedSources(Second(90)), IsEmpty());
}

TEST_F(SignalStoreTest, AnExpiredSourceIsRemovedAndItsUpdatesDropped) {
  store_.AddQueueLength(kQueue, Length(0, 47));
  EXPECT_EQ(store_.Of(kQueue, kWaiting, Second(0)).status.code(), absl::StatusCode::kUnavailable);
  Lease(kQueue, 90);
  store_.AddQueueLength(kQueue, Length(1, 47));
  store_.LeasedSources(Second(90));
  EXPECT_EQ(store_.Of(kQueue, kWaiting, Second(90)).status.code(), absl::StatusCode::kUnavailable);
  Lease(kQueue, 180);
  EXPECT_THAT(PointsOf(kQueue, 91), IsEmpty()) << "nothing of the last lease";
}

TEST_F(SignalStoreTest, HistoryCoversTheLongestLookBack) {
  Lease(kQueue, 1000);
  EngineQuery longer = kWaiting;
  longer.look_back = absl::Seconds(60);
  ASSERT_TRUE(store_.Lease(kQueue, longer, Second(0), Second(1000)).ok());
  for (int second = 0; second < 300; ++second) {
    store_.AddQueueLength(kQueue, Length(second, second));
    store_.LeasedSources(Second(second));
  }
  EXPECT_EQ(store_.Of(kQueue, longer, Second(299)).series.front().points.size(), 62u);
  longer.look_back = absl::Hours(1);
  EXPECT_LE(store_.Of(kQueue, longer, Second(299)).series.front().points.size(), 2 * 62u);
}

TEST_F(SignalStoreTest, HistogramsAreReadOnlyForLatencyQueries) {
  Lease(kEngines);
  EXPECT_FALSE(store_.LeasedSources(Second(0)).front().needs_histograms);
  const EngineQuery latency{.metric = EngineMetric::kTimeToFirstTokenMs};
  ASSERT_TRUE(store_.Lease(kEngines, latency, Second(0), Second(10)).ok());
  EXPECT_TRUE(store_.LeasedSources(Second(1)).front().needs_histograms);
}

TEST_F(SignalStoreTest, ChangedSinceListsUpdatedSources) {
  Lease(kEngines);
  Lease(kQueue);
  store_.SetEngines(kEngines, std::vector{kPlace}, Second(0));
  const int64_t generation = store_.Generation();
  EXPECT_THAT(store_.ChangedSince(generation), IsEmpty());
  store_.AddQueueLength(kQueue, Length(1, 47));
  EXPECT_THAT(store_.ChangedSince(generation), ElementsAre(kQueue));
  EXPECT_THAT(store_.ChangedSince(0), ElementsAre(kEngines, kQueue));
}

TEST_F(SignalStoreTest, CallsBackForANewSource) {
  Lease(kEngines);
  EXPECT_EQ(interests_, 1);
  Lease(kEngines);
  EXPECT_EQ(interests_, 1) << "it is read already";
  Lease(kQueue);
  EXPECT_EQ(interests_, 2);
}

TEST_F(SignalStoreTest, ARepeatedUpdateChangesNothing) {
  Lease(kEngines);
  store_.SetEngines(kEngines, std::vector{kPlace}, Second(0));
  store_.AddReading(kEngines, kPlace, UpdateAt(1, 3));
  const int64_t generation = store_.Generation();
  const int64_t of_engines = store_.Of(kEngines, kWaiting, Second(1)).generation;
  store_.SetEngines(kEngines, std::vector{kPlace}, Second(0));
  store_.AddReading(kEngines, kPlace, UpdateAt(1, 3));
  store_.AddReading(kEngines, {.address = "10.0.0.2"}, UpdateAt(2, 3));
  EXPECT_EQ(store_.Generation(), generation);
  EXPECT_EQ(store_.Of(kEngines, kWaiting, Second(1)).generation, of_engines);
  store_.SetEngines(kEngines, absl::UnavailableError("DNS does not answer"), Second(0));
  EXPECT_EQ(store_.Generation(), generation + 1);
}

TEST_F(SignalStoreTest, UpdatesOfFilteredEnginesDoNotChangeTheGeneration) {
  const EngineAddress other{.address = "10.0.0.2", .port = 8000};
  const auto is_first = [](const EngineAddress& engine_address) {
    return engine_address == kPlace;
  };
  const auto generation = [&] {
    const int64_t reported = store_.Of(kEngines, kWaiting, Second(1), is_first).generation;
    EXPECT_EQ(store_.VersionOf(kEngines, is_first).generation, reported);
    return reported;
  };
  Lease(kEngines);
  const int64_t unlisted = generation();
  store_.SetEngines(kEngines, std::vector{kPlace, other}, Second(0));
  const int64_t listed = generation();
  EXPECT_GT(listed, unlisted);
  store_.AddReading(kEngines, other, UpdateAt(1, 3));
  EXPECT_EQ(generation(), listed);
  EXPECT_GT(store_.VersionOf(kEngines).generation, listed);
  EXPECT_THAT(store_.Of(kEngines, kWaiting, Second(1), is_first).series,
              ElementsAre(Field(&SignalSeries::address, kPlace.address)));
  store_.AddReading(kEngines, kPlace, UpdateAt(1, 3));
  EXPECT_GT(generation(), listed);
  EXPECT_EQ(generation(), store_.VersionOf(kEngines).generation) << "the newest of all";
  EXPECT_FALSE(store_.VersionOf(kEngines).has_no_engines);
  store_.SetEngines(kEngines, std::vector<EngineAddress>{}, Second(2));
  EXPECT_TRUE(store_.VersionOf(kEngines).has_no_engines);
}

TEST_F(SignalStoreTest, AReaddedSourceHasAHigherGeneration) {
  Lease(kQueue, 90);
  for (int second = 1; second < 5; ++second) store_.AddQueueLength(kQueue, Length(second, 47));
  const int64_t before = store_.VersionOf(kQueue).generation;
  store_.LeasedSources(Second(90));
  EXPECT_GE(store_.VersionOf(kQueue).generation, before);
  Lease(kQueue, 180);
  EXPECT_GT(store_.VersionOf(kQueue).generation, before);
}

TEST_F(SignalStoreTest, RefusesSourcesBeyondTheLimit) {
  SignalSource other = kQueue;
  for (int i = 0; i < 3; ++i) {
    std::get<RedisQueue>(other.target).database = i;
    Lease(other, 10 + i);
  }
  EXPECT_EQ(store_.Lease(kEngines, kWaiting, Second(0), Second(90)).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(store_.Lease(other, kWaiting, Second(0), Second(90)).ok()) << "one that is there";
  EXPECT_TRUE(store_.Lease(kEngines, kWaiting, Second(10), Second(90)).ok())
      << "the first one's lease has ended";
}

TEST_F(SignalStoreTest, TheFirstReadingIsAwaitedForTwoSeconds) {
  Lease(kQueue);
  EXPECT_TRUE(store_.Of(kQueue, kWaiting, Second(1)).is_awaited);
  EXPECT_FALSE(store_.Of(kQueue, kWaiting, Second(2)).is_awaited) << "nobody answers";
  store_.AddQueueLength(kQueue, Length(1, 47));
  EXPECT_FALSE(store_.Of(kQueue, kWaiting, Second(1)).is_awaited);
}

TEST_F(SignalStoreTest, AFailedSourceIsNotAwaited) {
  const absl::Status refused = absl::UnavailableError("refused");
  Lease(kQueue);
  store_.AddQueueLength(kQueue, refused);
  EXPECT_FALSE(store_.Of(kQueue, kWaiting, Second(1)).is_awaited);

  Lease(kPage);
  store_.SetEndpointAddresses(kPage, std::vector<std::string>{"10.0.0.1", "10.0.0.2"});
  EXPECT_TRUE(store_.Of(kPage, kWaiting, Second(1)).is_awaited);
  store_.AddSample(kPage, "10.0.0.1", refused);
  EXPECT_FALSE(store_.Of(kPage, kWaiting, Second(1)).is_awaited) << "there is no sum";
}

TEST_F(SignalStoreTest, OtherEnginesAreAwaitedWhenOneFails) {
  const EngineAddress other{.address = "10.0.0.2", .port = 8000};
  const auto fail = [&](const EngineAddress& engine_address) {
    store_.AddReading(kEngines, engine_address,
                      {.at = Second(1), .reading = absl::UnavailableError("refused")});
  };
  Lease(kEngines);
  store_.SetEngines(kEngines, std::vector{kPlace, other}, Second(0));
  fail(kPlace);
  EXPECT_TRUE(store_.Of(kEngines, kWaiting, Second(1)).is_awaited) << "the other may answer";
  fail(other);
  EXPECT_FALSE(store_.Of(kEngines, kWaiting, Second(1)).is_awaited);
}

TEST_F(SignalStoreTest, AddressesAreAwaitedUntilKnownOrFailed) {
  const struct {
    absl::Status status;
    bool want;
  } rows[] = {{NotYet("not resolved yet"), true},
              {absl::UnavailableError("no DNS"), false},
              {absl::PermissionDeniedError("not yours"), false}};
  for (const SignalSource& source : {kEngines, kPage, kQueue}) Lease(source);
  for (const auto& row : rows) {
    store_.SetEngines(kEngines, row.status, Second(0));
    store_.SetEndpointAddresses(kPage, row.status);
    store_.AddQueueLength(kQueue, row.status);
    for (const SignalSource& source : {kEngines, kPage, kQueue}) {
      EXPECT_EQ(store_.Of(source, kWaiting, Second(1)).is_awaited, row.want) << row.status;
    }
  }
}

TEST_F(SignalStoreTest, AnExpiredLeaseFreesItsHistory) {
  Lease(kEngines, 1000);
  EngineQuery more{.metric = EngineMetric::kTimeToFirstTokenMs,
                   .model = "llama",
                   .window = absl::Minutes(5),
                   .look_back = absl::Minutes(10)};
  ASSERT_TRUE(store_.Lease(kEngines, more, Second(0), Second(100)).ok());
  store_.SetEngines(kEngines, std::vector{kPlace}, Second(0));
  for (int second = 0; second < 100; ++second) {
    store_.AddReading(kEngines, kPlace, UpdateAt(second, 1));
  }
  more.metric = EngineMetric::kRequestsWaiting;
  EXPECT_EQ(store_.Of(kEngines, more, Second(99)).series.front().points.size(), 100u);
  EXPECT_TRUE(store_.LeasedSources(Second(99)).front().needs_histograms);
  EXPECT_FALSE(store_.LeasedSources(Second(100)).front().needs_histograms);
  EXPECT_THAT(store_.Of(kEngines, more, Second(100)).series.front().points, IsEmpty())
      << "its model";
  store_.AddReading(kEngines, kPlace, UpdateAt(100, 1));
  more.model = "";
  EXPECT_LE(store_.Of(kEngines, more, Second(100)).series.front().points.size(), 42u)
      << "30 s of the other lease, and a quarter more";
}

SignalCounts CountsOf(const SignalStore& store, SignalKind kind) {
  return store.Counts()[static_cast<size_t>(kind)];
}

TEST_F(SignalStoreTest, ReadingsAreCountedByTheKindOfTheirSource) {
  Lease(kEngines);
  Lease(kQueue);
  store_.SetEngines(kEngines, std::vector{kPlace}, Second(0));
  store_.AddReading(kEngines, kPlace, UpdateAt(1, 3));
  store_.AddReading(kEngines, kPlace, UpdateAt(4, 3));
  store_.AddReading(kEngines, kPlace,
                    {.at = Second(5), .reading = absl::UnavailableError("refused")});
  store_.SetEngines(kEngines, absl::UnavailableError("no such name"), Second(6));
  store_.AddQueueLength(kQueue, absl::UnavailableError("refused"));
  const SignalCounts engines = CountsOf(store_, SignalKind::kEngine);
  EXPECT_EQ(engines.read, 2);
  EXPECT_EQ(engines.failed, 2) << "a name that leads nowhere too";
  EXPECT_EQ(engines.sources, 1u);
  EXPECT_EQ(engines.oldest, Second(4));
  const SignalCounts queues = CountsOf(store_, SignalKind::kRedis);
  EXPECT_EQ(queues.read, 0);
  EXPECT_EQ(queues.failed, 1);
  EXPECT_EQ(queues.oldest, Second(0)) << "never, and so since it was first wanted";
  EXPECT_EQ(CountsOf(store_, SignalKind::kPage).sources, 0u);
  EXPECT_EQ(CountsOf(store_, SignalKind::kPage).oldest, absl::InfiniteFuture());
}

TEST_F(SignalStoreTest, OldestIsTheSourceReadLongestAgo) {
  SignalSource other = kQueue;
  std::get<RedisQueue>(other.target).key = "others";
  Lease(kQueue);
  Lease(other, 10);
  store_.AddQueueLength(other, Length(3, 1));
  store_.AddQueueLength(kQueue, Length(8, 47));
  EXPECT_EQ(CountsOf(store_, SignalKind::kRedis).oldest, Second(3));
  EXPECT_EQ(store_.LeasedSources(Second(10)).size(), 1u);
  EXPECT_EQ(CountsOf(store_, SignalKind::kRedis).oldest, Second(8)) << "nobody wants it any more";
  EXPECT_EQ(CountsOf(store_, SignalKind::kRedis).sources, 1u);
  EXPECT_EQ(CountsOf(store_, SignalKind::kRedis).read, 2) << "counters stand";
}

TEST_F(SignalStoreTest, EnginesScaledToZeroCountAsRead) {
  Lease(kEngines);
  store_.SetEngines(kEngines, std::vector<EngineAddress>(), Second(60));
  EXPECT_EQ(CountsOf(store_, SignalKind::kEngine).oldest, Second(60));
  EXPECT_EQ(CountsOf(store_, SignalKind::kEngine).read, 0);
  store_.SetEngines(kEngines, std::vector{kPlace}, Second(70));
  EXPECT_EQ(CountsOf(store_, SignalKind::kEngine).oldest, Second(60)) << "one is there by now";
}

// Quotas: 1 MiB for each namespace, 3 MiB for all.
class SharedStoreTest : public testing::Test {
 protected:
  static SignalSource QueueOf(const std::string& namespace_name, int number = 0) {
    return {.namespace_name = namespace_name,
            .target = RedisQueue{.address = "redis:6379", .database = number, .key = "jobs"}};
  }
  absl::Status Lease(const SignalSource& source, absl::Duration look_back = absl::Minutes(1),
                     int until = 90) {
    return store_.Lease(source, {.look_back = look_back}, Second(0), Second(until));
  }
  // One reading a second, from second 0.
  void AddReadings(const SignalSource& source, int seconds) {
    for (int second = 0; second < seconds; ++second) {
      store_.AddQueueLength(source, Length(second, 47));
    }
  }
  absl::Status StatusOf(const SignalSource& source) const {
    return store_.Of(source, {}, Second(1)).status;
  }
  bool IsRead(const SignalSource& source, int now) {
    const std::vector<LeasedSource> wanted = store_.LeasedSources(Second(now));
    return std::ranges::find(wanted, source, &LeasedSource::source) != wanted.end();
  }

  SignalStore store_{{.max_gap = absl::Seconds(10),
                      .max_sources = 100,
                      .max_sources_per_namespace = 3,
                      .max_bytes = size_t{3} << 20,
                      .max_bytes_per_namespace = size_t{1} << 20},
                     [] {}};
};

TEST_F(SharedStoreTest, ANamespaceHasASourceQuota) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Lease(QueueOf("team-a", i)).ok()) << i;
  const absl::Status refused = Lease(QueueOf("team-a", 3));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(), "namespace team-a has 3 endpoints read already, and no more");
  EXPECT_EQ(StatusOf(QueueOf("team-a", 3)), refused) << "who asks is told why";
  EXPECT_TRUE(Lease(QueueOf("team-b")).ok());
}

TEST_F(SharedStoreTest, ASourceOverItsNamespacesQuotaIsEvicted) {
  const SignalSource greedy = QueueOf("team-a", 0);
  const SignalSource modest = QueueOf("team-a", 1);
  const SignalSource other = QueueOf("team-b");
  ASSERT_TRUE(Lease(greedy, absl::Hours(100)).ok());
  ASSERT_TRUE(Lease(modest).ok());
  ASSERT_TRUE(Lease(other).ok());
  AddReadings(modest, 10);
  AddReadings(other, 10);
  AddReadings(greedy, 50'000);
  const absl::Status status = StatusOf(greedy);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("namespace team-a"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 MiB"));
  EXPECT_THAT(store_.Of(greedy, {}, Second(1)).series, IsEmpty()) << "a part is not the whole";
  EXPECT_FALSE(IsRead(greedy, 1));
  EXPECT_TRUE(StatusOf(modest).ok()) << StatusOf(modest);
  EXPECT_TRUE(StatusOf(other).ok()) << StatusOf(other);
  EXPECT_TRUE(IsRead(modest, 1));
}

TEST_F(SharedStoreTest, AnEvictedSourceIsReadAgainWhenItNeedsLess) {
  const SignalSource queue = QueueOf("team-a");
  ASSERT_TRUE(Lease(queue, absl::Hours(100), 90).ok());
  ASSERT_TRUE(Lease(queue, absl::Minutes(1), 1000).ok());
  AddReadings(queue, 50'000);
  EXPECT_FALSE(IsRead(queue, 1));
  EXPECT_FALSE(IsRead(queue, 89)) << "it would not fit";
  EXPECT_TRUE(IsRead(queue, 90)) << "the lease that looked back so far has ended";
  EXPECT_TRUE(StatusOf(queue).ok()) << StatusOf(queue);
  EXPECT_EQ(store_.Of(queue, {}, Second(90)).read_since, Second(90))
      << "nothing is known of the time before";
  store_.AddQueueLength(queue, Length(91, 5));
  EXPECT_THAT(store_.Of(queue, {}, Second(91)).series.front().points,
              ElementsAre(SignalPoint{Second(91), 5}));
}

TEST_F(SharedStoreTest, TheTotalStaysWithinTheLimit) {
  std::vector<SignalSource> queues;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    queues.push_back(QueueOf(name));
    ASSERT_TRUE(Lease(queues.back(), absl::Hours(100)).ok());
    AddReadings(queues.back(), 12'000);  // more than half a MiB
  }
  const auto given_up = std::ranges::count_if(
      queues, [&](const SignalSource& queue) { return !StatusOf(queue).ok(); });
  EXPECT_GE(given_up, 1) << "they would take more than 3 MiB";
  EXPECT_LE(given_up, 5);
}

TEST_F(SignalStoreTest, SourcesWithDifferentSecretsAreDistinct) {
  SignalSource with_token = kEngines;
  with_token.credentials.bearer_token = "hunter2";
  Lease(with_token);
  EXPECT_EQ(store_.Of(kEngines, kWaiting, Second(0)).status.code(), absl::StatusCode::kUnavailable)
      << "who does not have the token does not see what it opens";
}

TEST_F(SignalStoreTest, IsThreadSafe) {
  Lease(kEngines);
  Lease(kQueue);
  store_.SetEngines(kEngines, std::vector{kPlace}, Second(0));
  std::thread engines([&] {
    for (int i = 1; i <= 1000; ++i) store_.AddReading(kEngines, kPlace, UpdateAt(i, i));
  });
  std::thread asking([&] {
    for (int i = 0; i < 1000; ++i) store_.Of(kEngines, kWaiting, Second(i));
  });
  for (int i = 1; i <= 1000; ++i) store_.LeasedSources(Second(1));
  engines.join();
  asking.join();
  EXPECT_EQ(PointsOf(kEngines, 1000).back(), (SignalPoint{Second(1000), 1000}));
}

}  // namespace
}  // namespace gpuscaler
