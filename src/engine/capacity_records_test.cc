#include "engine/capacity_records.h"

#include <malloc.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/test_served_engine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const absl::Time kStart = absl::FromUnixSeconds(1'767'225'600);

class NodeCapacityRecordsTest : public testing::Test {
 protected:
  void Serve(const EngineAddress& engine_address, absl::Duration how_long, double running = 8) {
    const absl::Time end = now_ + how_long;
    while (now_ < end) {
      now_ += absl::Seconds(1);
      if (auto record = capacity_records_.AddReading(engine_address, engine_.Read(now_, running),
                                                     NodeSnapshotOf(engine_address))) {
        newest_ = record;
        ++records_;
      }
    }
  }
  // Reads an engine that serves for two minutes, then removes it from the list of its namespace.
  void ServeAndDepart(const EngineAddress& engine_address) {
    engine_ = {};
    Serve(engine_address, absl::Minutes(2));
    capacity_records_.SetEngines(/*namespaces=*/{"team-a"}, /*engines=*/{});
  }

  absl::Time now_ = kStart;
  ServedEngine engine_;
  NodeCapacityRecords capacity_records_;
  std::shared_ptr<const SignalSeries> newest_;
  int records_ = 0;
};

TEST_F(NodeCapacityRecordsTest, DepartedEngineKeepsItsOwnersGpuAndModels) {
  ServeAndDepart(EngineAddressOf("llm-0"));
  ASSERT_THAT(capacity_records_.DepartedRecords(now_), SizeIs(1));
  const SignalSeries record = *capacity_records_.DepartedRecords(now_).front();
  EXPECT_EQ(record.name, "vllm at 10.0.0.1:8000");
  EXPECT_EQ(record.models, "llama");
  EXPECT_EQ(record.gpu_model, "H100");
  ASSERT_NE(record.pod_with_owners, nullptr);
  EXPECT_EQ(record.pod_with_owners->owners,
            NodeSnapshotOf(EngineAddressOf("llm-0")).pods.front().owners);
  EXPECT_EQ(record.demand->newest_at, now_);
  EXPECT_GT(record.demand->service.seconds, 50) << "without the first minute of a process";
  ASSERT_THAT(record.demand->bins, SizeIs(1));
  EXPECT_EQ(record.demand->bins.front().arrived, 0) << "records have no arrivals";
  EXPECT_NEAR(record.demand->bins.front().answer_tokens / record.demand->bins.front().answers,
              ServedEngine::kTokensPerAnswer, 1e-6);
}

TEST_F(NodeCapacityRecordsTest, PresentEngineIsRecordedWhileItServesAndKeptWhileIdle) {
  Serve(EngineAddressOf("llm-0"), absl::Minutes(5));
  // At most one every 10 s.
  EXPECT_LE(records_, 31);
  EXPECT_GE(records_, 20);
  const ServiceSums served = newest_->demand->service;
  Serve(EngineAddressOf("llm-0"), absl::Hours(2), 0);
  EXPECT_GE(newest_->demand->service.seconds, served.seconds)
      << "an idle engine keeps what was measured";
  records_ = 0;
  Serve(EngineAddressOf("llm-0"), absl::Minutes(10), 0);
  EXPECT_EQ(records_, 10) << "once a minute while nothing changes";
  EXPECT_THAT(capacity_records_.DepartedRecords(now_), IsEmpty());
  capacity_records_.SetEngines({"team-b"}, {});
  EXPECT_THAT(capacity_records_.DepartedRecords(now_), IsEmpty())
      << "its namespace was not looked in";
}

TEST_F(NodeCapacityRecordsTest, RecordIsDroppedADayAfterTheLastReading) {
  ServeAndDepart(EngineAddressOf("llm-0"));
  EXPECT_THAT(capacity_records_.DepartedRecords(now_ + absl::Hours(24)), SizeIs(1));
  EXPECT_THAT(capacity_records_.DepartedRecords(now_ + absl::Hours(24) + absl::Seconds(1)),
              IsEmpty());
}

TEST_F(NodeCapacityRecordsTest, EngineWithoutServedRequestsIsNotKept) {
  Serve(EngineAddressOf("llm-0"), absl::Minutes(2), 0);
  capacity_records_.SetEngines({"team-a"}, {});
  EXPECT_THAT(capacity_records_.DepartedRecords(now_), IsEmpty());
}

TEST_F(NodeCapacityRecordsTest, AnotherModelInTheSamePodStartsANewRecord) {
  Serve(EngineAddressOf("llm-0"), absl::Minutes(10));
  const double before = newest_->demand->service.seconds;
  engine_.model = "mistral";
  Serve(EngineAddressOf("llm-0"), absl::Minutes(2));
  EXPECT_EQ(newest_->models, "mistral");
  EXPECT_LT(newest_->demand->service.seconds, before / 2);
}

