#include "signal/signal_store.h"

#include <algorithm>
#include <string>
#include <thread>

#include "base/not_yet.h"
#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
const SignalSource kQueue{
    .namespace_name = "team-a",
    .target =
        RedisQueue{.address = "redis:6379", .length = RedisQueue::Length::kStream, .key = "jobs"}};
const SignalSource kEndpoint{
    .namespace_name = "team-a",
    .target = MetricsEndpoint{.url = "http://gateway", .selector = "size"}};
const EngineAddress kEngineAddress{.address = "10.0.0.1", .port = 8000};

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
    const SignalHistory history = store_.HistoryOf(source, kWaiting, Second(now));
    return history.series.empty() ? std::vector<SignalPoint>() : history.series.front().points;
  }

  int new_source_calls_ = 0;
  SignalStore store_{kLimits, [this] { ++new_source_calls_; }};
};

TEST_F(SignalStoreTest, ReturnsTheHistoryOfEngines) {
  Lease(kEngines);
  store_.SetEngines(kEngines, std::vector{kEngineAddress}, Second(0));
  store_.AddReading(kEngines, kEngineAddress, UpdateAt(1, 3));
  store_.AddReading(kEngines, kEngineAddress, UpdateAt(2, 4));
  const SignalHistory history = store_.HistoryOf(kEngines, kWaiting, Second(2));
  EXPECT_EQ(history.now, Second(2));
  EXPECT_EQ(history.read_since, Second(0));
  EXPECT_TRUE(history.status.ok());
  EXPECT_THAT(PointsOf(kEngines, 2),
              ElementsAre(SignalPoint{Second(1), 3}, SignalPoint{Second(2), 4}));
}

TEST_F(SignalStoreTest, ReturnsTheHistoryOfAQueue) {
  Lease(kQueue);
  store_.AddQueueLength(kQueue, Length(1, 47));
  EXPECT_THAT(store_.HistoryOf(kQueue, kWaiting, Second(1)).series,
              ElementsAre(Field(&SignalSeries::name, "stream jobs at redis:6379")));
  EXPECT_THAT(PointsOf(kQueue, 1), ElementsAre(SignalPoint{Second(1), 47}));
  store_.AddQueueLength(kQueue, Length(2, 47), "stream jobs has no group workers");
  EXPECT_EQ(store_.HistoryOf(kQueue, kWaiting, Second(2)).series.at(0).note,
            "stream jobs has no group workers");
  store_.AddQueueLength(kQueue, Length(3, 47));
  EXPECT_EQ(store_.HistoryOf(kQueue, kWaiting, Second(3)).series.at(0).note, "");
}

TEST_F(SignalStoreTest, ASourceIsReadWhileALeaseIsActive) {
  EXPECT_THAT(store_.LeasedSources(Second(0)), IsEmpty());
  Lease(kEngines, 90);
  Lease(kEngines, 30);
  EXPECT_THAT(store_.LeasedSources(Second(89)), ElementsAre(Field(&LeasedSource::source, kEngines)))
      << "a shorter lease does not shorten a longer one";
  EXPECT_THAT(store_.LeasedSources(Second(90)), IsEmpty());
}

TEST_F(SignalStoreTest, AnExpiredSourceIsRemovedAndItsUpdatesDropped) {
  store_.AddQueueLength(kQueue, Length(0, 47));
  EXPECT_EQ(store_.HistoryOf(kQueue, kWaiting, Second(0)).status.code(),
            absl::StatusCode::kUnavailable);
  Lease(kQueue, 90);
  store_.AddQueueLength(kQueue, Length(1, 47));
  store_.LeasedSources(Second(90));
  EXPECT_EQ(store_.HistoryOf(kQueue, kWaiting, Second(90)).status.code(),
            absl::StatusCode::kUnavailable);
  Lease(kQueue, 180);
  EXPECT_THAT(PointsOf(kQueue, 91), IsEmpty()) << "the history of the expired lease is gone";
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
  EXPECT_EQ(store_.HistoryOf(kQueue, longer, Second(299)).series.front().points.size(), 62u)
      << "61 in the 60 s, and the one that was current at their start";
  longer.look_back = absl::Hours(1);
  EXPECT_LE(store_.HistoryOf(kQueue, longer, Second(299)).series.front().points.size(), 2 * 62u)
      << "no lease looks back further than 60 s, so older ones were erased";
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
  store_.SetEngines(kEngines, std::vector{kEngineAddress}, Second(0));
  const int64_t generation = store_.Generation();
  EXPECT_THAT(store_.ChangedSince(generation), IsEmpty());
  store_.AddQueueLength(kQueue, Length(1, 47));
  EXPECT_THAT(store_.ChangedSince(generation), ElementsAre(kQueue));
  EXPECT_THAT(store_.ChangedSince(0), ElementsAre(kEngines, kQueue));
}

