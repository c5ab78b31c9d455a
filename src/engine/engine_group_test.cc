#include "engine/engine_group.h"

#include "engine/capacity_records.h"
#include "engine/test_seconds.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;

const EngineQuery kHowManyWait{.metric = EngineMetric::kRequestsWaiting,
                               .look_back = absl::Minutes(1)};
const EngineAddress kOnePod{
    .address = "10.0.0.1", .port = 8000, .namespace_name = "team-a", .pod = "llm-0"};
const EngineAddress kOtherPod{.address = "fd00::2", .port = 8000};

EngineUpdate Observed(double waiting, absl::Time at = Second(0)) {
  return {.at = at, .engine = "vllm", .reading = EngineReading{{{.waiting = waiting}}}};
}

SignalHistory HistoryOf(const EngineGroup& group) {
  return group.Answer(kHowManyWait, Second(0), absl::Seconds(10),
                      [](const EngineAddress&) { return true; });
}

TEST(EngineGroup, HasASeriesWithItsPodForEachEngine) {
  EngineGroup group;
  group.SetEngines(std::vector{kOnePod, kOtherPod}, Second(0));
  group.AddReading(kOnePod, Observed(3));
  const SignalHistory history = HistoryOf(group);
  EXPECT_TRUE(history.status.ok());
  EXPECT_THAT(
      history.series,
      ElementsAre(
          AllOf(Field(&SignalSeries::name, "vllm at 10.0.0.1:8000"),
                Field(&SignalSeries::namespace_name, "team-a"), Field(&SignalSeries::pod, "llm-0"),
                Field(&SignalSeries::address, "10.0.0.1"),
                Field(&SignalSeries::points, ElementsAre(SignalPoint{Second(0), 3}))),
          AllOf(Field(&SignalSeries::name, "engine at [fd00::2]:8000"),
                Field(&SignalSeries::error, "not read yet"))));
}

TEST(EngineGroup, ReturnsOnlyEnginesThatCount) {
  EngineGroup group;
  group.SetEngines(std::vector{kOnePod, kOtherPod}, Second(0));
  const SignalHistory history = group.Answer(
      kHowManyWait, Second(0), absl::Seconds(10),
      [](const EngineAddress& engine_address) { return engine_address.pod == "llm-0"; });
  EXPECT_THAT(history.series, ElementsAre(Field(&SignalSeries::address, "10.0.0.1")));
}

TEST(EngineGroup, UnlistedEnginesAreDropped) {
  EngineGroup group;
  group.SetEngines(std::vector{kOnePod}, Second(0));
  group.AddReading(kOnePod, Observed(3));
  group.SetEngines(std::vector{kOtherPod}, Second(0));
  group.AddReading(kOnePod, Observed(4, Second(1)));
  EXPECT_THAT(HistoryOf(group).series, ElementsAre(Field(&SignalSeries::address, "fd00::2")));
  group.SetEngines(std::vector{kOnePod}, Second(0));
  EXPECT_THAT(HistoryOf(group).series, ElementsAre(Field(&SignalSeries::error, "not read yet")));
}

TEST(EngineGroup, DepartedEnginesAreKeptForDemand) {
  EngineGroup group;
  group.KeepDeparted(absl::Minutes(15));
  group.SetEngines(std::vector{kOnePod, kOtherPod}, Second(0));
  group.AddReading(
      kOnePod,
      {.at = Second(1),
       .engine = "vllm",
       .reading = EngineReading{{{.waiting = 1, .running = 2, .requests_done = 0, .answers = 0}}}});
  group.SetEngines(std::vector{kOtherPod}, Second(2));
  group.AddReading(kOtherPod, Observed(1, Second(800)), Second(740));
  EngineQuery query = kHowManyWait;
  const auto left_at = [&](absl::Time now) {
    return group.Answer(query, now, absl::Seconds(10), [](const EngineAddress&) { return true; })
        .departed;
  };
  EXPECT_THAT(left_at(Second(800)), SizeIs(0)) << "the query looks back on a minute";
  query.demand_window = absl::Minutes(15);
  ASSERT_THAT(left_at(Second(800)), SizeIs(1));
  ASSERT_NE(left_at(Second(800)).front().demand, nullptr);
  EXPECT_EQ(left_at(Second(800)).front().demand->running, 2);
  EXPECT_THAT(left_at(Second(903)), SizeIs(0));
  group.AddReading(kOtherPod, Observed(1, Second(910)), Second(850));
  EXPECT_THAT(left_at(Second(800)), SizeIs(0)) << "it is kept no longer";
}