TEST_F(NodeCapacityRecordsTest, OldestDeparturesAreDroppedFirst) {
  for (size_t i = 0; i <= kMaxCapacityRecords; ++i)
    ServeAndDepart(EngineAddressOf(absl::StrCat("llm-", i)));
  const auto departed = capacity_records_.DepartedRecords(now_);
  ASSERT_THAT(departed, SizeIs(kMaxCapacityRecords));
  EXPECT_EQ(departed.front()->pod, "llm-1");
  EXPECT_EQ(departed.back()->pod, absl::StrCat("llm-", kMaxCapacityRecords));
}

TEST_F(NodeCapacityRecordsTest, RecordTakesLittleMemory) {
  for (size_t i = 0; i < kMaxCapacityRecords; ++i)
    ServeAndDepart(EngineAddressOf(absl::StrCat("llm-", i)));
  const CapacityRecords departed = capacity_records_.DepartedRecords(now_);
  std::vector<std::shared_ptr<const SignalSeries>> copies;
  const size_t before = mallinfo2().uordblks;
  for (const auto& record : departed) {
    auto copy = std::make_shared<SignalSeries>(*record);
    copy->demand = std::make_shared<const EngineDemand>(*record->demand);
    copy->batch = std::make_shared<const EngineBatch>(*record->batch);
    copy->pod_with_owners = std::make_shared<const Pod>(*record->pod_with_owners);
    copies.push_back(std::move(copy));
  }
  const size_t bytes = (mallinfo2().uordblks - before) / departed.size();
  RecordProperty("bytes", static_cast<int>(bytes));
  EXPECT_LT(bytes, 2048);
}

TEST_F(NodeCapacityRecordsTest, EngineThatDepartsRepeatedlyHasOneRecord) {
  ServeAndDepart(EngineAddressOf("llm-0"));
  for (int times = 0; times < 3; ++times) ServeAndDepart(EngineAddressOf("llm-1"));
  EXPECT_THAT(capacity_records_.DepartedRecords(now_), SizeIs(2));
}

TEST_F(NodeCapacityRecordsTest, AdditionalModelKeepsTheRecord) {
  Serve(EngineAddressOf("llm-0"), absl::Minutes(10));
  const double before = newest_->demand->service.seconds;
  now_ += absl::Seconds(11);  // the next record may follow 10 s after the last
  EngineUpdate both = engine_.Read(now_, 8);
  both.reading->models.push_back({.model = "qwen"});
  const auto record = capacity_records_.AddReading(EngineAddressOf("llm-0"), both,
                                                   NodeSnapshotOf(EngineAddressOf("llm-0")));
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->models, "llama,qwen");
  EXPECT_GE(record->demand->service.seconds, before);
}

// llama.cpp counts no finished requests.
TEST_F(NodeCapacityRecordsTest, BatchLimitIsKeptWithoutDemand) {
  const EngineAddress engine_address = EngineAddressOf("llm-0");
  for (int second = 0; second <= 30; ++second) {
    now_ += absl::Seconds(1);
    capacity_records_.AddReading(engine_address,
                                 {.at = now_,
                                  .engine = "llamacpp",
                                  .reading = EngineReading{{{.waiting = 1, .running = 8}}}},
                                 NodeSnapshotOf(engine_address));
  }
  capacity_records_.SetEngines({"team-a"}, {});
  ASSERT_THAT(capacity_records_.DepartedRecords(now_ + absl::Hours(24)), SizeIs(1));
  EXPECT_EQ(capacity_records_.DepartedRecords(now_).front()->batch->learnt_limit, 8);
  EXPECT_EQ(capacity_records_.DepartedRecords(now_).front()->demand->newest_at, now_);
  EXPECT_THAT(capacity_records_.DepartedRecords(now_ + absl::Hours(25)), IsEmpty());
}

TEST_F(NodeCapacityRecordsTest, HistogramsAreNotKept) {
  Histogram histogram;
  for (int bucket = 0; bucket < 200; ++bucket) {
    histogram.buckets.push_back({.not_above = 0.1 * bucket, .count = 1.0});
  }
  const size_t before = mallinfo2().uordblks;
  for (int second = 0; second < 600; ++second) {
    EngineUpdate update = engine_.Read(now_ += absl::Seconds(1), 8);
    for (Histogram::Bucket& bucket : histogram.buckets) ++bucket.count;
    update.reading->models[0].first_token_seconds = histogram;
    capacity_records_.AddReading(EngineAddressOf("llm-0"), update,
                                 NodeSnapshotOf(EngineAddressOf("llm-0")));
  }
  EXPECT_LT(mallinfo2().uordblks - before, 64u << 10);
}

}  // namespace
}  // namespace gpuscaler
