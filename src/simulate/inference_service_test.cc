#include "simulate/inference_service.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

const absl::Time kOpening = absl::FromUnixSeconds(1'767'225'600);

class InferenceServiceTest : public testing::Test {
 protected:
  void RunFor(absl::Duration duration, double requests_per_second) {
    service_.Advance(service_.now() + duration, requests_per_second);
  }
  GpuSample Gpu(size_t index) const { return service_.Snapshot().gpus.at(index); }

  InferenceService service_{{.gpus = 3, .batch_limit = 4, .request_time = absl::Seconds(20)},
                            kOpening};
};

TEST_F(InferenceServiceTest, RequestsWaitUntilAReplicaHasStarted) {
  RunFor(absl::Seconds(8), 0.125);
  EXPECT_EQ(service_.waiting(), 1);
  service_.Scale(1);
  RunFor(absl::Seconds(59), 0);
  EXPECT_EQ(service_.ready(), 0);
  EXPECT_EQ(service_.waiting(), 1);
  RunFor(absl::Seconds(1), 0);
  EXPECT_EQ(service_.ready(), 1);
  EXPECT_EQ(service_.running(), 1);
  EXPECT_EQ(service_.totals().longest_wait, absl::Seconds(60));
  RunFor(absl::Seconds(20), 0);
  EXPECT_EQ(service_.totals().served, 1);
}

TEST_F(InferenceServiceTest, AReplicaServesNoMoreThanItsBatch) {
  service_.Scale(1);
  RunFor(absl::Seconds(60), 0);
  RunFor(absl::Seconds(1), 10);
  EXPECT_EQ(service_.running(), 4);
  EXPECT_EQ(service_.waiting(), 6);
}

TEST_F(InferenceServiceTest, RequestsSpreadOverTheReplicas) {
  service_.Scale(2);
  RunFor(absl::Seconds(60), 0);
  RunFor(absl::Seconds(1), 2);
  EXPECT_EQ(Gpu(0).utilization_percent, 50);
  EXPECT_EQ(Gpu(1).utilization_percent, 50);
}

TEST_F(InferenceServiceTest, MemoryStandsBusyOrIdleOnceAReplicaHasStarted) {
  EXPECT_LT(*MemoryUsedPercent(Gpu(0)), 1);
  EXPECT_TRUE(Gpu(0).processes->empty());
  service_.Scale(1);
  RunFor(absl::Seconds(60), 0);
  EXPECT_NEAR(*MemoryUsedPercent(Gpu(0)), 90, 0.01);
  EXPECT_EQ(Gpu(0).utilization_percent, 0);
  RunFor(absl::Seconds(5), 1);
  EXPECT_NEAR(*MemoryUsedPercent(Gpu(0)), 90, 0.01);
  EXPECT_EQ(Gpu(0).utilization_percent, 100);
  EXPECT_LT(*MemoryUsedPercent(Gpu(1)), 1);
}

TEST_F(InferenceServiceTest, AStartLooksLikeWork) {
  service_.Scale(1);
  RunFor(absl::Seconds(20), 0);
  EXPECT_GT(*Gpu(0).utilization_percent, 0);
  EXPECT_EQ(service_.ready(), 0);
}

TEST_F(InferenceServiceTest, ScalingInEndsTheNewestAndLosesNoRequest) {
  service_.Scale(2);
  RunFor(absl::Seconds(60), 0);
  RunFor(absl::Seconds(1), 8);
  service_.Scale(1);
  EXPECT_TRUE(Gpu(1).processes->empty());
  EXPECT_EQ(service_.running(), 4);
  EXPECT_EQ(service_.waiting(), 4);
  RunFor(absl::Seconds(40), 0);
  EXPECT_EQ(service_.totals().served, 8);
}

TEST_F(InferenceServiceTest, ARequestThatBeginsTwiceCountsOnceAndWaitsOnlyInTheQueue) {
  service_.Scale(1);
  RunFor(absl::Seconds(60), 0);
  RunFor(absl::Seconds(1), 1);
  RunFor(absl::Seconds(9), 0);
  ASSERT_EQ(service_.running(), 1);
  service_.Scale(0);
  service_.Scale(1);
  RunFor(absl::Seconds(60), 0);
  EXPECT_EQ(service_.running(), 1);
  EXPECT_EQ(service_.totals().begun, 1);
  EXPECT_EQ(service_.totals().waited, absl::Seconds(60));
  EXPECT_EQ(service_.totals().longest_wait, absl::Seconds(60));
}

TEST_F(InferenceServiceTest, AReplicaThatComesBackIsAnotherProcess) {
  service_.Scale(1);
  const int64_t before = Gpu(0).processes->at(0).pid;
  service_.Scale(0);
  service_.Scale(1);
  EXPECT_NE(Gpu(0).processes->at(0).pid, before);
}

TEST_F(InferenceServiceTest, CountsGpuSecondsFromTheStart) {
  service_.Scale(2);
  RunFor(absl::Seconds(30), 0);
  service_.Scale(1);
  RunFor(absl::Seconds(10), 0);
  EXPECT_EQ(service_.totals().gpu_seconds, 70);
  EXPECT_EQ(service_.totals().most_replicas, 2);
}

TEST_F(InferenceServiceTest, NoMoreReplicasRunThanThereAreGpus) {
  service_.Scale(5);
  EXPECT_EQ(service_.replicas(), 3);
}

}  // namespace
}  // namespace gpuscaler
