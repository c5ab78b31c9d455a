#include "signal/signal_store.h"

#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "signal/test_seconds.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr SignalStore::Limits kLimits{
    .every = absl::Seconds(1), .longest_gap = absl::Seconds(10), .most_sources = 3};
const EngineQuestion kWaiting{.metric = EngineMetric::kRequestsWaiting,
                              .look_back = absl::Seconds(30)};
const SignalSource kEngines{.namespace_name = "team-a",
                            .place = EngineEndpoint{.url = "http://llm:8000"}};
const SignalSource kQueue{.namespace_name = "team-a",
                          .place = RedisQueue{.address = "redis:6379", .key = "jobs"}};
const EnginePlace kPlace{.address = "10.0.0.1", .port = 8000};

EngineNews News(int second, double waiting) {
  return {.at = Second(second),
          .engine = "vllm",
          .reading = EngineReading{{{.model = "llama", .waiting = waiting}}}};
}

CounterPoint Length(int second, double length) {
  return {.instant = {.at = Second(second)}, .value = length};
}

class SignalStoreTest : public testing::Test {
 protected:
  void Want(const SignalSource& source, int until = 90) {
    ASSERT_TRUE(store_.Want(source, kWaiting, Second(0), Second(until)).ok());
  }
  std::vector<SignalPoint> PointsOf(const SignalSource& source, int now) {
    const SignalHistory history = store_.Of(source, kWaiting, Second(now));
    return history.series.empty() ? std::vector<SignalPoint>() : history.series.front().points;
  }

  int wishes_ = 0;
  int changes_ = 0;
  SignalStore store_{kLimits, {.wanted = [this] { ++wishes_; }, .changed = [this] { ++changes_; }}};
};

TEST_F(SignalStoreTest, TellsWhatTheEnginesOfASourceSaid) {
  Want(kEngines);
  store_.ListEngines(kEngines, std::vector{kPlace});
  store_.TakeEngine(kEngines, kPlace, News(1, 3));
  store_.TakeEngine(kEngines, kPlace, News(2, 4));
  const SignalHistory history = store_.Of(kEngines, kWaiting, Second(2));
  EXPECT_EQ(history.now, Second(2));
  EXPECT_EQ(history.read_since, Second(0));
  EXPECT_EQ(history.every, absl::Seconds(1));
  EXPECT_TRUE(history.status.ok());
  EXPECT_THAT(PointsOf(kEngines, 2),
              ElementsAre(SignalPoint{Second(1), 3}, SignalPoint{Second(2), 4}));
}

TEST_F(SignalStoreTest, TellsWhatAQueueHas) {
  Want(kQueue);
  store_.TakeNumber(kQueue, Length(1, 47));
  EXPECT_THAT(store_.Of(kQueue, kWaiting, Second(1)).series,
              ElementsAre(Field(&SignalSeries::name, "stream jobs at redis:6379")));
  EXPECT_THAT(PointsOf(kQueue, 1), ElementsAre(SignalPoint{Second(1), 47}));
}

TEST_F(SignalStoreTest, ASourceIsReadWhileSomebodyWantsIt) {
  EXPECT_THAT(store_.AllWanted(Second(0)), IsEmpty());
  Want(kEngines, 90);
  Want(kEngines, 30);
  EXPECT_THAT(store_.AllWanted(Second(89)), ElementsAre(Field(&WantedSignal::source, kEngines)))
      << "a shorter lease shortens none";
  EXPECT_THAT(store_.AllWanted(Second(90)), IsEmpty());
}

TEST_F(SignalStoreTest, WhatNobodyWantsIsForgottenAndNotTaken) {
  store_.TakeNumber(kQueue, Length(0, 47));
  EXPECT_EQ(store_.Of(kQueue, kWaiting, Second(0)).status.code(), absl::StatusCode::kUnavailable);
  Want(kQueue, 90);
  store_.TakeNumber(kQueue, Length(1, 47));
  store_.AllWanted(Second(90));
  EXPECT_EQ(store_.Of(kQueue, kWaiting, Second(90)).status.code(), absl::StatusCode::kUnavailable);
  Want(kQueue, 180);
  EXPECT_THAT(PointsOf(kQueue, 91), IsEmpty()) << "nothing of the last lease";
}