TEST_F(SignalStoreTest, CallsBackForANewSource) {
  Lease(kEngines);
  EXPECT_EQ(new_source_calls_, 1);
  Lease(kEngines);
  EXPECT_EQ(new_source_calls_, 1) << "it is read already";
  Lease(kQueue);
  EXPECT_EQ(new_source_calls_, 2);
}

TEST_F(SignalStoreTest, ARepeatedUpdateChangesNothing) {
  Lease(kEngines);
  store_.SetEngines(kEngines, std::vector{kEngineAddress}, Second(0));
  store_.AddReading(kEngines, kEngineAddress, UpdateAt(1, 3));
  const int64_t generation = store_.Generation();
  const int64_t of_engines = store_.HistoryOf(kEngines, kWaiting, Second(1)).generation;
  store_.SetEngines(kEngines, std::vector{kEngineAddress}, Second(0));
  store_.AddReading(kEngines, kEngineAddress, UpdateAt(1, 3));
  const EngineAddress unlisted{.address = "10.0.0.2"};  // its readings are dropped
  store_.AddReading(kEngines, unlisted, UpdateAt(2, 3));
  EXPECT_EQ(store_.Generation(), generation);
  EXPECT_EQ(store_.HistoryOf(kEngines, kWaiting, Second(1)).generation, of_engines);
  store_.SetEngines(kEngines, absl::UnavailableError("DNS does not answer"), Second(0));
  EXPECT_EQ(store_.Generation(), generation + 1);
}

TEST_F(SignalStoreTest, UpdatesOfFilteredEnginesDoNotChangeTheGeneration) {
  const EngineAddress other{.address = "10.0.0.2", .port = 8000};
  const auto is_first = [](const EngineAddress& engine_address) {
    return engine_address == kEngineAddress;
  };
  const auto generation = [&] {
    const int64_t reported = store_.HistoryOf(kEngines, kWaiting, Second(1), is_first).generation;
    EXPECT_EQ(store_.VersionOf(kEngines, is_first).generation, reported);
    return reported;
  };
  Lease(kEngines);
  const int64_t unlisted = generation();
  store_.SetEngines(kEngines, std::vector{kEngineAddress, other}, Second(0));
  const int64_t listed = generation();
  EXPECT_GT(listed, unlisted);
  store_.AddReading(kEngines, other, UpdateAt(1, 3));
  EXPECT_EQ(generation(), listed);
  EXPECT_GT(store_.VersionOf(kEngines).generation, listed);
  EXPECT_THAT(store_.HistoryOf(kEngines, kWaiting, Second(1), is_first).series,
              ElementsAre(Field(&SignalSeries::address, kEngineAddress.address)));
  store_.AddReading(kEngines, kEngineAddress, UpdateAt(1, 3));
  EXPECT_GT(generation(), listed);
  EXPECT_EQ(generation(), store_.VersionOf(kEngines).generation)
      << "the newest update is of an included engine";
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
  EXPECT_TRUE(store_.Lease(other, kWaiting, Second(0), Second(90)).ok()) << "it is stored already";
  EXPECT_TRUE(store_.Lease(kEngines, kWaiting, Second(10), Second(90)).ok())
      << "the first one's lease has ended";
}