TEST(EngineGroup, DepartedEnginesAreReturnedWithinTheLookBack) {
  EngineGroup group;
  group.SetEngines(std::vector{kOnePod, kOtherPod}, Second(0));
  group.AddReading(kOnePod, Observed(3, Second(1)));
  const size_t bytes = group.Bytes();
  group.SetEngines(std::vector<EngineAddress>(), Second(5));
  const auto left_at = [&group](absl::Time now) {
    return group
        .Answer(kHowManyWait, now, absl::Seconds(10), [](const EngineAddress&) { return true; })
        .departed;
  };
  EXPECT_THAT(left_at(Second(65)),
              ElementsAre(AllOf(Field(&SignalSeries::name, "vllm at 10.0.0.1:8000"),
                                Field(&SignalSeries::pod, "llm-0"))))
      << "the other one never answered";
  EXPECT_THAT(left_at(Second(6)).front().points, ElementsAre(SignalPoint{Second(1), 3}));
  EXPECT_THAT(left_at(Second(66)), SizeIs(0));
  EXPECT_GT(group.Bytes(), bytes / 4) << "it is kept, and weighed";
  group.SetEngines(std::vector<EngineAddress>(), Second(70), {}, Second(5));
  EXPECT_THAT(left_at(Second(6)), SizeIs(0)) << "it is kept no longer";
}

TEST(EngineGroup, ListedSinceIsSetForEnginesThatCameLater) {
  EngineGroup group;
  group.SetEngines(absl::UnavailableError("llm.team-a.svc: no answer"), Second(0));
  group.SetEngines(std::vector{kOnePod}, Second(1));
  group.SetEngines(std::vector{kOnePod, kOtherPod}, Second(2));
  group.SetEngines(std::vector{kOnePod, kOtherPod}, Second(3));
  EXPECT_THAT(HistoryOf(group).series,
              ElementsAre(Field(&SignalSeries::listed_since, absl::InfinitePast()),
                          Field(&SignalSeries::listed_since, Second(2))));
  group.SetEngines(std::vector{kOtherPod}, Second(4));
  group.SetEngines(std::vector{kOnePod, kOtherPod}, Second(5));
  EXPECT_THAT(HistoryOf(group).series, ElementsAre(Field(&SignalSeries::listed_since, Second(5)),
                                                   Field(&SignalSeries::listed_since, Second(2))))
      << "another pod may have the address by now";
}

TEST(EngineGroup, ListErrorIsReturnedAndKeepsTheEngines) {
  EngineGroup group;
  EXPECT_EQ(HistoryOf(group).status.code(), absl::StatusCode::kUnavailable);
  group.SetEngines(std::vector{kOnePod}, Second(0));
  group.AddReading(kOnePod, Observed(3));
  group.SetEngines(absl::UnavailableError("llm.team-a.svc: no answer"), Second(1));
  const SignalHistory history = HistoryOf(group);
  EXPECT_THAT(std::string(history.status.message()), HasSubstr("no answer"));
  EXPECT_THAT(history.series,
              ElementsAre(Field(&SignalSeries::points, ElementsAre(SignalPoint{Second(0), 3}))));
}

TEST(EngineGroup, NewEngineKeepsTheRequestedModels) {
  EngineGroup group;
  group.KeepOnly({"llama"});
  group.SetEngines(std::vector{kOnePod}, Second(0));
  group.AddReading(kOnePod, {.at = Second(0),
                             .engine = "vllm",
                             .reading = EngineReading{{{.model = "llama", .waiting = 1},
                                                       {.model = "qwen", .waiting = 2}}}});
  EngineQuery of_llama = kHowManyWait;
  of_llama.model = "llama";
  const SignalHistory history = group.Answer(of_llama, Second(0), absl::Seconds(10),
                                             [](const EngineAddress&) { return true; });
  EXPECT_THAT(history.series,
              ElementsAre(Field(&SignalSeries::points, ElementsAre(SignalPoint{Second(0), 1}))));
}

