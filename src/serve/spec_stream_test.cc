#include "serve/spec_stream.h"

#include <atomic>
#include <string>

#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serve/test_served_scaler.h"

namespace gpuscaler {
namespace {

using ::testing::SizeIs;

class SpecStreamTest : public testing::Test {
 protected:
  SpecStreamTest() { WriteTarget(70); }

  void WriteTarget(int target, const std::string& more = "") {
    folder_.Write("profiles.yaml",
                  absl::StrCat("profiles:\n  ours:\n    metricType: ",
                               "gpu_utilization\n    targetValue: ", target, "\n", more));
  }

  const TestFolder folder_;
  const std::string path_ = folder_.PathOf("profiles.yaml");
  const externalscaler::ScaledObjectRef ref_ = RefOf({{"profile", "ours"}});
};

TEST_F(SpecStreamTest, UnimplementedWithoutAProfilesFile) {
  ServedScaler scaler;
  const auto end = scaler.client.StreamMetricSpec(ref_)->WaitForEnd();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code(), absl::StatusCode::kUnimplemented);
}

TEST_F(SpecStreamTest, SendsTheSpecOnOpenAndWhenTheFileChangesIt) {
  ServedScaler scaler({}, path_);
  ASSERT_TRUE(scaler.profiles.Reload().ok());
  const auto stream = scaler.client.StreamMetricSpec(ref_);
  ASSERT_THAT(stream->WaitForMessages(1), SizeIs(1));
  EXPECT_EQ(stream->messages()[0].metricspecs(0).targetsizefloat(), 70);

  WriteTarget(50);
  ASSERT_TRUE(scaler.profiles.Reload().ok());
  ASSERT_THAT(stream->WaitForMessages(2), SizeIs(2));
  EXPECT_EQ(stream->messages()[1].metricspecs(0).targetsizefloat(), 50);
  const auto polled = scaler.client.GetMetricSpec(ref_);
  ASSERT_TRUE(polled.ok()) << polled.status();
  EXPECT_EQ(stream->messages()[1].SerializeAsString(), polled->SerializeAsString());
}

TEST_F(SpecStreamTest, ChangeThatKeepsTheSpecIsNotSent) {
  ServedScaler scaler({}, path_);
  ASSERT_TRUE(scaler.profiles.Reload().ok());
  const auto stream = scaler.client.StreamMetricSpec(ref_);
  ASSERT_THAT(stream->WaitForMessages(1), SizeIs(1));
  const auto marker = scaler.client.StreamMetricSpec(RefOf({{"profile", "marker"}}));
  ASSERT_THAT(marker->WaitForMessages(1), SizeIs(1));
  // Streams are refreshed in no defined order. Once the marker has sent the second change, all have
  // seen the first one.
  for (const size_t target : {2, 3}) {
    WriteTarget(70, absl::StrCat("    window: 10s\n  marker:\n    metricType: gpu_utilization\n",
                                 "    targetValue: ", target, "\n"));
    ASSERT_TRUE(scaler.profiles.Reload().ok());
    ASSERT_THAT(marker->WaitForMessages(target), SizeIs(target));
  }
  EXPECT_THAT(stream->messages(), SizeIs(1));
  WriteTarget(60);
  ASSERT_TRUE(scaler.profiles.Reload().ok());
  ASSERT_THAT(stream->WaitForMessages(2), SizeIs(2));
  EXPECT_EQ(stream->messages()[1].metricspecs(0).targetsizefloat(), 60);
}

TEST_F(SpecStreamTest, StreamOpenedDuringAChangeDoesNotSendTheOldSpecLast) {
  // Only the thread that opens the stream may parse the old profile: the one that refreshes streams
  // pauses meanwhile.
  std::atomic<bool> pauses = false;
  Barrier refreshing;
  ServedScaler scaler({.on_tick =
                           [&] {
                             if (pauses.exchange(false)) refreshing.Pass();
                           }},
                      path_);
  const auto reload = [&](int target, size_t marked) {
    WriteTarget(target, absl::StrCat("  marker:\n    metricType: gpu_utilization\n",
                                     "    targetValue: ", marked, "\n"));
    ASSERT_TRUE(scaler.profiles.Reload().ok());
  };
  reload(70, 1);
  const auto marker = scaler.client.StreamMetricSpec(RefOf({{"profile", "marker"}}));
  ASSERT_THAT(marker->WaitForMessages(1), SizeIs(1));
  pauses = true;
  ASSERT_TRUE(refreshing.WaitForArrival());
  // Bad metadata is counted after it is parsed and before it is answered.
  std::atomic<bool> has_reloaded = false;
  scaler.counted.AtNextDecision([&] {
    reload(50, 2);
    refreshing.Open();
    ASSERT_THAT(marker->WaitForMessages(2), SizeIs(2));
    reload(50, 3);
    ASSERT_THAT(marker->WaitForMessages(3), SizeIs(3));
    has_reloaded = true;
  });
  const auto stream =
      scaler.client.StreamMetricSpec(RefOf({{"profile", "ours"}, {"window", "long"}}));
  ASSERT_TRUE(Eventually([&] { return has_reloaded.load(); }));
  ASSERT_THAT(stream->WaitForMessages(1), SizeIs(1));
  scaler.clock.Advance(absl::Minutes(6));
  ASSERT_TRUE(stream->WaitForEnd());
  EXPECT_EQ(stream->messages().back().metricspecs(0).targetsizefloat(), 50);
}

TEST_F(SpecStreamTest, EndsWithOkAfterItsLifetime) {
  ServedScaler scaler({}, path_);
  const auto stream = scaler.client.StreamMetricSpec(ref_);
  ASSERT_THAT(stream->WaitForMessages(1), SizeIs(1));
  scaler.clock.Advance(absl::Minutes(6));
  const auto end = stream->WaitForEnd();
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->ok()) << *end;
}

}  // namespace
}  // namespace gpuscaler