TEST_F(SignalStoreTest, TheFirstReadingIsAwaitedForTwoSeconds) {
  Lease(kQueue);
  EXPECT_TRUE(store_.HistoryOf(kQueue, kWaiting, Second(1)).is_awaited);
  EXPECT_FALSE(store_.HistoryOf(kQueue, kWaiting, Second(2)).is_awaited) << "it had 2 s to answer";
  store_.AddQueueLength(kQueue, Length(1, 47));
  EXPECT_FALSE(store_.HistoryOf(kQueue, kWaiting, Second(1)).is_awaited);
}

TEST_F(SignalStoreTest, AFailedSourceIsNotAwaited) {
  const absl::Status refused = absl::UnavailableError("refused");
  Lease(kQueue);
  store_.AddQueueLength(kQueue, refused);
  EXPECT_FALSE(store_.HistoryOf(kQueue, kWaiting, Second(1)).is_awaited);

  Lease(kEndpoint);
  store_.SetEndpointAddresses(kEndpoint, std::vector<std::string>{"10.0.0.1", "10.0.0.2"});
  EXPECT_TRUE(store_.HistoryOf(kEndpoint, kWaiting, Second(1)).is_awaited);
  store_.AddSample(kEndpoint, "10.0.0.1", refused);
  EXPECT_FALSE(store_.HistoryOf(kEndpoint, kWaiting, Second(1)).is_awaited)
      << "the value is the sum over all addresses, and one has none";
}

TEST_F(SignalStoreTest, OtherEnginesAreAwaitedWhenOneFails) {
  const EngineAddress other{.address = "10.0.0.2", .port = 8000};
  const auto fail = [&](const EngineAddress& engine_address) {
    store_.AddReading(kEngines, engine_address,
                      {.at = Second(1), .reading = absl::UnavailableError("refused")});
  };
  Lease(kEngines);
  store_.SetEngines(kEngines, std::vector{kEngineAddress, other}, Second(0));
  fail(kEngineAddress);
  EXPECT_TRUE(store_.HistoryOf(kEngines, kWaiting, Second(1)).is_awaited) << "the other may answer";
  fail(other);
  EXPECT_FALSE(store_.HistoryOf(kEngines, kWaiting, Second(1)).is_awaited);
}