TEST(EngineGroup, TooManyEnginesAreAnErrorAndTruncated) {
  EngineGroup group;
  std::vector<EngineAddress> engines;
  for (int port = 0; port <= static_cast<int>(kMaxEngines); ++port) {
    engines.push_back({.address = "10.0.0.1", .port = port});
  }
  group.SetEngines(engines, Second(0));
  EXPECT_EQ(HistoryOf(group).status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(HistoryOf(group).series, SizeIs(kMaxEngines));
}

class RecordedEngineTest : public testing::Test {
 protected:
  static constexpr double kLearnt = 8;

  RecordedEngineTest() {
    group_.KeepDeparted(absl::Minutes(15));
    group_.SetEngines(std::vector{kOnePod}, Second(0));
  }
  // Requests wait while the batch is full.
  void Serve(const std::string& model, int from, int to,
             const EngineAddress& engine_address = kOnePod) {
    for (int second = from; second <= to; ++second) {
      const double done = 10.0 * (second - from + 1);
      group_.AddReading(engine_address, {.at = Second(second),
                                         .engine = "vllm",
                                         .reading = EngineReading{{{.model = model,
                                                                    .waiting = 1,
                                                                    .running = kLearnt,
                                                                    .requests_done = done,
                                                                    .generation_tokens = 40 * done,
                                                                    .answers = done,
                                                                    .answer_tokens = 40 * done}}}});
    }
  }
  static std::shared_ptr<const SignalSeries> Record(const std::string& models = "llama",
                                                    absl::Time read_at = Second(200)) {
    auto record = std::make_shared<SignalSeries>(SignalSeries{.name = "vllm at 10.0.0.1:8000"});
    record->namespace_name = kOnePod.namespace_name;
    record->pod = kOnePod.pod;
    record->models = models;
    record->demand = std::make_shared<const EngineDemand>(EngineDemand{
        .first_at = absl::InfinitePast(), .newest_at = read_at, .service = {.seconds = 1000}});
    record->batch = std::make_shared<const EngineBatch>(EngineBatch{.learnt_limit = kLearnt});
    return record;
  }
  void Leave(const CapacityRecords& records) {
    group_.SetEngines(std::vector<EngineAddress>(), Second(201), {}, Second(0), records);
  }
  SignalHistory Answer(const EngineQuery& query, absl::Time now = Second(202)) const {
    return group_.Answer(query, now, absl::Seconds(10), [](const EngineAddress& engine_address) {
      return engine_address.pod != "none";
    });
  }

  const EngineQuery about_demand_{.metric = EngineMetric::kPressurePercent,
                                  .look_back = absl::Minutes(5),
                                  .demand_window = absl::Minutes(15)};
  EngineGroup group_;
};

TEST_F(RecordedEngineTest, RecordReplacesTheSumsOfADepartedEngine) {
  Serve("llama", 1, 200);
  Leave({Record()});
  const SignalHistory history = Answer(about_demand_);
  ASSERT_THAT(history.capacity_records, SizeIs(1));
  ASSERT_THAT(history.departed, SizeIs(1));
  EXPECT_EQ(history.departed[0].demand->service, ServiceSums());
  EXPECT_EQ(history.departed[0].batch->learnt_limit, std::nullopt) << "it is in the record";
}

TEST_F(RecordedEngineTest, ExpiredOrOtherRecordReplacesNothing) {
  Serve("llama", 1, 200);
  Leave({Record("llama", Second(201) - absl::Hours(25))});
  SignalHistory history = Answer(about_demand_);
  EXPECT_THAT(history.capacity_records, SizeIs(0)) << "it is too old";
  EXPECT_GT(history.departed.at(0).demand->service.seconds, 0);
  EXPECT_EQ(history.departed.at(0).batch->learnt_limit, kLearnt);

  group_.KeepOnly({"llama"});
  Leave({Record("llama,qwen")});
  EngineQuery of_model = about_demand_;
  of_model.model = "llama";
  EXPECT_THAT(Answer(of_model).capacity_records, SizeIs(0)) << "it is of two models";
  EXPECT_THAT(Answer(about_demand_).capacity_records, SizeIs(1));
}

TEST_F(RecordedEngineTest, RecordedLimitCountsForPressureWithoutDemand) {
  Leave({Record()});
  EXPECT_THAT(Answer({.metric = EngineMetric::kPressurePercent}).capacity_records, SizeIs(1));
  EXPECT_THAT(Answer(kHowManyWait).capacity_records, SizeIs(0));
}

// No agent reads an engine behind a DNS name.
TEST_F(RecordedEngineTest, DepartedEngineBehindANameIsRecordedForADay) {
  group_.SetEngines(std::vector{kOtherPod}, Second(0));
  Serve("llama", 1, 200, kOtherPod);
  const ServiceSums served = Answer(about_demand_).series.at(0).demand->service;
  group_.SetEngines(std::vector<EngineAddress>(), Second(201), {}, Second(201));
  EXPECT_THAT(Answer(about_demand_).capacity_records, SizeIs(0)) << "its readings are kept";
  const absl::Time later = Second(200) + absl::Hours(23);
  group_.SetEngines(std::vector<EngineAddress>(), later, {}, later);
  const SignalHistory history = Answer(about_demand_, later);
  EXPECT_THAT(history.departed, SizeIs(0));
  ASSERT_THAT(history.capacity_records, SizeIs(1));
  const SignalSeries& record = *history.capacity_records[0];
  EXPECT_EQ(record.demand->service, served);
  EXPECT_EQ(record.demand->newest_at, Second(200));
  EXPECT_EQ(record.batch->learnt_limit, kLearnt);
  EXPECT_EQ(record.models, "llama");
  EXPECT_EQ(record.address, kOtherPod.address);
  EXPECT_THAT(Answer(kHowManyWait, later).capacity_records, SizeIs(0));
  EXPECT_THAT(Answer(about_demand_, Second(201) + absl::Hours(24)).capacity_records, SizeIs(0));
}

TEST_F(RecordedEngineTest, EngineBehindANameWithoutServiceIsNotRecorded) {
  group_.SetEngines(std::vector{kOtherPod}, Second(0));
  group_.AddReading(kOtherPod, Observed(0));
  group_.SetEngines(std::vector<EngineAddress>(), Second(1), {}, Second(1));
  const absl::Time later = Second(0) + absl::Hours(1);
  group_.SetEngines(std::vector<EngineAddress>(), later, {}, later);
  EXPECT_THAT(Answer(about_demand_, later).capacity_records, SizeIs(0));
}

TEST_F(RecordedEngineTest, RecordsOfEnginesBehindANameAreLimited) {
  std::vector<EngineAddress> engines;
  for (size_t i = 0; i <= kMaxCapacityRecords; ++i) {
    engines.push_back({.address = absl::StrCat("10.1.", i / 256, ".", i % 256), .port = 8000});
  }
  group_.SetEngines(engines, Second(0));
  for (const EngineAddress& engine_address : engines) Serve("llama", 1, 30, engine_address);
  const size_t before = group_.Bytes();
  group_.SetEngines(std::vector<EngineAddress>(), Second(31), {}, Second(31));
  const absl::Time later = Second(31) + absl::Hours(1);
  group_.SetEngines(std::vector<EngineAddress>(), later, {}, later);
  EXPECT_THAT(Answer(about_demand_, later).capacity_records, SizeIs(kMaxCapacityRecords));
  EXPECT_LT(group_.Bytes(), before);
}

// The pods of a record may have left before the fleet's history begins.
TEST_F(RecordedEngineTest, RecordsIncludeDeletedPods) {
  Leave({Record()});
  const SignalHistory history = group_.Answer(about_demand_, Second(202), absl::Seconds(10),
                                              [](const EngineAddress&) { return false; });
  EXPECT_THAT(history.capacity_records, SizeIs(1));
}

TEST_F(RecordedEngineTest, RecordOfAnotherModelDoesNotCount) {
  group_.AddReading(
      kOnePod,
      {.at = Second(1),
       .engine = "vllm",
       .reading =
           EngineReading{{{.model = "llama", .waiting = 0, .running = 1, .requests_done = 1}}},
       .capacity_record = Record("llama", Second(1))});
  EXPECT_EQ(Answer(about_demand_, Second(2)).series.at(0).demand->service.seconds, 1000);
  Serve("qwen", 10, 11);
  const SignalSeries series = Answer(about_demand_, Second(12)).series.at(0);
  EXPECT_EQ(series.models, "qwen");
  EXPECT_LT(series.demand->service.seconds, 1000) << "until its agent sends another record";
}

}  // namespace
}  // namespace gpuscaler