TEST_F(SignalStoreTest, KeepsAsMuchAsTheQuestionsLookBackOn) {
  Want(kQueue, 1000);
  EngineQuestion longer = kWaiting;
  longer.look_back = absl::Seconds(60);
  ASSERT_TRUE(store_.Want(kQueue, longer, Second(0), Second(1000)).ok());
  for (int second = 0; second < 300; ++second) {
    store_.TakeNumber(kQueue, Length(second, second));
    store_.AllWanted(Second(second));
  }
  EXPECT_EQ(store_.Of(kQueue, longer, Second(299)).series.front().points.size(), 62u);
  longer.look_back = absl::Hours(1);
  EXPECT_LE(store_.Of(kQueue, longer, Second(299)).series.front().points.size(), 2 * 62u);
}

TEST_F(SignalStoreTest, HistogramsAreWantedByThoseWhoNeedThem) {
  Want(kEngines);
  EXPECT_FALSE(store_.AllWanted(Second(0)).front().histograms);
  const EngineQuestion latency{.metric = EngineMetric::kTimeToFirstTokenMs};
  ASSERT_TRUE(store_.Want(kEngines, latency, Second(0), Second(10)).ok());
  EXPECT_TRUE(store_.AllWanted(Second(1)).front().histograms);
}

TEST_F(SignalStoreTest, NewsIsToldAndFoundByItsGeneration) {
  Want(kEngines);
  Want(kQueue);
  EXPECT_EQ(changes_, 0);
  store_.ListEngines(kEngines, std::vector{kPlace});
  const int64_t generation = store_.Generation();
  EXPECT_THAT(store_.ChangedSince(generation), IsEmpty());
  store_.TakeNumber(kQueue, Length(1, 47));
  EXPECT_EQ(changes_, 2);
  EXPECT_THAT(store_.ChangedSince(generation), ElementsAre(kQueue));
  EXPECT_THAT(store_.ChangedSince(0), ElementsAre(kEngines, kQueue));
}

TEST_F(SignalStoreTest, ASourceMoreIsTold) {
  Want(kEngines);
  EXPECT_EQ(wishes_, 1);
  Want(kEngines);
  EXPECT_EQ(wishes_, 1) << "it is read already";
  Want(kQueue);
  EXPECT_EQ(wishes_, 2);
}

TEST_F(SignalStoreTest, WhatIsToldAgainIsNoNews) {
  Want(kEngines);
  store_.ListEngines(kEngines, std::vector{kPlace});
  store_.TakeEngine(kEngines, kPlace, News(1, 3));
  const int64_t generation = store_.Generation();
  store_.ListEngines(kEngines, std::vector{kPlace});
  store_.TakeEngine(kEngines, kPlace, News(1, 3));
  store_.TakeEngine(kEngines, {.address = "10.0.0.2"}, News(2, 3));
  EXPECT_EQ(store_.Generation(), generation);
  EXPECT_EQ(store_.Of(kEngines, kWaiting, Second(1)).generation, generation);
  store_.ListEngines(kEngines, absl::UnavailableError("DNS does not answer"));
  EXPECT_EQ(store_.Generation(), generation + 1);
}

TEST_F(SignalStoreTest, OthersAreRefusedWhenThereAreTooMany) {
  SignalSource other = kQueue;
  for (int i = 0; i < 3; ++i) {
    std::get<RedisQueue>(other.place).database = i;
    Want(other, 10 + i);
  }
  EXPECT_EQ(store_.Want(kEngines, kWaiting, Second(0), Second(90)).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(store_.Want(other, kWaiting, Second(0), Second(90)).ok()) << "one that is there";
  EXPECT_TRUE(store_.Want(kEngines, kWaiting, Second(10), Second(90)).ok())
      << "the first one's lease has ended";
}

TEST_F(SignalStoreTest, SecretsTellSourcesApart) {
  SignalSource with_token = kEngines;
  with_token.credentials.bearer_token = "hunter2";
  Want(with_token);
  EXPECT_EQ(store_.Of(kEngines, kWaiting, Second(0)).status.code(), absl::StatusCode::kUnavailable)
      << "who does not have the token does not see what it opens";
}

TEST_F(SignalStoreTest, ManyThreadsMayTellAndAsk) {
  Want(kEngines);
  Want(kQueue);
  store_.ListEngines(kEngines, std::vector{kPlace});
  std::thread engines([&] {
    for (int i = 1; i <= 1000; ++i) store_.TakeEngine(kEngines, kPlace, News(i, i));
  });
  std::thread asking([&] {
    for (int i = 0; i < 1000; ++i) store_.Of(kEngines, kWaiting, Second(i));
  });
  for (int i = 1; i <= 1000; ++i) store_.AllWanted(Second(1));
  engines.join();
  asking.join();
  EXPECT_EQ(PointsOf(kEngines, 1000).back(), (SignalPoint{Second(1000), 1000}));
}

}  // namespace
}  // namespace gpuscaler