TEST_F(SignalStoreTest, AddressesAreAwaitedUntilKnownOrFailed) {
  const struct {
    absl::Status status;
    bool want;
  } rows[] = {{NotYet("not resolved yet"), true},
              {absl::UnavailableError("no DNS"), false},
              {absl::PermissionDeniedError("not yours"), false}};
  for (const SignalSource& source : {kEngines, kEndpoint, kQueue}) Lease(source);
  for (const auto& row : rows) {
    store_.SetEngines(kEngines, row.status, Second(0));
    store_.SetEndpointAddresses(kEndpoint, row.status);
    store_.AddQueueLength(kQueue, row.status);
    for (const SignalSource& source : {kEngines, kEndpoint, kQueue}) {
      EXPECT_EQ(store_.HistoryOf(source, kWaiting, Second(1)).is_awaited, row.want) << row.status;
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
  store_.SetEngines(kEngines, std::vector{kEngineAddress}, Second(0));
  for (int second = 0; second < 100; ++second) {
    store_.AddReading(kEngines, kEngineAddress, UpdateAt(second, 1));
  }
  more.metric = EngineMetric::kRequestsWaiting;  // the readings have no latencies
  EXPECT_EQ(store_.HistoryOf(kEngines, more, Second(99)).series.front().points.size(), 100u);
  EXPECT_TRUE(store_.LeasedSources(Second(99)).front().needs_histograms);
  EXPECT_FALSE(store_.LeasedSources(Second(100)).front().needs_histograms);
  EXPECT_THAT(store_.HistoryOf(kEngines, more, Second(100)).series.front().points, IsEmpty())
      << "no lease needs the model llama by itself any more";
  store_.AddReading(kEngines, kEngineAddress, UpdateAt(100, 1));
  more.model = "";
  EXPECT_LE(store_.HistoryOf(kEngines, more, Second(100)).series.front().points.size(), 42u)
      << "32 for the 30 s of the other lease, and older ones until they are a quarter of all";
}

SignalCounts CountsOf(const SignalStore& store, SignalKind kind) {
  return store.Counts()[static_cast<size_t>(kind)];
}

TEST_F(SignalStoreTest, ReadingsAreCountedByTheKindOfTheirSource) {
  Lease(kEngines);
  Lease(kQueue);
  store_.SetEngines(kEngines, std::vector{kEngineAddress}, Second(0));
  store_.AddReading(kEngines, kEngineAddress, UpdateAt(1, 3));
  store_.AddReading(kEngines, kEngineAddress, UpdateAt(4, 3));
  store_.AddReading(kEngines, kEngineAddress,
                    {.at = Second(5), .reading = absl::UnavailableError("refused")});
  store_.SetEngines(kEngines, absl::UnavailableError("no such name"), Second(6));
  store_.AddQueueLength(kQueue, absl::UnavailableError("refused"));
  const SignalCounts engines = CountsOf(store_, SignalKind::kEngine);
  EXPECT_EQ(engines.read, 2);
  EXPECT_EQ(engines.failed, 2) << "a name that cannot be resolved counts too";
  EXPECT_EQ(engines.sources, 1u);
  EXPECT_EQ(engines.oldest, Second(4));
  const SignalCounts queues = CountsOf(store_, SignalKind::kRedis);
  EXPECT_EQ(queues.read, 0);
  EXPECT_EQ(queues.failed, 1);
  EXPECT_EQ(queues.oldest, Second(0))
      << "it was never read, so the age counts from its first lease";
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
  EXPECT_EQ(CountsOf(store_, SignalKind::kRedis).oldest, Second(8))
      << "the other queue has no lease any more";
  EXPECT_EQ(CountsOf(store_, SignalKind::kRedis).sources, 1u);
  EXPECT_EQ(CountsOf(store_, SignalKind::kRedis).read, 2)
      << "counters do not fall when a source is removed";
}

TEST_F(SignalStoreTest, EnginesScaledToZeroCountAsRead) {
  Lease(kEngines);
  store_.SetEngines(kEngines, std::vector<EngineAddress>(), Second(60));
  EXPECT_EQ(CountsOf(store_, SignalKind::kEngine).oldest, Second(60));
  EXPECT_EQ(CountsOf(store_, SignalKind::kEngine).read, 0);
  store_.SetEngines(kEngines, std::vector{kEngineAddress}, Second(70));
  EXPECT_EQ(CountsOf(store_, SignalKind::kEngine).oldest, Second(60))
      << "an engine is listed, but has not been read";
}

TEST_F(SignalStoreTest, SourcesWithDifferentSecretsAreDistinct) {
  SignalSource with_token = kEngines;
  with_token.credentials.bearer_token = "hunter2";
  Lease(with_token);
  EXPECT_EQ(store_.HistoryOf(kEngines, kWaiting, Second(0)).status.code(),
            absl::StatusCode::kUnavailable)
      << "a source without the token must not return what was read with it";
}

TEST_F(SignalStoreTest, IsThreadSafe) {
  Lease(kEngines);
  Lease(kQueue);
  store_.SetEngines(kEngines, std::vector{kEngineAddress}, Second(0));
  std::thread engines([&] {
    for (int i = 1; i <= 1000; ++i) store_.AddReading(kEngines, kEngineAddress, UpdateAt(i, i));
  });
  std::thread evaluator([&] {
    for (int i = 0; i < 1000; ++i) store_.HistoryOf(kEngines, kWaiting, Second(i));
  });
  for (int i = 1; i <= 1000; ++i) store_.LeasedSources(Second(1));
  engines.join();
  evaluator.join();
  EXPECT_EQ(PointsOf(kEngines, 1000).back(), (SignalPoint{Second(1000), 1000}));
}

// Each namespace may have 3 sources and 1 MiB of memory for their histories, all namespaces
// together 3 MiB.
class SignalStoreQuotaTest : public testing::Test {
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
    return store_.HistoryOf(source, {}, Second(1)).status;
  }
  bool IsRead(const SignalSource& source, int now) {
    const std::vector<LeasedSource> leased = store_.LeasedSources(Second(now));
    return std::ranges::find(leased, source, &LeasedSource::source) != leased.end();
  }

  SignalStore store_{{.max_gap = absl::Seconds(10),
                      .max_sources = 100,
                      .max_sources_per_namespace = 3,
                      .max_bytes = size_t{3} << 20,
                      .max_bytes_per_namespace = size_t{1} << 20},
                     [] {}};
};

TEST_F(SignalStoreQuotaTest, ANamespaceHasASourceQuota) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Lease(QueueOf("team-a", i)).ok()) << i;
  const absl::Status refused = Lease(QueueOf("team-a", 3));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(), "namespace team-a has 3 endpoints read already, and no more");
  EXPECT_EQ(StatusOf(QueueOf("team-a", 3)), refused)
      << "a caller without a lease gets the same error";
  EXPECT_TRUE(Lease(QueueOf("team-b")).ok());
}

TEST_F(SignalStoreQuotaTest, ASourceOverItsNamespacesQuotaIsEvicted) {
  const SignalSource greedy = QueueOf("team-a", 0);
  const SignalSource modest = QueueOf("team-a", 1);
  const SignalSource other = QueueOf("team-b");
  ASSERT_TRUE(Lease(greedy, absl::Hours(100)).ok());
  ASSERT_TRUE(Lease(modest).ok());
  ASSERT_TRUE(Lease(other).ok());
  AddReadings(modest, 10);
  AddReadings(other, 10);
  AddReadings(greedy, 50'000);  // they would take more than 2 MiB
  const absl::Status status = StatusOf(greedy);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("namespace team-a"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 MiB"));
  EXPECT_THAT(store_.HistoryOf(greedy, {}, Second(1)).series, IsEmpty())
      << "a partial history would pass for a complete one";
  EXPECT_FALSE(IsRead(greedy, 1));
  EXPECT_TRUE(StatusOf(modest).ok()) << StatusOf(modest);
  EXPECT_TRUE(StatusOf(other).ok()) << StatusOf(other);
  EXPECT_TRUE(IsRead(modest, 1));
}

TEST_F(SignalStoreQuotaTest, AnEvictedSourceIsReadAgainWhenItNeedsLess) {
  const SignalSource queue = QueueOf("team-a");
  ASSERT_TRUE(Lease(queue, absl::Hours(100), 90).ok());
  ASSERT_TRUE(Lease(queue, absl::Minutes(1), 1000).ok());
  AddReadings(queue, 50'000);  // they would take more than 2 MiB
  EXPECT_FALSE(IsRead(queue, 1));
  EXPECT_FALSE(IsRead(queue, 89)) << "it would not fit";
  EXPECT_TRUE(IsRead(queue, 90)) << "the lease that looks back 100 h has expired";
  EXPECT_TRUE(StatusOf(queue).ok()) << StatusOf(queue);
  EXPECT_EQ(store_.HistoryOf(queue, {}, Second(90)).read_since, Second(90))
      << "nothing is known of the time before";
  store_.AddQueueLength(queue, Length(91, 5));
  EXPECT_THAT(store_.HistoryOf(queue, {}, Second(91)).series.front().points,
              ElementsAre(SignalPoint{Second(91), 5}));
}

TEST_F(SignalStoreQuotaTest, TheTotalStaysWithinTheLimit) {
  std::vector<SignalSource> queues;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    queues.push_back(QueueOf(name));
    ASSERT_TRUE(Lease(queues.back(), absl::Hours(100)).ok());
    AddReadings(queues.back(), 12'000);  // more than half a MiB
  }
  const auto evicted = std::ranges::count_if(
      queues, [&](const SignalSource& queue) { return !StatusOf(queue).ok(); });
  EXPECT_GE(evicted, 1) << "all eight would take more than 4 MiB";
  EXPECT_LE(evicted, 5) << "3 MiB have room for three at least";
}

}  // namespace
}  // namespace gpuscaler
